"""The checks before an upgrade begins, of what is known without asking a service."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from controller.domain.api.conditions import find
from controller.domain.api.region_spec import parse_region_spec
from controller.domain.backups.backup_spec import parse_backup_spec
from controller.domain.backups.backup_state import backup_in
from controller.domain.health.probes import APPLICATION as PROBE_APPLICATION
from controller.domain.health.workload_health import Health
from controller.domain.region.facts import ANSWERED_BY
from controller.domain.region.upgrade.upgrade_policy import upgrade_policy
from controller.domain.region.upgrade.upgrade_state import Check, CheckState, Upgrade
from controller.domain.region.upgrade.version_pins import version_pins
from controller.domain.shared.durations import format_duration
from controller.domain.shared.times import seconds_of
from controller.errors import Problem
from controller.ports.kubernetes import CRONJOB, Kube, KubeObject, KubeObjects

# OpenStack-Helm's CronJob that dumps all databases.
BACKUP = "mariadb-backup"
# The rules about options that OpenStack of a version does not have.
_UNKNOWN_OPTIONS = ("option-unknown", "section-unknown")
_SHOWN = 5
# Probes of container health that are also checks, by their names.
PROBES = ("network-agents", "volume-services")


@dataclass(frozen=True)
class PreflightView:
    """What the checks look at. `desired` are the bundles of the target, `bundles` those that run, `warnings`
    those of the spec at the target, `containers` those that are deployed."""

    osdpl: KubeObject
    upgrade: Upgrade
    desired: KubeObjects
    bundles: KubeObjects
    containers: tuple[str, ...]
    warnings: tuple[Problem, ...] = ()

    @property
    def status(self) -> Mapping[str, Any]:
        """That of the region."""
        found: Mapping[str, Any] = self.osdpl.get("status") or {}
        return found


def preflight_checks(kube: Kube, view: PreflightView, now: float) -> tuple[Check, ...]:
    """Every check, in order, at `now` (seconds since the epoch). Raises KubeError."""
    return (
        _region_ready(view.status, view.upgrade, view.containers),
        _rotation(view.status),
        pinned_images(view.desired, view.bundles, view.upgrade),
        _unknown_options(view),
        _version_pins(view.desired),
        _compute_services(view.status, view.upgrade),
        *(_probed(view.status, view.upgrade, name) for name in PROBES),
        _backup_age(kube, view.osdpl, now),
    )


def _region_ready(status: Mapping[str, Any], upgrade: Upgrade, containers: tuple[str, ...]) -> Check:
    conditions = status.get("conditions") or []
    for container, type_ in ANSWERED_BY.items():
        entry = find(conditions, type_)
        if container in containers and entry.get("status") != "True":
            text = f"{type_} is {entry.get('status') or 'Unknown'}: {entry.get('message') or 'no report yet'}"
            remedy = f"correct it at {upgrade.source} first: set openstackVersion back"
            return Check("region-ready", CheckState.FAILED, f"{text}; {remedy}")
    return Check("region-ready", CheckState.PASSED)


def _rotation(status: Mapping[str, Any]) -> Check:
    rotating = sorted(
        name
        for name, entry in (status.get("secrets") or {}).items()
        if ((entry or {}).get("rotation") or {}).get("phase") not in (None, "Waiting")
    )
    if rotating:
        text = f"credentials rotate: {', '.join(rotating)}; the upgrade begins after that"
        return Check("credential-rotation", CheckState.RUNNING, text)
    return Check("credential-rotation", CheckState.PASSED)


def pinned_images(desired: KubeObjects, bundles: KubeObjects, upgrade: Upgrade) -> Check:
    """Whether the spec names images of the version before, which would stay."""
    before = dict(_tags(bundles))
    pinned = [
        f"images.tags.{name} of {release}"
        for (release, name), tag in _tags(desired)
        if before.get((release, name)) == tag and upgrade.source in tag.rpartition("/")[2]
    ]
    if pinned:
        text = f"the spec names images of {upgrade.source}, which would stay: {_listed(pinned)}"
        return Check("pinned-images", CheckState.FAILED, f"{text}; use images of {upgrade.target}")
    return Check("pinned-images", CheckState.PASSED)


def _unknown_options(view: PreflightView) -> Check:
    """Options of the spec that the target does not have. It would start without them."""
    found = [f"{one.path}: {one.message}" for one in view.warnings if one.rule in _UNKNOWN_OPTIONS]
    if found:
        return Check("unknown-options", CheckState.WARNING, _listed(found))
    return Check("unknown-options", CheckState.PASSED)


def _version_pins(desired: KubeObjects) -> Check:
    """Pins of RPC versions that an upgrade by hand has left. Services would not use what is new."""
    if found := version_pins(desired):
        text = f"the spec pins versions of RPC, which stay after the upgrade: {_listed(found)}"
        return Check("version-pins", CheckState.WARNING, f"{text}; remove them, or set auto")
    return Check("version-pins", CheckState.PASSED)


def _compute_services(status: Mapping[str, Any], upgrade: Upgrade) -> Check:
    """Compute services that are down keep their version, which Nova of the target may refuse later."""
    down: dict[str, list[str]] = {"enabled": [], "disabled": []}
    for node, entry in sorted((status.get("nodes") or {}).items()):
        state, *more = str((entry or {}).get("compute") or "").split(", ")
        if "down" in more and state in down:
            down[state].append(node)
    strangers = [str(host) for host in status.get("hostsWithoutNode") or ()]
    found = []
    if down["enabled"]:
        found.append(f"down on {_listed(down['enabled'])}: correct it at {upgrade.source} first")
    if down["disabled"]:
        found.append(f"disabled and down on {_listed(down['disabled'])}: they stay at {upgrade.source}")
    if strangers:
        found.append(
            f"no Node for {_listed(strangers)}: if they are gone for good, delete their compute services"
        )
    warns = CheckState.WARNING if found else CheckState.PASSED
    state = CheckState.FAILED if down["enabled"] else warns
    return Check("compute-services", state, "; ".join(found))


def _probed(status: Mapping[str, Any], upgrade: Upgrade, name: str) -> Check:
    """Services that are down keep their version, which others may refuse after the upgrade."""
    entry = ((status.get("health") or {}).get(PROBE_APPLICATION) or {}).get(name) or {}
    health, text = str(entry.get("status") or ""), str(entry.get("message") or "")
    if health == Health.UNHEALTHY:
        remedy = f"correct it at {upgrade.source} first, or delete those that are gone for good"
        return Check(name, CheckState.FAILED, f"{text or 'they are down'}; {remedy}")
    if health and health != Health.READY:
        return Check(name, CheckState.WARNING, text or f"the probe {name} of their health is {health}")
    return Check(name, CheckState.PASSED, "" if health else f"there is no probe {name}")


def _backup_age(kube: Kube, osdpl: KubeObject, now: float) -> Check:
    """The last good backup; without spec.features.backup, the last dump of OpenStack-Helm's chart."""
    spec = parse_region_spec(osdpl.get("spec"))
    allowed = upgrade_policy(spec.upgrade).backup_max_age
    if not allowed:
        return Check("backup-age", CheckState.PASSED, "spec.upgrade.backupMaxAge is not set")
    namespace, name = str(osdpl["metadata"]["namespace"]), str(osdpl["metadata"]["name"])
    if parse_backup_spec(osdpl.get("spec")) is not None:
        command = f"osctl backup now {name} -n {namespace}"
        state = backup_in(osdpl.get("status") or {})
        written = (state.last_good.started or state.last_good.ended) if state and state.last_good else ""
        if state and state.restorable is False:
            text = f"the last drill has failed: {state.drill.message}"
            remedy = f"correct it, and try a new backup: {command}, and osctl backup verify"
            return Check("backup-age", CheckState.FAILED, f"{text}; {remedy}")
        return _judge_age(written, allowed, now, command)
    cron = kube.get(CRONJOB, BACKUP, namespace)
    if cron is None:
        text = "no backup is known"
        remedy = "set spec.features.backup, or remove spec.upgrade.backupMaxAge"
        return Check("backup-age", CheckState.FAILED, f"{text}; {remedy}")
    written = str((cron.get("status") or {}).get("lastSuccessfulTime") or "")
    command = f"kubectl -n {namespace} create job --from=cronjob/{BACKUP} before-upgrade"
    return _judge_age(written, allowed, now, command)


def _judge_age(written: str, allowed: int, now: float, command: str) -> Check:
    """`written`: of which time the last good backup is; `command` makes one."""
    if written and now - seconds_of(written) <= allowed:
        return Check("backup-age", CheckState.PASSED, f"the last backup is from {written}")
    last = f"the last backup is from {written}" if written else "no backup has succeeded yet"
    wanted = f"spec.upgrade.backupMaxAge is {format_duration(allowed)}"
    return Check("backup-age", CheckState.FAILED, f"{last}, and {wanted}; make one: {command}")


def _listed(found: list[str]) -> str:
    more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    return f"{', '.join(found[:_SHOWN])}{more}"


def _tags(bundles: KubeObjects) -> Iterator[tuple[tuple[str, str], str]]:
    for bundle in bundles:
        for release in (bundle.get("spec") or {}).get("releases") or ():
            images = (release.get("values") or {}).get("images") or {}
            for name, tag in (images.get("tags") or {}).items():
                yield (str(release["name"]), str(name)), str(tag)
