"""Writes what a build leaves in a cluster, for the tests of the builds after it.

It runs with the code of that build: `make previous-build OF=<commit>`. The region is the small one of
`tests/world/releases`, at rest, with Helm's records as Helm stores them. Its credentials come from a counter.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from tests.world.releases.world import Setting, World

KEPT = ("type", "enum", "required", "maxLength", "maxItems", "maxProperties", "minimum", "maximum", "pattern")


def left_by(world: World) -> list[dict[str, Any]]:
    """Every object of the store, Helm's records too, with who owns which field."""
    return [
        {
            "object": held.obj,
            "owners": [
                {"manager": name, "subresource": subresource, "paths": sorted(map(list, owned), key=str)}
                for (name, subresource), owned in sorted(held.owners._owned.items())
            ],
        }
        for _, held in sorted(world.cluster.kube._objects.items(), key=str)
    ]


def definitions(folder: Path) -> dict[str, dict[str, dict[str, Any]]]:
    """By kind: each field of its definition, with what it may be."""
    found = {}
    for path in sorted(folder.glob("*.yaml")):
        body = yaml.safe_load(path.read_text(encoding="utf-8"))
        [version] = body["spec"]["versions"]
        found[body["spec"]["names"]["kind"]] = dict(fields(version["schema"]["openAPIV3Schema"]))
    return found


def fields(schema: Mapping[str, Any], path: str = "$") -> Iterator[tuple[str, dict[str, Any]]]:
    """Each field with its bounds; `[]` are items of a list, `*` are values of a map."""
    yield path, {key: schema[key] for key in KEPT if key in schema}
    for name, below in (schema.get("properties") or {}).items():
        yield from fields(below, f"{path}.{name}")
    for key, step in (("items", "[]"), ("additionalProperties", ".*")):
        if isinstance(schema.get(key), Mapping):
            yield from fields(schema[key], f"{path}{step}")


def main(commit: str) -> None:
    """Prints all of it as JSON."""
    world = World(Setting())
    world.begin()
    found = {
        "build": commit,
        "seconds": world.time.seconds,
        "objects": left_by(world),
        "definitions": definitions(Path.cwd() / "charts" / "openstack-controller" / "files" / "crds"),
    }
    json.dump(found, sys.stdout, sort_keys=True, separators=(",", ":"))
    sys.stdout.write("\n")


if __name__ == "__main__":
    main(sys.argv[1])
