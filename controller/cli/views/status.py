"""View of `osctl status`, from the region's object and its HelmBundles. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from controller.cli.views.readiness import RegionOutcome, RegionReadiness, explain_silence, judge
from controller.cli.views.release_rows import ReleaseRow, RowState, parse_time, release_rows, short_duration
from controller.cli.views.upgrade.status import upgrade_view
from controller.domain.api.conditions import find
from controller.domain.api.reasons import Reason
from controller.domain.api.region_spec import RegionSpec, parse_region_spec
from controller.domain.region.status.ready import unseen_hosts
from controller.domain.values.chart_values import SECRET_REF, DocumentPath, format_path

MOST_CAUSES = 5
# Reasons of Ready whose message repeats, or counts, single releases and components.
_SUMS = frozenset(
    map(
        str,
        (
            Reason.APPLYING,
            Reason.RELEASES_PENDING,
            Reason.RELEASES_FAILING,
            Reason.WORKLOADS_FAILING,
            Reason.WORKLOADS_PROGRESSING,
        ),
    )
)
# The beginning of Ready's message for silent containers (domain.region.status.ready).
_NO_SIGN_OF_LIFE = "no sign of life"
# Quoted words in a cause that are long enough to be a value of the spec.
_QUOTED = re.compile(r"""['"`]([A-Za-z0-9][\w.:/@%-]{3,80})['"`]""")


@dataclass(frozen=True)
class NotReadyReason:
    """A cause why the region is not Ready; `set_by` is the field of the spec that it names."""

    message: str
    set_by: str = ""


@dataclass(frozen=True)
class ServiceLine:
    """One service: `ready` of `components` are healthy; no components while health is unknown."""

    service: str
    state: str
    version: str
    releases: tuple[ReleaseRow, ...]
    ready: int = 0
    components: int = 0
    note: str = ""


@dataclass(frozen=True)
class RegionView:
    """A region on one screen. `outcome` and `reason` are of its Ready condition."""

    name: str
    namespace: str
    state: str
    version: str
    preset: str
    size: str
    outcome: RegionOutcome
    reason: str
    progress: str
    causes: tuple[NotReadyReason, ...]
    services: tuple[ServiceLine, ...]
    secrets: str = ""
    nodes: str = ""
    warnings: str = ""
    plan: str = ""
    upgrade: str = ""


def region_view(osdpl: Mapping[str, Any], bundles: Sequence[Mapping[str, Any]], now: float) -> RegionView:
    """The view at `now`, in seconds since the epoch."""
    meta, document, status = osdpl["metadata"], osdpl.get("spec") or {}, osdpl.get("status") or {}
    spec = parse_region_spec(document)
    readiness = judge(osdpl)
    rows = release_rows(bundles)
    services = tuple(_services(rows, status))
    valid = find(status.get("conditions") or [], "SpecValid")
    created = parse_time(meta.get("creationTimestamp"))
    silence = explain_silence(osdpl, now - created) if created is not None else ""
    readiness = replace(readiness, message=silence or readiness.message)
    return RegionView(
        name=str(meta["name"]),
        namespace=str(meta.get("namespace") or ""),
        state=str(status.get("state") or "Unknown"),
        version=str(status.get("openstackVersion") or spec.openstack_version),
        preset=spec.preset,
        size=spec.size,
        outcome=readiness.outcome,
        reason=readiness.reason,
        progress=str(status.get("progress") or ""),
        causes=tuple(_causes(readiness, rows, status, document)),
        services=services,
        secrets=_secrets(status.get("secrets") or {}, now),
        nodes=_nodes(status.get("nodes") or {}),
        warnings="; ".join(_warnings(valid, status.get("plan") or {})),
        plan=_plan(spec, status.get("plan") or {}),
        upgrade=_upgrade(osdpl, now),
    )


def _upgrade(osdpl: Mapping[str, Any], now: float) -> str:
    """The upgrade to another version that is under way, in a line; empty without one."""
    found = upgrade_view(osdpl, now)
    if found is None or found.upgrade.over:
        return ""
    return f"{found.headline} (osctl upgrade status {found.name})"


def _warnings(valid: Mapping[str, Any], plan: Mapping[str, Any]) -> Iterator[str]:
    if valid.get("status") == "True" and valid.get("message"):
        yield str(valid["message"])
    yield from (str(warning) for warning in plan.get("warnings") or ())


def _plan(spec: RegionSpec, plan: Mapping[str, Any]) -> str:
    """The changes that mode Plan holds back, empty with other modes."""
    if not spec.planned or not plan.get("message"):
        return ""
    accepted = plan.get("accepted") or {}
    applying = bool(accepted) and not accepted.get("done")
    ending = "; approved, being applied" if applying else ""
    digest = f" ({str(plan['digest'])[:19]}…)" if plan.get("digest") else ""
    return f"{plan['message']}{digest}{ending}"


def _causes(
    readiness: RegionReadiness, rows: Iterable[ReleaseRow], status: Mapping[str, Any], spec: Mapping[str, Any]
) -> Iterator[NotReadyReason]:
    """The nearest causes first: the message of Ready, then failed releases and unhealthy components.

    If Ready only sums these up, they replace it.
    """
    if readiness.outcome == RegionOutcome.READY:
        return
    pending = readiness.outcome != RegionOutcome.NEEDS_EDIT
    reported = [
        part
        for part in (readiness.message.split("; ") if pending else readiness.message.splitlines())
        if part
    ]
    silence = "".join(readiness.message.partition(_NO_SIGN_OF_LIFE)[1:])
    found = [
        f"{row.release}: {row.message}{_if_old(silence, 'helmbundle')}"
        for row in rows
        if row.phase == RowState.FAILED and row.message
    ]
    found += [
        f"{_workload(application, component)} {_pods(entry)}: {entry.get('message') or 'Unhealthy'}"
        f"{_if_old(silence, 'health')}"
        for application, components in (status.get("health") or {}).items()
        for component, entry in components.items()
        if entry.get("status") == "Unhealthy"
    ]
    if found and pending and readiness.reason in _SUMS:
        reported = [silence] if silence else []
    found = [*reported, *found]
    for text in found[:MOST_CAUSES]:
        yield NotReadyReason(text, find_setting(spec, text))
    if len(found) > MOST_CAUSES:
        yield NotReadyReason(f"and {len(found) - MOST_CAUSES} more")


def _if_old(silence: str, container: str) -> str:
    """The addition to a report of a container that `silence` names."""
    return f" (last report of {container}, which is silent)" if f" {container} (" in silence else ""


def _workload(application: str, component: str) -> str:
    """`keystone-api` for component api of application keystone."""
    return component if component.startswith(application) else f"{application}-{component}"


def _pods(component: Mapping[str, Any]) -> str:
    return f"{component.get('ready', 0)}/{component.get('desired', 0)}"


def find_setting(spec: Mapping[str, Any], text: str) -> str:
    """The field of the spec whose value the text quotes; empty unless exactly one matches."""
    for word in dict.fromkeys(_QUOTED.findall(text)):
        found = [path for path, value in _settings(spec) if word in value]
        if len(found) == 1:
            return format_path(("spec", *found[0]))
    return ""


def _settings(value: Any, path: DocumentPath = ()) -> Iterator[tuple[DocumentPath, str]]:
    """Values that the operator wrote as free-form chart values or features, as text; lists as a whole."""
    if isinstance(value, Mapping):
        if SECRET_REF not in value:
            for key, item in value.items():
                yield from _settings(item, (*path, str(key)))
    elif path and path[0] in ("features", "common", "services", "nodes", "images"):
        yield path, value if isinstance(value, str) else json.dumps(value)


def _services(rows: Iterable[ReleaseRow], status: Mapping[str, Any]) -> Iterator[ServiceLine]:
    by_service: dict[str, list[ReleaseRow]] = {}
    for row in rows:
        # Removed and inserted again, so that a service comes in the place of its last release.
        by_service[row.service] = [*by_service.pop(row.service, []), row]
    states, health = status.get("services") or {}, status.get("health") or {}
    # A service without any release yet, because its plan is not approved.
    coming = {name for name, entry in states.items() if entry.get("state") == "Planned"}
    for service in sorted(coming - by_service.keys()):
        yield ServiceLine(service, "Planned", "", (), note="planned")
    for service, releases in by_service.items():
        entry = states.get(service) or {}
        components = [
            (name, component)
            for row in releases
            for name, component in (health.get(row.release) or {}).items()
        ]
        yield ServiceLine(
            service=service,
            state=str(entry.get("state") or ""),
            version=_version(entry, status.get("upgrade") or {}),
            releases=tuple(releases),
            ready=sum(1 for _, component in components if component.get("status") == "Ready"),
            components=len(components),
            note=_note(releases, components),
        )


def _version(entry: Mapping[str, Any], upgrade: Mapping[str, Any]) -> str:
    """The version of a service; of one that is half-way the one before and the next."""
    version = str(entry.get("openstackVersion") or "")
    half_way = entry.get("state") == "Upgrading" and upgrade.get("to")
    return f"{version} → {upgrade['to']}" if half_way else version


def _note(releases: Iterable[ReleaseRow], components: Iterable[tuple[str, Mapping[str, Any]]]) -> str:
    """The releases that are not installed, otherwise the components that are not ready.

    Errors of failed releases are causes, which are shown once above the table.
    """
    open_ = [row for row in releases if row.phase != RowState.INSTALLED]
    if open_:
        return "; ".join(_row_note(row) for row in open_)
    return ", ".join(name for name, component in components if component.get("status") != "Ready")


def _row_note(row: ReleaseRow) -> str:
    if row.phase == RowState.FAILED:
        return f"{row.release} failed {row.failures} times" if row.failures > 1 else f"{row.release} failed"
    return f"{row.release} {row.message or row.phase}"


def _secrets(secrets: Mapping[str, Mapping[str, Any]], now: float) -> str:
    if not secrets:
        return ""
    expiring = sorted(
        (moment, name)
        for name, entry in secrets.items()
        if (moment := parse_time(entry.get("expires"))) is not None
    )
    troubled = [
        f"{name}: {entry['message']}" for name, entry in sorted(secrets.items()) if entry.get("message")
    ]
    parts = [f"{len(secrets)} kept"]
    if expiring:
        moment, name = expiring[0]
        remaining = moment - now
        parts.append(
            f"{name} expires in {short_duration(remaining)}" if remaining > 0 else f"{name} has expired"
        )
    return "; ".join([*parts, *troubled[:3]])


def _nodes(nodes: Mapping[str, Mapping[str, Any]]) -> str:
    if not nodes:
        return ""
    counted: dict[str, int] = {}
    for entry in nodes.values():
        word = str(entry.get("state") or "Unknown")
        counted[word] = counted.get(word, 0) + 1
    order = sorted(counted, key=lambda word: (word != "Ready", word))
    busy = [
        f"{name}: {entry['message']}"
        for name, entry in sorted(nodes.items())
        if entry.get("message") and entry.get("state") != "Ready"
    ]
    text = ", ".join(f"{counted[word]} {word.lower()}" for word in order)
    text = f"{text} ({'; '.join(busy[:3])})" if busy else text
    unseen = unseen_hosts(nodes)
    return f"{text}; {unseen}" if unseen else text


def as_data(view: RegionView) -> dict[str, Any]:
    """The view as plain data, for -o json and yaml."""
    return {
        "name": view.name,
        "namespace": view.namespace,
        "ready": view.outcome == RegionOutcome.READY,
        "reason": view.reason,
        "state": view.state,
        "openstackVersion": view.version,
        "preset": view.preset,
        "size": view.size,
        "progress": view.progress,
        "causes": [
            {"message": cause.message, **({"setBy": cause.set_by} if cause.set_by else {})}
            for cause in view.causes
        ],
        "services": [
            {
                "service": line.service,
                "state": line.state,
                "openstackVersion": line.version,
                "releases": [
                    {
                        "name": row.release,
                        "state": str(row.phase),
                        "revision": row.revision,
                        "message": row.message,
                    }
                    for row in line.releases
                ],
                "health": {"ready": line.ready, "components": line.components},
            }
            for line in view.services
        ],
        "secrets": view.secrets,
        "nodes": view.nodes,
        "warnings": view.warnings,
        "plan": view.plan,
        "upgrade": view.upgrade,
    }
