"""View of `osctl plan`, from the region's object. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from controller.domain.api.conditions import find
from controller.domain.api.reasons import Reason
from controller.domain.api.region_spec import parse_region_spec
from controller.domain.releases.plan import PlanAction

MARKS = {
    PlanAction.INSTALL: ("+", "green", "installed again"),
    PlanAction.UPGRADE: ("~", "yellow", ""),
    PlanAction.UNINSTALL: ("-", "red", "uninstalled"),
    PlanAction.TAKE_OVER: ("=", "cyan", "taken over; nothing in the cluster changes"),
    PlanAction.SETTINGS: ("~", "cyan", "only its settings change; nothing in the cluster changes"),
}
# Reasons of Planned that wait for a person.
WAITING = frozenset(map(str, (Reason.PLAN_PENDING, Reason.PLAN_DIFFERS)))
_REFUSED = (
    *(Reason.PLAN_FAILED, Reason.SPEC_INVALID, Reason.VERSION_STEP_REFUSED, Reason.BUNDLE_NAME_TAKEN),
    *(Reason.NEWER_CONTROLLER, Reason.CONTROLLER_SKIPS_VERSION),
)
STUCK = WAITING | frozenset(map(str, _REFUSED))


@dataclass(frozen=True)
class ReleaseLines:
    """One release: `mark` and `style` of its heading, its changes as (path, before, after, source), and
    titled lists of other effects."""

    name: str
    mark: str
    style: str
    note: str
    changes: tuple[tuple[str, str, str, str], ...]
    lists: tuple[tuple[str, str], ...]
    warnings: tuple[str, ...]


@dataclass(frozen=True)
class PlanView:
    """The plan of a region. `known`: it is for the present spec. `reason` is that of its Planned condition.
    `settings` are fields of the spec that change: path, before, after, and what the field does. `upgrade`:
    the version of OpenStack that runs and the one that the plan brings, None without an upgrade."""

    name: str
    namespace: str
    mode: str
    known: bool
    reason: str
    message: str
    digest: str
    sentence: str
    settings: tuple[tuple[str, str, str, str], ...]
    releases: tuple[ReleaseLines, ...]
    warnings: tuple[str, ...]
    accepted: str
    upgrade: tuple[str, str] | None = None

    @property
    def empty(self) -> bool:
        """Whether there is nothing to do."""
        return not (self.releases or self.settings)

    @property
    def waits(self) -> bool:
        """Whether the plan waits for a person to approve it."""
        return self.known and self.reason in WAITING


def plan_view(osdpl: Mapping[str, Any]) -> PlanView:
    """The view of an OpenStackDeployment as read."""
    meta, status = osdpl["metadata"], osdpl.get("status") or {}
    plan = status.get("plan") or {}
    planned = find(status.get("conditions") or [], "Planned")
    current = planned.get("observedGeneration") == meta.get("generation")
    accepted = plan.get("accepted") or {}
    return PlanView(
        name=str(meta["name"]),
        namespace=str(meta.get("namespace") or ""),
        mode=parse_region_spec(osdpl.get("spec")).mode,
        known=bool(current and planned.get("status") == "True"),
        reason=str(planned.get("reason") or "") if current else "",
        message=str(planned.get("message") or "") if current else "",
        digest=str(plan.get("digest") or ""),
        sentence=str(plan.get("message") or ""),
        settings=tuple(_setting(one) for one in plan.get("settings") or []),
        releases=tuple(_release(entry) for entry in plan.get("releases") or []),
        warnings=tuple(plan.get("warnings") or ()),
        accepted="" if accepted.get("done") else str(accepted.get("digest") or ""),
        upgrade=_upgrade(osdpl),
    )


def _upgrade(osdpl: Mapping[str, Any]) -> tuple[str, str] | None:
    running = str((osdpl.get("status") or {}).get("openstackVersion") or "")
    asked = str((osdpl.get("spec") or {}).get("openstackVersion") or "")
    return (running, asked) if running and asked and running != asked else None


def _release(entry: Mapping[str, Any]) -> ReleaseLines:
    action = str(entry.get("action"))
    known = action in PlanAction._value2member_map_
    mark, style, note = MARKS[PlanAction(action)] if known else ("?", "", action)
    omitted = entry.get("omitted") or {}
    return ReleaseLines(
        name=str(entry.get("name")),
        mark=mark,
        style=style,
        note="  ".join(part for part in (str(entry.get("chart") or ""), note) if part),
        changes=tuple(_change(one) for one in entry.get("changes") or []) + _more(omitted, "changes"),
        lists=tuple(_lists(entry, omitted)),
        warnings=tuple(str(entry[key]) for key in ("problem", "message") if entry.get(key)),
    )


def _setting(one: Mapping[str, Any]) -> tuple[str, str, str, str]:
    before, after, does = (str(one.get(key) or "") for key in ("before", "after", "does"))
    return str(one.get("path")), before, after, does


def _change(one: Mapping[str, Any]) -> tuple[str, str, str, str]:
    where = str(one.get("setBy") or one.get("layer") or "")
    return str(one.get("path")), str(one.get("before") or ""), str(one.get("after") or ""), where


def _more(omitted: Mapping[str, Any], key: str) -> tuple[tuple[str, str, str, str], ...]:
    return ((f"and {omitted[key]} more", "", "", ""),) if omitted.get(key) else ()


def _lists(entry: Mapping[str, Any], omitted: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    by_verb: dict[str, list[str]] = {}
    for text in entry.get("objects") or []:
        verb, _, title = str(text).partition(" ")
        by_verb.setdefault(verb, []).append(title)
    for verb in ("create", "change", "keep", "delete"):
        title = f"{verb}s"
        if by_verb.get(verb):
            yield title, grouped(by_verb[verb])
    if omitted.get("objects"):
        yield "and", f"{omitted['objects']} more objects"
    pods = int(entry.get("pods") or 0)
    if entry.get("restarts"):
        number = f" ({pods} {'pod' if pods == 1 else 'pods'})" if pods else ""
        yield "restarts", grouped(entry["restarts"]) + number
    if entry.get("jobs"):
        yield "replaces", f"Job {', '.join(entry['jobs'])}"
    if entry.get("hooks"):
        yield "runs", grouped(entry["hooks"])


def grouped(titles: Iterable[str]) -> str:
    """`Deployment nova-api, nova-scheduler; DaemonSet nova-compute` of `Kind/name` each."""
    kinds: dict[str, list[str]] = {}
    for title in titles:
        kind, _, name = str(title).partition("/")
        kinds.setdefault(kind, []).append(name)
    return "; ".join(f"{kind} {', '.join(names)}" for kind, names in kinds.items())
