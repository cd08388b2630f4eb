"""Digests of charts: of all their files, and of the part that identifies a build however it is packed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from controller.adapters.charts.archive import read_archive
from controller.adapters.charts.files import LARGEST_CHART, parse_map
from controller.errors import ChartInvalid

# Fields that packing rewrites: versions and times.
_PACKING = frozenset(("Chart.yaml", "Chart.lock", "requirements.lock"))
_COMPARED_FIELDS = ("name", "type", "dependencies")
_DEEPEST = 10
_BOM = b"\xef\xbb\xbf"


def build_digest(chart: Path, files: Mapping[str, bytes]) -> str:
    """The digest of a chart's files by name, including dependencies, packed or not.

    Of each Chart.yaml only name, type and dependencies count: `helm package --version` changes the rest.
    Raises ChartInvalid if a packed dependency is unreadable, or if bounds are exceeded.
    """
    return _digest(sorted(_unpacked(chart, files, 0)))


def content_digest(files: Mapping[str, bytes]) -> str:
    """The digest of all files of a chart, names and contents in order. If it changes, a release changes."""
    return _digest(files.items())


def _digest(files: Iterable[tuple[str, bytes]]) -> str:
    digest = hashlib.sha256()
    for name, content in files:
        # Lengths first: no two sets of files give the same stream.
        encoded = name.encode("utf-8", "surrogateescape")
        digest.update(b"%d:%d:%b" % (len(encoded), len(content), encoded))
        digest.update(content)
    return f"sha256:{digest.hexdigest()}"


def _unpacked(chart: Path, files: Mapping[str, bytes], depth: int) -> Iterator[tuple[str, bytes]]:
    """Files as `helm package` would lay them out: each dependency below `charts/<its name>`."""
    if depth > _DEEPEST:
        raise ChartInvalid(f"chart {chart}: dependencies of dependencies deeper than {_DEEPEST}")
    inner: dict[str, dict[str, bytes]] = {}
    for name, content in files.items():
        parts = name.split("/", 2)
        if parts[0] == "charts" and len(parts) > 1:
            inner.setdefault(parts[1], {})["/".join(parts[2:])] = content
        elif name not in _PACKING:
            yield name, content.removeprefix(_BOM)
    metadata = parse_map(chart, "Chart.yaml", files.get("Chart.yaml", b""))
    compared = {key: metadata[key] for key in _COMPARED_FIELDS if metadata.get(key)}
    yield "Chart.yaml", json.dumps(compared, sort_keys=True, default=str).encode()
    octets = 0
    for place, below in inner.items():
        if place[0] in "._":
            continue
        where, within = chart / "charts" / place, below
        if "" in below and place.endswith(".tgz"):
            within = read_archive(where, below[""])
            octets += sum(map(len, within.values()))
        if octets > LARGEST_CHART:
            raise ChartInvalid(f"chart {chart}: with its dependencies too large for Helm to load")
        name = parse_map(where, "Chart.yaml", within.get("Chart.yaml", b"")).get("name", place)
        for file, content in _unpacked(where, within, depth + 1):
            yield f"charts/{name}/{file}", content
