"""Checks between objects of files: no duplicates, one region per namespace, existing dependencies."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from controller.cli.offline.input_files import InputObject
from controller.cli.offline.own_kinds import is_bundle, is_region, is_self_contained
from controller.cli.offline.region import DEFAULT_NAMESPACE, OfflineRegion
from controller.domain.maintenance.doubtful_spec import doubtful_fields
from controller.domain.shared.plurals import count
from controller.domain.values.chart_values import DocumentPath, Path, format_path, lookup
from controller.errors import Problem
from controller.ports.kubernetes import COMPUTE_MAINTENANCE

_CONCURRENT = "spec.features.compute.liveMigration.concurrent"
_OF_NOVA: Path = ("conf", "nova", "DEFAULT", "max_concurrent_live_migrations")
# The default of that field, and what Nova makes of 0.
LIVE_MIGRATIONS, LIVE_MIGRATIONS_AT_MOST = 2, 1000


def collisions(items: Sequence[InputObject]) -> list[list[Problem]]:
    """For each object the conflicts with earlier ones, with file and line."""
    objects: dict[tuple[str, str, str], InputObject] = {}
    regions: dict[str, InputObject] = {}
    return [[item.locate(problem) for problem in _collisions(item, objects, regions)] for item in items]


def _collisions(
    item: InputObject, objects: dict[tuple[str, str, str], InputObject], regions: dict[str, InputObject]
) -> Iterator[Problem]:
    if not (item.name and (is_region(item) or is_bundle(item) or is_self_contained(item))):
        return
    # As written: the command line or the cluster's context decides the namespace of an object without one.
    namespace = str(item.obj["metadata"].get("namespace") or "")
    first = objects.setdefault((item.kind, namespace, item.name), item)
    if first is not item:
        message = f"{item.title} is defined twice, also in {_place(first)}"
        yield Problem("metadata.name", message, "give one of them")
        return
    other = regions.setdefault(namespace, item) if is_region(item) else item
    if other is not item:
        message = f"the namespace already has region {other.name}, in {_place(other)}"
        path = "metadata.namespace" if ("metadata", "namespace") in item.lines else "metadata.name"
        yield Problem(path, message, "give each region a namespace and a controller of its own")


def awaited_in_vain(items: Sequence[InputObject], regions: Sequence[OfflineRegion]) -> list[list[Problem]]:
    """For each object the dependencies of a HelmBundle's releases that no file has; a cluster may have them.

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


def doubtful_maintenances(
    items: Sequence[InputObject], regions: Sequence[OfflineRegion]
) -> list[list[Problem]]:
    """For each object what of a ComputeMaintenance cannot be meant: budgets that Nova does not use up, values
    that do not go together, and another region than those of the files.

    Its region has Nova's limit if it is among `regions`, otherwise the default counts."""
    limits = {one.deployment.namespace: _limit(one) for one in regions}
    names = [f"{one.deployment.namespace}/{one.deployment.name}" for one in regions]
    return [[*_slow(item, limits), *_of_spec(item), *_of_region(item, names)] for item in items]


def _of_spec(item: InputObject) -> Iterator[Problem]:
    if item.kind == COMPUTE_MAINTENANCE.kind and is_self_contained(item):
        yield from map(item.locate, doubtful_fields(item.obj))


def _of_region(item: InputObject, names: Sequence[str]) -> Iterator[Problem]:
    """Where files have a region, a maintenance is of one of them: no controller acts for another name."""
    if item.kind != COMPUTE_MAINTENANCE.kind or not is_self_contained(item) or not names:
        return
    region = item.obj["spec"]["region"]
    named = f"{region['namespace']}/{region['name']}"
    if named not in names:
        text = f"no region {named} is among the files, and nothing moves without one"
        yield item.locate(Problem("spec.region", text, f"there is {', '.join(sorted(names))}"))


def _slow(item: InputObject, limits: Mapping[str, int]) -> Iterator[Problem]:
    if item.kind != COMPUTE_MAINTENANCE.kind or not is_self_contained(item):
        return
    spec = item.obj["spec"]
    asked = lookup(spec, ("budgets", "serversPerNode"))
    known = lookup(spec, ("region", "namespace")) in limits
    limit = limits.get(str(lookup(spec, ("region", "namespace"))), LIVE_MIGRATIONS)
    if isinstance(asked, int) and asked > limit and spec.get("mode") != "Evacuate":
        text = f"Nova moves {count(limit, 'server')} of a hypervisor live at a time, and queues the others"
        remedy = f"set {_CONCURRENT} of the region to {asked}"
        yield item.locate(
            Problem("spec.budgets.serversPerNode", text, remedy if known else f"{remedy}, if it is not")
        )


def _limit(region: OfflineRegion) -> int:
    """How many live migrations Nova begins on one hypervisor."""
    nova = region.region.release("nova")
    found = lookup(nova.merged.values, _OF_NOVA) if nova is not None else None
    try:
        return int(str(found)) or LIVE_MIGRATIONS_AT_MOST
    except ValueError:
        return LIVE_MIGRATIONS


def _awaited(item: InputObject, known: Mapping[str, set[str]]) -> Iterator[Problem]:
    for path, release in _releases(item):
        there = known[_of_release(release, item)]
        for place, name in enumerate(release.get("dependsOn") or ()):
            if name not in there:
                message = f'no release "{name}" among the files: {release["name"]} waits for it'
                yield item.locate(Problem(format_path((*path, "dependsOn", place)), message))


def _releases(item: InputObject) -> Iterator[tuple[DocumentPath, Mapping[str, Any]]]:
    """The releases of a valid HelmBundle, with their paths; none of another kind."""
    if not is_bundle(item):
        return
    for index, release in enumerate(item.obj["spec"].get("releases") or ()):
        yield ("spec", "releases", index), release


def _of_release(release: Mapping[str, Any], item: InputObject) -> str:
    """The namespace of a release."""
    return str(release.get("namespace") or item.obj["metadata"].get("namespace") or DEFAULT_NAMESPACE)


def _place(item: InputObject) -> str:
    return f"{item.source}:{item.line}"
