"""What objects of files say of each other: none twice, one region in a namespace, releases that are there."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from controller.cli.offline.input_files import InputObject
from controller.cli.offline.own_kinds import is_bundle, is_region, is_self_contained
from controller.cli.offline.region import DEFAULT_NAMESPACE, OfflineRegion
from controller.domain.values.chart_values import DocumentPath, format_path
from controller.errors import Problem


def collisions(items: Sequence[InputObject]) -> list[list[Problem]]:
    """For each object what it cannot be beside one of those before it, with file and line."""
    objects: dict[tuple[str, str, str], InputObject] = {}
    regions: dict[str, InputObject] = {}
    return [[item.locate(problem) for problem in _collisions(item, objects, regions)] for item in items]


def _collisions(
    item: InputObject, objects: dict[tuple[str, str, str], InputObject], regions: dict[str, InputObject]
) -> Iterator[Problem]:
    if not (item.name and (is_region(item) or is_bundle(item) or is_self_contained(item))):
        return
    # As written: an object without a namespace is put where the command line or the cluster's context says.
    namespace = str(item.obj["metadata"].get("namespace") or "")
    first = objects.setdefault((item.kind, namespace, item.name), item)
    if first is not item:
        message = f"{item.title} is given twice: also in {_place(first)}"
        yield Problem("metadata.name", message, "give one of them")
        return
    other = regions.setdefault(namespace, item) if is_region(item) else item
    if other is not item:
        message = f"its namespace has region {other.name} already, of {_place(other)}"
        path = "metadata.namespace" if ("metadata", "namespace") in item.lines else "metadata.name"
        yield Problem(path, message, "give each region a namespace and a controller of its own")


def awaited_in_vain(items: Sequence[InputObject], regions: Sequence[OfflineRegion]) -> list[list[Problem]]:
    """For each object the releases that those of a HelmBundle wait for, and that no file has: a cluster may.

    `items` are valid, and `regions` are all of them.
    """
    known: dict[str, set[str]] = defaultdict(set)
    for region in regions:
        known[region.deployment.namespace] |= {
            release.spec.name for bundle in region.region.bundles for release in bundle.releases
        }
    for item in items:
        for _, release in _releases(item):
            known[_of_release(release, item)].add(str(release.get("name")))
    return [list(_awaited(item, known)) for item in items]


def _awaited(item: InputObject, known: Mapping[str, set[str]]) -> Iterator[Problem]:
    for path, release in _releases(item):
        there = known[_of_release(release, item)]
        for place, name in enumerate(release.get("dependsOn") or ()):
            if name not in there:
                message = f'no release "{name}" among the files: {release["name"]} waits until there is one'
                yield item.locate(Problem(format_path((*path, "dependsOn", place)), message))


def _releases(item: InputObject) -> Iterator[tuple[DocumentPath, Mapping[str, Any]]]:
    """The releases of a valid HelmBundle, with their paths; none of another kind."""
    if not is_bundle(item):
        return
    for index, release in enumerate(item.obj["spec"].get("releases") or ()):
        yield ("spec", "releases", index), release


def _of_release(release: Mapping[str, Any], item: InputObject) -> str:
    """The namespace that a release is put into."""
    return str(release.get("namespace") or item.obj["metadata"].get("namespace") or DEFAULT_NAMESPACE)


def _place(item: InputObject) -> str:
    return f"{item.source}:{item.line}"
