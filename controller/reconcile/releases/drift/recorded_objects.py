"""The objects that a release should have, from Helm's record of its deployed revision."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from controller.domain.api.keys import ReleaseKey
from controller.domain.releases.drift.difference import ObjectId
from controller.errors import ChartInvalid, HelmFailed, ReleaseMissing
from controller.ports.helm import ReleaseRecords
from controller.ports.kubernetes import KubeObject
from controller.reconcile.releases.drift.compare import MALFORMED, identify, is_named

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Recorded:
    """`objects` is None when the record does not show them; `problem` says why, if that is a fault."""

    objects: dict[ObjectId, KubeObject] | None
    problem: str = ""


def recorded_objects(
    records: ReleaseRecords, key: ReleaseKey, revision: int, desired: Collection[ObjectId] | None = None
) -> Recorded:
    """All objects of the revision, or the desired ones. Raises KubeError."""
    chosen = None if desired is None else set(desired)
    names = None if chosen is None else {one.name for one in chosen}
    try:
        objects = records.required_objects(key[1], key[0], revision, names=names)
        found = {identify(obj, key[0]): obj for obj in objects if is_named(obj)}
    except ReleaseMissing:
        # The pass of its bundle sees the same, and knows what to do.
        return Recorded(None)
    except HelmFailed as error:
        return Recorded(None, str(error))
    except (ChartInvalid, *MALFORMED) as error:
        # Whatever a record holds, it is this release's alone: others are compared.
        problem = f"the record of the release is malformed ({type(error).__name__})"
        extra = {"object": f"{key[0]}/{key[1]}", "reason": type(error).__name__}
        log.error("release %s: %s", key[1], problem, extra=extra)
        return Recorded(None, problem)
    return Recorded(_chosen(found, chosen))


def _chosen(found: Mapping[ObjectId, KubeObject], chosen: set[ObjectId] | None) -> dict[ObjectId, KubeObject]:
    return {one: obj for one, obj in found.items() if chosen is None or one in chosen}
