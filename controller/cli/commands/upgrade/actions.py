"""osctl upgrade start, pause, resume, continue and abort: edits of the region that steer an upgrade."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Annotated, Any

import typer

from controller.adapters.system.clock import SystemClock
from controller.cli.cluster import Cluster
from controller.cli.commands.upgrade.plan import (
    Manifests,
    Version,
    print_preview,
    refuse_beside_another,
    require_version,
)
from controller.cli.commands.upgrade.status import (
    UPGRADE_TIMEOUT,
    RegionName,
    UpgradeTimeout,
    Wait,
)
from controller.cli.exit_codes import ExitCode
from controller.cli.offline.input_files import InputObject
from controller.cli.offline.manifests import offline_helm
from controller.cli.on_cluster import on_cluster
from controller.cli.output import soft_wrapped, stderr, stdout
from controller.cli.upgrade_preview import VERSION_FIELD, preview_upgrade, running_version
from controller.cli.upgrade_waiting import AwaitedUpgrade, wait_for_upgrade
from controller.cli.views.field_owners import other_owners
from controller.domain.api.names import UPGRADE_STEP_ANNOTATION
from controller.domain.api.region_spec import parse_region_spec
from controller.domain.region.upgrade.upgrade_state import StepState, Upgrade, upgrade_in
from controller.domain.region.upgrade.upgrade_steps import Phase
from controller.errors import Conflict, ObjectMissing
from controller.ports.kubernetes import OSDPL, KubeObject

ATTEMPTS = 5
VERSION_PATH = ("spec", "openstackVersion")
PAUSED_PATH = ("spec", "upgrade", "paused")

Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]


@on_cluster
def start(
    cluster: Cluster,
    version: Version,
    *,
    name: RegionName = "",
    yes: Yes = False,
    manifests: Manifests = True,
    paused: Annotated[
        bool,
        typer.Option("--paused", help="Only run the checks; no step begins before osctl upgrade resume."),
    ] = False,
    force_conflicts: Annotated[
        bool, typer.Option("--force-conflicts", help="Also if another client applies the version.")
    ] = False,
    wait: Wait = False,
    timeout: UpgradeTimeout = UPGRADE_TIMEOUT,
) -> None:
    """Begin the upgrade to VERSION: shows the steps, asks, and sets spec.openstackVersion.

    The checks come first. If one fails, nothing begins.
    """
    region = cluster.find_region(name)
    require_version(version)
    if (known := _under_way(region)) is not None and known.target == version:
        stdout().print(f"{_name(region)}: the upgrade to {version} is under way already")
        return
    refuse_beside_another(region)
    if running_version(region) == version and region["spec"].get("openstackVersion") == version:
        stdout().print(f"{_name(region)}: its version is {version} already")
        return
    owners = other_owners(region, VERSION_PATH)
    if owners and not force_conflicts:
        text = (
            f"{', '.join(owners)} applies {VERSION_FIELD}, and would set it back; set it to {version} there"
        )
        raise _stopped(region, f"{text}, or give --force-conflicts")
    _show_and_ask(cluster, region, version, yes=yes, manifests=manifests)
    pausing = {"upgrade": {"paused": True}} if paused else {}
    edited = _edit(cluster, region, lambda _: {"spec": {"openstackVersion": version, **pausing}})
    holds = parse_region_spec(edited.get("spec")).upgrade.paused
    held = "; paused: the checks run, and no step begins" if holds else ""
    stdout().print(f"{_name(region)}: {VERSION_FIELD} is {version}{held}", style="green")
    _remember(edited, version)
    if parse_region_spec(edited.get("spec")).planned:
        stopped = _stopped(region, f"its mode is Plan: nothing begins before osctl approve {_name(region)}")
        if wait:
            raise stopped
    elif wait:
        _wait(cluster, edited, AwaitedUpgrade(target=version), timeout)


@on_cluster
def pause(
    cluster: Cluster,
    *,
    name: RegionName = "",
) -> None:
    """Pause the upgrade: what has begun ends, and no other step and no other node begins."""
    region = cluster.find_region(name)
    if parse_region_spec(region.get("spec")).upgrade.paused:
        stdout().print(f"{_name(region)}: already paused")
        return
    _edit(cluster, region, lambda _: {"spec": {"upgrade": {"paused": True}}})
    upgrade = _under_way(region)
    step = upgrade.current if upgrade is not None else None
    running = f"; step {step.name} continues" if step is not None and step.begun else ""
    stdout().print(f"{_name(region)}: paused, no step begins{running}", style="green")


@on_cluster
def resume(
    cluster: Cluster,
    *,
    name: RegionName = "",
) -> None:
    """Resume a paused upgrade."""
    region = cluster.find_region(name)
    if not parse_region_spec(region.get("spec")).upgrade.paused:
        stdout().print(f"{_name(region)}: not paused")
        return
    if owners := other_owners(region, PAUSED_PATH):
        text = f"{', '.join(owners)} applies spec.upgrade.paused; remove it there, or it returns"
        stderr().print(text, style="yellow")
    _edit(cluster, region, lambda _: {"spec": {"upgrade": {"paused": None}}})
    stdout().print(f"{_name(region)}: resumed", style="green")


@on_cluster
def continue_(
    cluster: Cluster,
    *,
    name: RegionName = "",
    wait: Wait = False,
    timeout: UpgradeTimeout = UPGRADE_TIMEOUT,
) -> None:
    """Allow the next step of an upgrade with manual gates, and no other one."""
    region = cluster.find_region(name)
    upgrade = _require_upgrade(region)
    spec = parse_region_spec(region.get("spec")).upgrade
    if spec.gates != "Manual":
        text = "its gates are not Manual: each step begins by itself when the one before is healthy"
        paused = f"; the upgrade is paused: osctl upgrade resume {_name(region)}" if spec.paused else ""
        raise _stopped(region, f"{text}{paused}")
    step = upgrade.current
    if upgrade.phase == Phase.PREFLIGHT:
        raise _stopped(region, f"no step waits yet: {upgrade.message}")
    if step is None or step.state != StepState.PENDING:
        raise _stopped(region, f"no step waits: {upgrade.message}")
    notes = {UPGRADE_STEP_ANNOTATION: upgrade.permission(step.name)}
    edited = _edit(cluster, region, lambda _: {"metadata": {"annotations": notes}})
    paused = "; it begins after osctl upgrade resume" if spec.paused else ""
    stdout().print(f"{_name(region)}: step {step.name} may begin{paused}", style="green")
    if wait:
        _wait(cluster, edited, AwaitedUpgrade(step=step.name), timeout)


@on_cluster
def abort(
    cluster: Cluster,
    *,
    name: RegionName = "",
    yes: Yes = False,
    wait: Annotated[
        bool, typer.Option("--wait", help="Wait until the controller has taken it back.")
    ] = False,
    timeout: UpgradeTimeout = UPGRADE_TIMEOUT,
) -> None:
    """Abort the upgrade: sets spec.openstackVersion back, as long as no step has migrated data."""
    region = cluster.find_region(name)
    upgrade = _require_upgrade(region)
    _refuse_after_point_of_no_return(region)
    begun = [step.name for step in upgrade.steps if step.begun]
    undone = f"; begun steps become again what they were: {', '.join(begun)}" if begun else ""
    if not yes:
        _ask(f"Abort the upgrade to {upgrade.target}, and stay at {upgrade.source}{undone}?")

    def change(found: KubeObject) -> dict[str, Any]:
        _refuse_after_point_of_no_return(found)
        return {"spec": {"openstackVersion": upgrade.source}}

    edited = _edit(cluster, region, change)
    stdout().print(f"{_name(region)}: {VERSION_FIELD} is {upgrade.source} again{undone}", style="green")
    if owners := other_owners(region, VERSION_PATH):
        text = f"{', '.join(owners)} applies {VERSION_FIELD}: set it to {upgrade.source} there"
        stderr().print(f"{text}, or the upgrade begins again", style="yellow")
    else:
        _remember(edited, upgrade.source)
    if wait:
        _wait(cluster, edited, AwaitedUpgrade(end=Phase.ABORTED), timeout)


def _show_and_ask(cluster: Cluster, region: KubeObject, version: str, *, yes: bool, manifests: bool) -> None:
    helm = offline_helm() if manifests and not yes else None
    item, source = InputObject(region, "cluster"), running_version(region)
    found = preview_upgrade(item, source, version, helm=helm, kube=cluster.kube)
    if found.refused:
        print_preview(stderr(), found)
        raise typer.Exit(ExitCode.NEEDS_EDIT)
    if not yes:
        if is_interactive():
            print_preview(stderr(), found)
        _ask(f"Begin the upgrade from {source} to {version}?")


def is_interactive() -> bool:
    """Whether there is a terminal to ask at."""
    return sys.stdin.isatty()


def _ask(question: str) -> None:
    if not is_interactive():
        raise typer.BadParameter(
            "there is no terminal to ask for confirmation; give --yes", param_hint="--yes"
        )
    if not typer.confirm(question, err=True):
        raise typer.Exit(ExitCode.NEEDS_EDIT)


def _remember(region: KubeObject, version: str) -> None:
    """Says that a file of the region has another version now."""
    text = f'set openstackVersion: "{version}" in the file of the region, too'
    stderr().print(f"{_name(region)}: {text}")


def _refuse_after_point_of_no_return(region: KubeObject) -> None:
    upgrade = _require_upgrade(region)
    if upgrade.point_of_no_return:
        text = f"a step has begun that migrates data to {upgrade.target}, so {upgrade.source} cannot return"
        remedy = (
            "correct what osctl upgrade status shows, and the upgrade continues; or restore the databases"
        )
        raise _stopped(region, f"{text}; {remedy} (docs/upgrade.md)")


def _under_way(region: KubeObject) -> Upgrade | None:
    upgrade = upgrade_in(region.get("status") or {})
    return None if upgrade is None or upgrade.over else upgrade


def _require_upgrade(region: KubeObject) -> Upgrade:
    upgrade = _under_way(region)
    if upgrade is None:
        raise _stopped(region, "no upgrade is under way")
    return upgrade


def _edit(
    cluster: Cluster, region: KubeObject, change: Callable[[KubeObject], Mapping[str, Any]]
) -> KubeObject:
    """Patches the region as it was read: whatever changed meanwhile is looked at first."""
    meta = region["metadata"]
    for _ in range(ATTEMPTS):
        patch = dict(change(region))
        version = {"resourceVersion": region["metadata"]["resourceVersion"]}
        patch["metadata"] = {**patch.get("metadata", {}), **version}
        try:
            found = cluster.kube.merge_patch(OSDPL, meta["name"], meta["namespace"], patch)
        except Conflict:
            newer = cluster.kube.get(OSDPL, meta["name"], meta["namespace"])
            if newer is None:
                break
            region = newer
            continue
        if found is not None:
            return found
        break
    else:
        raise Conflict(f"{meta['name']} changed several times meanwhile; try again")
    raise ObjectMissing(f"{meta['name']} was deleted meanwhile")


def _wait(cluster: Cluster, region: KubeObject, awaited: AwaitedUpgrade, timeout: float) -> None:
    awaited = replace(awaited, generation=int(region["metadata"].get("generation") or 0))
    code = wait_for_upgrade(cluster, region, awaited, timeout=timeout, clock=SystemClock(), sleep=time.sleep)
    if code:
        raise typer.Exit(code)


def _stopped(region: KubeObject, text: str) -> typer.Exit:
    """Reports why nothing is done."""
    stderr().print(f"{_name(region)}: {soft_wrapped(text)}", style="yellow")
    return typer.Exit(ExitCode.NEEDS_EDIT)


def _name(region: KubeObject) -> str:
    return str(region["metadata"]["name"])
