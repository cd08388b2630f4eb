"""The bill of materials: Python packages by CycloneDX's own program, then Go modules and Debian packages."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tools.release.source import ReleaseError

_SECONDS = 300
SPECIFICATION = "1.6"
_CHECK = """
import sys
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
error = JsonStrictValidator(SchemaVersion.V1_6).validate_str(sys.stdin.read())
sys.exit(str(error)[:2000] if error else 0)
"""


def write_materials(source: Path, target: Path, tool: Path, epoch: int, base: Path | None) -> None:
    """Writes the bill of materials into `target`. `base`: the root file system below the image.

    Raises ReleaseError.
    """
    command = [str(tool.absolute()), "requirements", "requirements.lock", "--pyproject", "pyproject.toml"]
    command += ["--output-reproducible", "--spec-version", SPECIFICATION, "--output-format", "JSON"]
    document = json.loads(_run([*command, "--output-file", "-"], source, epoch))
    for component in document["components"]:
        # The line of the lock with all its hashes, which externalReferences has too.
        component.pop("description", None)
    document["components"] += [*_go_modules(source / "helm" / "go.mod"), *_debian_packages(base)]
    text = json.dumps(document, indent=1, sort_keys=True) + "\n"
    _run([str(tool.absolute().with_name("python")), "-c", _CHECK], source, epoch, text)
    target.write_text(text, encoding="utf-8")


def _run(command: list[str], directory: Path, epoch: int, given: str = "") -> str:
    environment = {**os.environ, "SOURCE_DATE_EPOCH": str(epoch), "PYTHONWARNINGS": "ignore"}
    done = subprocess.run(
        command,
        cwd=directory,
        env=environment,
        input=given,
        capture_output=True,
        text=True,
        timeout=_SECONDS,
        check=False,
    )
    if done.returncode != 0:
        raise ReleaseError(f"the bill of materials: {done.stderr.strip()[-2000:]}")
    return done.stdout


def _go_modules(file: Path) -> Iterator[dict[str, Any]]:
    """Those that Helm is built from; go.mod names all of them since Go 1.17."""
    found = re.findall(
        r"^\s*(?:require )?([\w.-]+\.[\w./~-]+) (v[\w.+-]+)", file.read_text("utf-8"), re.MULTILINE
    )
    for name, version in sorted(found):
        yield _component(name, version, f"pkg:golang/{name.lower()}@{version.replace('+', '%2B')}")


def _debian_packages(base: Path | None) -> Iterator[dict[str, Any]]:
    if base is None:
        return
    for record in sorted((base / "var/lib/dpkg/status").read_text("utf-8").split("\n\n")):
        fields = dict(re.findall(r"^(Package|Version|Architecture): (.+)$", record, re.MULTILINE))
        if len(fields) == len(("Package", "Version", "Architecture")):
            name, version = fields["Package"], fields["Version"]
            escaped = version.replace("+", "%2B").replace(":", "%3A")
            identity = f"pkg:deb/debian/{name.replace('+', '%2B')}@{escaped}?arch={fields['Architecture']}"
            yield _component(name, version, identity)


def _component(name: str, version: str, identity: str) -> dict[str, Any]:
    return {"type": "library", "name": name, "version": version, "purl": identity, "bom-ref": identity}
