"""Facts of images: which image each tag of the pinned charts names, and which versions of each are published.

`make pins` records the first and, with a checkout of openstack-helm-images (IMAGES=…), which says what is
built, the second: tests/data/upstream-images.json.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

FACTS = Path(__file__).parents[1] / "data" / "upstream-images.json"
# `2026.1-ubuntu_noble`, of which every version of OpenStack has one.
VERSIONED = re.compile(r"20\d\d\.\d-ubuntu_noble")

Facts = Mapping[str, Mapping[str, Any]]


def recorded() -> Facts:
    """The last record: `charts` (by chart and tag: the image), `published` (by image: its versions)."""
    found: Facts = json.loads(FACTS.read_text(encoding="utf-8"))
    return found


def images_of(values: Mapping[str, Any]) -> dict[str, str]:
    """By tag, the images that a chart's values name."""
    tags = (values.get("images") or {}).get("tags") or {}
    return {name: image for name, image in sorted(tags.items()) if isinstance(image, str)}


def published_in(checkout: Path) -> dict[str, list[str]]:
    """By image, the versions that the newest commit of a checkout of openstack-helm-images builds."""
    listed = _git(checkout, "ls-tree", "-r", "--name-only", "HEAD", "zuul.d")
    found: dict[str, set[str]] = {}
    for name in listed.split():
        text = _git(checkout, "show", f"HEAD:{name}")
        if "container_images:" not in text:
            continue  # other files have tags of YAML that only Zuul knows
        for entry in yaml.load(text, yaml.CSafeLoader):
            for image in ((entry.get("job") or {}).get("vars") or {}).get("container_images") or ():
                tags = {tag for tag in image["tags"] if VERSIONED.fullmatch(tag)}
                found.setdefault(image.get("repository", ""), set()).update(tags)
    return {image: sorted(tags) for image, tags in sorted(found.items()) if image and tags}


def record(charts: Mapping[str, Mapping[str, str]], published: Mapping[str, Iterable[str]]) -> None:
    """Writes both, a line for each chart and each image."""
    parts = {"charts": charts, "published": published}
    text = ",\n".join(f"{json.dumps(name)}: {{\n{_lines(part)}\n}}" for name, part in parts.items())
    FACTS.write_text(f"{{\n{text}\n}}\n", encoding="utf-8")


def _lines(part: Mapping[str, Any]) -> str:
    return ",\n".join(f"  {json.dumps(name)}: {json.dumps(value)}" for name, value in part.items())


def _git(checkout: Path, *arguments: str) -> str:
    command = ["git", "-C", str(checkout), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout
