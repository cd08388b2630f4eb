"""Lays out the sources of the site: the pages, the files that they link to, the fields of the definitions.

Every file keeps its path, so that each link that works in the repository works on the site.
"""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from tools.prose import ROOT, pages

DEFINITIONS = ROOT / "charts" / "openstack-controller" / "files" / "crds"
FIELDS = Path("docs") / "reference-fields.md"
_LINK = re.compile(r"\]\((?!https?:|mailto:|#)([^)#\s]+)")


def lay_out(target: Path) -> None:
    """Writes everything that the site is made of into an empty directory."""
    shutil.rmtree(target, ignore_errors=True)
    for page in pages():
        text = page.read_text(encoding="utf-8")
        name = page.relative_to(ROOT)
        _write(target / name, text + fields_of_every_kind() if name == FIELDS else text)
        for linked in _linked_files(page, text):
            # Files are shown as text; a folder is a list of them.
            for file in sorted(linked.iterdir()) if linked.is_dir() else [linked]:
                if file.is_file():
                    _write(target / file.relative_to(ROOT), file.read_text(encoding="utf-8"))


def _linked_files(page: Path, text: str) -> Iterator[Path]:
    for link in _LINK.findall(text):
        there = (page.parent / link).resolve()
        if there.exists() and there.suffix != ".md" and ROOT in there.parents:
            yield there


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def fields_of_every_kind() -> str:
    """The fields of every definition as Markdown."""
    parts = []
    for path in sorted(DEFINITIONS.glob("*.yaml")):
        definition = yaml.load(path.read_text(encoding="utf-8"), yaml.CSafeLoader)
        kind = definition["spec"]["names"]["kind"]
        schema = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
        parts.append(f"\n## {kind}\n\n{schema.get('description', '').strip()}\n")
        for top in ("spec", "status"):
            rows = list(_rows(schema["properties"].get(top, {}), top))
            if rows:
                parts.append("\n| field | type | description |\n|---|---|---|\n" + "\n".join(rows) + "\n")
    return "".join(parts)


def _rows(schema: Mapping[str, Any], path: str) -> Iterator[str]:
    for name, field in schema.get("properties", {}).items():
        place = f"{path}.{name}"
        yield f"| `{place}` | {_type_of(field)} | {_cell(field.get('description', ''))} |"
        yield from _rows(field, place)
        yield from _rows(field.get("items", {}), f"{place}[]")
        nested = field.get("additionalProperties")
        if isinstance(nested, dict):
            yield from _rows(nested, f"{place}.<key>")


def _type_of(field: Mapping[str, Any]) -> str:
    if "enum" in field:
        return _cell(" \\| ".join(f"`{value}`" for value in field["enum"]))
    if field.get("type") == "array":
        return f"list of {_type_of(field.get('items', {}))}"
    return str(field.get("type", "any"))


def _cell(text: str) -> str:
    return re.sub(r"(?<!\\)\|", r"\\|", " ".join(text.split())).replace("<", "&lt;")


if __name__ == "__main__":
    lay_out(Path(sys.argv[1]))
