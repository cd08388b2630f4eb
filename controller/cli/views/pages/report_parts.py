"""The parts of a region's page, from the status of the region and its objects. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from controller.cli.views.pages.marks import level_of
from controller.cli.views.pages.report_lines import (
    ActionLine,
    Application,
    ComponentLine,
    ConditionLine,
    Fact,
    MaintenanceLine,
    Moment,
    NodeLine,
    Parts,
    SecretLine,
    StepLine,
    UpgradePart,
)
from controller.cli.views.release_rows import parse_time, short_duration
from controller.cli.views.upgrade.status import upgrade_view
from controller.domain.api.conditions import find, timestamp
from controller.domain.api.names import SERVICE_LABEL

Objects = Sequence[Mapping[str, Any]]
MOST_ACTIONS = 60
_DAY = 86400.0
_ENDS_SOON, _ENDS_NOW = 14 * _DAY, 2 * _DAY
# Conditions that are good news while they are False.
_GOOD_IF_FALSE = frozenset({"Stalled", "Reconciling", "Paused", "Deleting", "Upgrading"})
# It says whether a plan exists, which is neither good nor bad.
_NEUTRAL = frozenset({"Planned"})
_WORST_FIRST = ("bad", "busy", "idle", "good")


def parts_of(
    osdpl: Mapping[str, Any], bundles: Objects, maintenances: Objects | None, now: float, unread: str = ""
) -> Parts:
    """All parts at `now`. `maintenances` is None if they may not be read, and `unread` says why."""
    status = osdpl.get("status") or {}
    secrets = [_secret(name, entry, now) for name, entry in (status.get("secrets") or {}).items()]
    by_end = sorted((one for one in secrets if one.ends.time), key=lambda one: (one.ends.time, one.name))
    by_age = sorted(
        (one for one in secrets if not one.ends.time),
        key=lambda one: (not one.changed.time, one.changed.time, one.name),
    )
    return Parts(
        applications=tuple(_applications(status.get("health") or {}, bundles, now)),
        nodes=tuple(_nodes(status.get("nodes") or {}, now)),
        hosts_without_node=tuple(map(str, status.get("hostsWithoutNode") or ())),
        maintenances=tuple(_maintenances(maintenances or (), now)),
        maintenances_unread=unread if maintenances is None else "",
        certificates=tuple(by_end),
        credentials=tuple(by_age),
        actions=tuple(_actions(bundles, now))[:MOST_ACTIONS],
        upgrade=_upgrade(osdpl, now),
        backup=tuple(_backup(status.get("backup") or {}, now)),
        conditions=tuple(_conditions(status.get("conditions") or (), now)),
    )


def moment(text: object, now: float) -> Moment:
    """The moment of a time of Kubernetes; an empty one without it."""
    seconds = parse_time(text)
    if seconds is None:
        return Moment()
    ahead = seconds - now
    distance = f"in {short_duration(ahead)}" if ahead > 0 else f"{short_duration(-ahead)} ago"
    return Moment(timestamp(seconds).replace("T", " ").removesuffix("Z"), distance)


def _rank(state: str) -> int:
    return _WORST_FIRST.index(level_of(state))


def _applications(health: Mapping[str, Any], bundles: Objects, now: float) -> Iterator[Application]:
    services = {
        str(release.get("name")): _service(bundle)
        for bundle in bundles
        for release in (bundle.get("spec") or {}).get("releases") or ()
    }
    found = [
        Application(str(name), services.get(name, ""), tuple(_components(components, now)))
        for name, components in health.items()
    ]
    yield from sorted(found, key=lambda one: (_rank(one.status), one.service, one.name))


def _components(components: Mapping[str, Any], now: float) -> list[ComponentLine]:
    found = [
        ComponentLine(
            str(name),
            str(entry.get("status") or "Unknown"),
            f"{entry.get('ready', 0)}/{entry.get('desired', 0)}",
            moment(entry.get("since"), now),
            str(entry.get("message") or ""),
        )
        for name, entry in components.items()
    ]
    return sorted(found, key=lambda one: (_rank(one.status), one.name))


def _service(bundle: Mapping[str, Any]) -> str:
    meta = bundle["metadata"]
    return str((meta.get("labels") or {}).get(SERVICE_LABEL) or meta["name"])


def _nodes(nodes: Mapping[str, Any], now: float) -> list[NodeLine]:
    found = [
        NodeLine(
            name=str(name),
            state=str(entry.get("state") or "Unknown"),
            roles=", ".join(map(str, entry.get("roles") or ())),
            compute=str(entry.get("compute") or ""),
            servers="" if entry.get("servers") is None else str(entry["servers"]),
            maintenance=str(entry.get("maintenance") or ""),
            since=moment(entry.get("since"), now),
            message=": ".join(str(entry[key]) for key in ("reason", "message") if entry.get(key)),
        )
        for name, entry in nodes.items()
    ]
    return sorted(found, key=lambda one: (_rank(one.state), not one.maintenance, not one.message, one.name))


def _maintenances(maintenances: Objects, now: float) -> list[MaintenanceLine]:
    found = []
    for one in sorted(maintenances, key=lambda item: str(item["metadata"]["name"])):
        spec, status = one.get("spec") or {}, one.get("status") or {}
        blocked = [
            f"{server.get('name') or server.get('id')}: {server['message']}"
            for server in status.get("servers") or ()
            if server.get("message") and server.get("state") == "Blocked"
        ]
        ready = str(find(status.get("conditions") or (), "Ready").get("message") or "")
        found.append(
            MaintenanceLine(
                name=str(one["metadata"]["name"]),
                node=str(spec.get("nodeName") or ""),
                mode=str(spec.get("mode") or ""),
                phase=str(status.get("phase") or "Pending"),
                progress=str(status.get("progress") or ""),
                started=moment(status.get("startedAt"), now),
                message="; ".join(part for part in (ready, *blocked[:5]) if part),
            )
        )
    return found


def _secret(name: str, entry: Mapping[str, Any], now: float) -> SecretLine:
    rotation, end = entry.get("rotation") or {}, parse_time(entry.get("expires"))
    following = parse_time(entry.get("nextRotation"))
    message = str(rotation.get("message") or entry.get("message") or "")
    late = following is not None and following < now
    state = f"rotation: {rotation['phase']}" if rotation.get("phase") else str(entry.get("state") or "")
    state, level = ("rotation is due", "warn") if late else (state, "warn" if message else "good")
    if end is not None and end - now < _ENDS_SOON:
        level = "bad" if end - now < _ENDS_NOW else "warn"
        state = "ended" if end < now else "ends soon"
    changed = moment(entry.get("lastRotation") or entry.get("rotated"), now)
    return SecretLine(
        str(name),
        state,
        level,
        changed,
        moment(entry.get("expires"), now),
        moment(entry.get("nextRotation"), now),
        message,
    )


def _actions(bundles: Objects, now: float) -> list[ActionLine]:
    """The last action on each release, the newest first."""
    found = []
    for bundle in bundles:
        for release in (bundle.get("status") or {}).get("releases") or ():
            attempt = release.get("lastAttempt") or {}
            if not attempt.get("time"):
                continue
            error, over = str(attempt.get("error") or ""), bool(attempt.get("finished"))
            running = release.get("state") in ("Installing", "Upgrading", "Uninstalling") and not over
            failures = int(attempt.get("failures") or 0)
            times = f" ({failures} in a row)" if failures > 1 else ""
            result = "Running" if running else f"Failed{times}" if error else "Done"
            line = ActionLine(
                moment(attempt["time"], now),
                str(release.get("name") or ""),
                str(attempt.get("action") or ""),
                result,
                str(attempt.get("duration") or ""),
                error,
            )
            found.append((parse_time(attempt["time"]) or 0.0, line))
    return [line for _, line in sorted(found, key=lambda one: (-one[0], one[1].release))]


def _upgrade(osdpl: Mapping[str, Any], now: float) -> UpgradePart | None:
    view = upgrade_view(osdpl, now)
    if view is None:
        return None
    steps = tuple(
        StepLine(
            step.name,
            step.phase,
            str(step.state),
            "" if step.seconds is None else short_duration(step.seconds),
            step.message,
        )
        for step in view.steps
    )
    message = "; ".join(part for part in (view.obstacle, view.message) if part)
    return UpgradePart(view.headline, message, view.checks, view.computes, view.back, view.next, steps)


def _backup(backup: Mapping[str, Any], now: float) -> Iterator[Fact]:
    if not backup:
        return
    good, last, drill = (backup.get(key) or {} for key in ("lastGood", "last", "drill"))
    if good:
        size = f", {int(backup['size']) / 1e6:.0f} MB" if backup.get("size") else ""
        text = (
            f"{good.get('id')}, {_at(good.get('ended'), now)}, {good.get('databases', '?')} databases{size}"
        )
        warning = str(good.get("warning") or "")
        yield Fact("Last good", f"{text}; {warning}" if warning else text, "warn" if warning else "good")
    else:
        yield Fact("Last good", "none", "bad")
    if last and last.get("result") != "Succeeded":
        yield Fact("Last", f"failed {_at(last.get('ended'), now)}: {last.get('message', '')}", "bad")
    due = parse_time(backup.get("due"))
    if due is not None:
        late = due < now
        yield Fact(
            "Due", f"by {_at(backup['due'], now)}{' (late)' if late else ''}", "bad" if late else "good"
        )
    if drill:
        done = drill.get("result") == "Succeeded"
        text = f"{drill.get('result')} {_at(drill.get('ended'), now)}"
        text += f": {drill['message']}" if drill.get("message") else ""
        yield Fact("Restored as a drill", text, "good" if done else "bad")
    else:
        yield Fact("Restored as a drill", "not yet: no backup is proven", "warn")
    if backup.get("message"):
        yield Fact("Now", str(backup["message"]))


def _at(text: object, now: float) -> str:
    found = moment(text, now)
    return f"{found.time} ({found.distance})" if found.time else "at an unknown time"


def _conditions(conditions: Iterable[Mapping[str, Any]], now: float) -> Iterator[ConditionLine]:
    for one in conditions:
        type_, status = str(one.get("type") or ""), str(one.get("status") or "Unknown")
        good = "False" if type_ in _GOOD_IF_FALSE else "True"
        level = "good" if status == good else "bad" if status == "False" else "warn"
        level = "idle" if status == "Unknown" or type_ in _NEUTRAL else level
        since = moment(one.get("lastTransitionTime"), now)
        yield ConditionLine(
            type_, status, level, str(one.get("reason") or ""), since, str(one.get("message") or "")
        )
