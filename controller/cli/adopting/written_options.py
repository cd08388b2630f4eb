"""Options in the files that a release has put into the cluster."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator

from controller.ports.helm import RenderedRelease


def written_text(manifest: RenderedRelease, option: str) -> str:
    """The text of an option in the files of Secrets and ConfigMaps; empty if none or several texts are
    there."""
    line = re.compile(rf"^\s*{re.escape(option)}\s*=\s*(\S+)\s*$", re.MULTILINE)
    found = {text for file in _files(manifest) for text in line.findall(file)}
    return found.pop() if len(found) == 1 else ""


def _files(manifest: RenderedRelease) -> Iterator[str]:
    for obj in manifest.manifest:
        if obj.get("kind") == "ConfigMap":
            yield from (text for text in (obj.get("data") or {}).values() if isinstance(text, str))
        elif obj.get("kind") == "Secret":
            yield from (text for text in (obj.get("stringData") or {}).values() if isinstance(text, str))
            yield from map(_decoded, (obj.get("data") or {}).values())


def _decoded(text: object) -> str:
    try:
        return base64.b64decode(str(text), validate=True).decode("utf-8")
    except (binascii.Error, ValueError):
        return ""
