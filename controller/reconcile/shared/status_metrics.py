"""Metrics of what is published: each watched osdpl or HelmBundle is measured as its status says.

A metric therefore always agrees with the status, and a value that the status no longer has is no longer
measured.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from controller.domain.api.conditions import find
from controller.domain.api.reasons import Reason
from controller.domain.health.workload_health import Health
from controller.domain.hosts.host_facts import is_plan
from controller.domain.hosts.nodes import NodeState
from controller.domain.hosts.nodes_status import CONDITION
from controller.domain.releases.reported_state import ReportedState
from controller.domain.shared import metrics
from controller.domain.shared.metrics import Gauge
from controller.domain.shared.times import seconds_of
from controller.ports.metrics import Metrics, Row

# An event of a watch: its type (None for an object of the first list) and the object.
StatusListener = Callable[[str | None, Mapping[str, Any]], None]
Status = Mapping[str, Any]
Series = Iterable[tuple[Gauge, list[Row]]]

STATUSES = ("True", "False", "Unknown")


def region_series(status: Status) -> Series:
    """core's: conditions, releases and what the region runs."""
    conditions = status.get("conditions") or []
    yield (
        metrics.CONDITION_STATUS,
        [
            ({"type": str(entry.get("type")), "status": word}, float(entry.get("status") == word))
            for entry in conditions
            for word in STATUSES
        ],
    )
    yield (
        metrics.CONDITION_SINCE,
        [
            ({"type": str(entry.get("type"))}, seconds_of(entry["lastTransitionTime"]))
            for entry in conditions
            if entry.get("lastTransitionTime")
        ],
    )
    version, state = str(status.get("openstackVersion") or ""), str(status.get("state") or "")
    yield metrics.REGION_INFO, [({"state": state, "openstack_version": version}, 1.0)]
    done, _, total = str(status.get("progress") or "").partition("/")
    if done.isdigit() and total.isdigit():
        yield metrics.REGION_RELEASES, [({}, float(total))]
        yield metrics.REGION_RELEASES_DEPLOYED, [({}, float(done))]
    yield from _upgrade_series(status)
    yield from _backup_series(status)


def _upgrade_series(status: Status) -> Series:
    """The upgrade to another version that is under way; the condition is there as long as it is."""
    upgrade = status.get("upgrade") or {}
    entry = find(status.get("conditions") or [], "Upgrading")
    steps = upgrade.get("steps") or [] if entry.get("status") == "True" else []
    keys = {"source": "from", "target": "to", "phase": "phase"}
    labels = {label: str(upgrade.get(key) or "") for label, key in keys.items()}
    left = [step for step in steps if step.get("state") != "Done"]
    begun = {str(one.get("name")): seconds_of(one["started"]) for one in left if one.get("started")}
    found: list[tuple[Gauge, list[Row]]] = [
        (metrics.UPGRADE_INFO, [({**labels, "reason": str(entry.get("reason") or "")}, 1.0)]),
        (metrics.UPGRADE_STEPS, [({}, float(len(steps)))]),
        (metrics.UPGRADE_STEPS_DONE, [({}, float(len(steps) - len(left)))]),
        (metrics.UPGRADE_STEP_START, [({"step": name}, since) for name, since in begun.items()]),
    ]
    # What has ended is measured no more.
    yield from ((metric, rows if steps else []) for metric, rows in found)


def _backup_series(status: Status) -> Series:
    """The last good backup, and whether it came back in a drill."""
    backup = status.get("backup") or {}
    good, restorable = seconds_of((backup.get("lastGood") or {}).get("ended")), backup.get("restorable")
    due = seconds_of(backup.get("due"))
    yield metrics.BACKUP_LAST_GOOD, [({}, good)] if good else []
    yield metrics.BACKUP_DUE, [({}, due)] if due else []
    yield metrics.BACKUP_SIZE, [({}, float(backup.get("size") or 0))] if good else []
    yield metrics.BACKUP_RESTORABLE, [] if restorable is None else [({}, float(bool(restorable)))]


def component_series(status: Status) -> Series:
    """health's: every component that counts."""
    components = [
        ({"application": application, "component": component}, entry)
        for application, entries in (status.get("health") or {}).items()
        for component, entry in entries.items()
    ]
    yield (
        metrics.COMPONENT_STATUS,
        [
            ({**names, "status": str(word)}, float(entry.get("status") == word))
            for names, entry in components
            for word in Health
        ],
    )
    for metric, key in ((metrics.COMPONENT_PODS_READY, "ready"), (metrics.COMPONENT_PODS_DESIRED, "desired")):
        yield metric, [(names, float(entry.get(key) or 0)) for names, entry in components]


def secret_series(status: Status) -> Series:
    """secrets': when contents changed, when certificates end, rotations that are under way and to come."""
    secrets = status.get("secrets") or {}
    keys = {
        metrics.SECRET_ROTATED: "rotated",
        metrics.CERTIFICATE_EXPIRY: "expires",
        metrics.SECRET_NEXT_ROTATION: "nextRotation",
    }
    for metric, key in keys.items():
        yield (
            metric,
            [({"secret": name}, seconds_of(entry[key])) for name, entry in secrets.items() if entry.get(key)],
        )
    rotations = {name: entry.get("rotation") or {} for name, entry in secrets.items()}
    begun = {name: seconds_of(one["since"]) for name, one in rotations.items() if one.get("since")}
    yield metrics.SECRET_ROTATION_START, [({"secret": name}, since) for name, since in begun.items()]


def node_series(status: Status) -> Series:
    """node's: which nodes are ready, how their hosts are, and whether anything is done by itself."""
    nodes = {name: entry or {} for name, entry in (status.get("nodes") or {}).items()}
    states = {name: str(entry.get("state") or "") for name, entry in nodes.items()}
    there = {name: state for name, state in states.items() if state != NodeState.REMOVED}
    yield (
        metrics.NODE_READY,
        [({"node": name}, float(state not in (NodeState.NOT_READY, ""))) for name, state in there.items()],
    )
    yield (
        metrics.NODE_HOST,
        [
            ({"node": name, "reason": str(entry["reason"])}, 1.0)
            for name, entry in nodes.items()
            if entry.get("reason")
        ],
    )
    locked = [name for name, entry in nodes.items() if entry.get("drainLocked")]
    yield metrics.NODE_DRAIN_LOCKED, [({"node": name}, 1.0) for name in locked]
    ready = find(status.get("conditions") or (), CONDITION)
    yield (
        metrics.NODES_CIRCUIT_BREAKER_OPEN,
        [({}, float(ready.get("reason") == Reason.TOO_MANY_UNHEALTHY))] if ready else [],
    )


def measured_region(measures: Metrics, series: Callable[[Status], Series]) -> StatusListener:
    """What to do with each osdpl that a watch shows, to have `series` of its status measured."""

    def seen(event: str | None, osdpl: Mapping[str, Any]) -> None:
        region = str(osdpl["metadata"]["name"])
        if event == "DELETED":
            measures.forget(region=region)
            return
        for metric, rows in series(osdpl.get("status") or {}):
            measures.replace(metric, rows, region=region)

    return seen


def measured_maintenance(measures: Metrics) -> StatusListener:
    """What to do with each ComputeMaintenance that a watch shows, to have it measured."""

    def seen(event: str | None, obj: Mapping[str, Any]) -> None:
        name, spec = str(obj["metadata"]["name"]), obj.get("spec") or {}
        status = obj.get("status") or {}
        there = event != "DELETED" and not is_plan(obj)
        node = {"node": str(spec.get("nodeName") or "")}
        words = {"mode": str(spec.get("mode") or ""), "phase": str(status.get("phase") or "Pending")}
        began = seconds_of(status.get("startedAt"))
        done, _, total = str(status.get("progress") or "").partition("/")
        counted = done.isdigit() and total.isdigit()
        rows: list[tuple[Gauge, list[Row]]] = [
            (metrics.COMPUTE_MAINTENANCE, [({**node, **words}, 1.0)]),
            (metrics.COMPUTE_MAINTENANCE_START, [(node, began)] if began else []),
            (metrics.COMPUTE_MAINTENANCE_LEFT, [(node, float(int(total) - int(done)))] if counted else []),
        ]
        for metric, series in rows:
            measures.replace(metric, series if there else [], maintenance=name)

    return seen


def measured_server(measures: Metrics) -> StatusListener:
    """What to do with each OpenStackServer that a watch shows, to have it measured."""

    def seen(event: str | None, obj: Mapping[str, Any]) -> None:
        meta, status = obj["metadata"], obj.get("status") or {}
        words = {
            "state": str(status.get("instanceState") or ""),
            "reason": str(find(status.get("conditions") or (), "Ready").get("reason") or ""),
        }
        rows: list[Row] = [] if event == "DELETED" else [(words, 1.0)]
        measures.replace(metrics.SERVER, rows, server=f"{meta['namespace']}/{meta['name']}")

    return seen


_RELEASE_VALUES: Mapping[Gauge, Callable[[Mapping[str, Any]], float]] = {
    metrics.RELEASE_DEPLOYED: lambda entry: float(entry.get("state") == ReportedState.DEPLOYED),
    metrics.RELEASE_FAILURES: lambda entry: float((entry.get("lastAttempt") or {}).get("failures") or 0),
    metrics.RELEASE_SIZE: lambda entry: float(entry.get("bytes") or 0),
    metrics.RELEASE_UNLOCKS: lambda entry: float(entry.get("unlocks") or 0),
    metrics.DRIFT_OBJECTS: lambda entry: float(len(entry.get("drift") or [])),
}
_RELEASE_COUNTERS = (metrics.HELM_RETRIES, metrics.DIGEST_SKIPS, metrics.DRIFT_FOUND)


def measured_bundle(measures: Metrics) -> StatusListener:
    """What to do with each HelmBundle that a watch shows, to have its releases measured.

    A release that no bundle shows any more is forgotten with all that was ever counted of it.
    """
    known: dict[str, set[str]] = {}

    def seen(event: str | None, obj: Mapping[str, Any]) -> None:
        bundle = str(obj["metadata"]["name"])
        shown = [] if event == "DELETED" else (obj.get("status") or {}).get("releases") or []
        names = {str(entry.get("name")) for entry in shown}
        before = known.get(bundle, set())
        known[bundle] = names
        # One that has gone over to another bundle is measured there, and may have been for long.
        for name in before.difference(*known.values()):
            measures.forget(release=name)
        for name in names - before:
            for counter in _RELEASE_COUNTERS:
                # From the beginning, so that `increase` sees the first one.
                measures.count(counter, 0, release=name)
        for metric, value in _RELEASE_VALUES.items():
            rows: list[Row] = [({"release": str(entry.get("name"))}, value(entry)) for entry in shown]
            measures.replace(metric, rows, bundle=bundle)
        if event == "DELETED":
            del known[bundle]

    return seen


def named_region(name: Callable[[str], None]) -> StatusListener:
    """What to do with each region that a watch shows, to have all measures bear its name.

    Of several the oldest is served. After its deletion the name stays until there is another region.
    """
    known: dict[str, str] = {}

    def seen(event: str | None, obj: Mapping[str, Any]) -> None:
        meta = obj["metadata"]
        if event == "DELETED":
            known.pop(str(meta["name"]), None)
        else:
            known[str(meta["name"])] = str(meta.get("creationTimestamp") or "")
        if known:
            name(min(known, key=lambda one: (known[one], one)))

    return seen
