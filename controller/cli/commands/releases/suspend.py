"""osctl suspend and resume: leaves a region, bundles or releases as they are, for a while."""

from __future__ import annotations

import typer

from controller.cli.cluster import Cluster
from controller.cli.commands.releases.reconcile import Region
from controller.cli.exit_codes import ExitCode
from controller.cli.on_cluster import on_cluster
from controller.cli.options import Releases
from controller.cli.output import stderr, stdout
from controller.cli.targets import Bundles, Target, annotate, find_targets, patch
from controller.domain.api.names import (
    MODE_BEFORE_ANNOTATION,
    SUSPEND_ANNOTATION,
    SUSPEND_RELEASE_PREFIX,
)
from controller.domain.api.region_spec import parse_region_spec
from controller.domain.releases.requests import is_suspended
from controller.ports.kubernetes import HELMBUNDLE, OSDPL, KubeObject

PAUSED = "Paused"


@on_cluster
def suspend(
    cluster: Cluster,
    *,
    region: Region = "",
    releases: Releases = None,
    bundles: Bundles = None,
) -> None:
    """Suspend a region, bundles or releases: running actions finish, and edits wait until resume."""
    if not (releases or bundles):
        found = cluster.find_region(region)
        _print_result(f"region {found['metadata']['name']}", "suspended", changed=_pause(cluster, found))
    for target in _chosen(cluster, region, releases, bundles):
        changed = not is_suspended(_annotations(target.bundle), target.release)
        _annotate(cluster, target, "true", "suspended", changed=changed)


@on_cluster
def resume(
    cluster: Cluster,
    *,
    region: Region = "",
    releases: Releases = None,
    bundles: Bundles = None,
) -> None:
    """Resume a suspended region, bundle or release."""
    if not (releases or bundles):
        found = cluster.find_region(region)
        _print_result(f"region {found['metadata']['name']}", "resumed", changed=_unpause(cluster, found))
    remains = False
    for target in _chosen(cluster, region, releases, bundles):
        changed = _annotation(target) in _annotations(target.bundle)
        _annotate(cluster, target, None, "resumed", changed=changed)
        why = still_suspended(target)
        if why:
            remains = True
            stderr().print(f"{target.title} is still suspended: {why}", style="yellow")
    if remains:
        raise typer.Exit(ExitCode.NEEDS_EDIT)


def still_suspended(target: Target) -> str:
    """The other cause of a suspension besides the target's own annotation, and the remedy, or empty."""
    spec = target.bundle.get("spec") or {}
    if spec.get("mode") == PAUSED:
        if target.of_a_region:
            return "the region is suspended; use osctl resume without --bundle and --release"
        return f"spec.mode of bundle {target.name} is Paused; set it to Apply"
    if target.release and is_suspended(_annotations(target.bundle)):
        return f"the bundle of the release is suspended; use osctl resume --bundle {target.name}"
    if target.spec().get("suspend"):
        return f"spec.releases of bundle {target.name} says suspend: true; edit it"
    return ""


def _pause(cluster: Cluster, region: KubeObject) -> bool:
    spec = parse_region_spec(region.get("spec"))
    if spec.paused:
        return False
    # The former mode: a region that only plans must not begin to apply.
    change = {"metadata": {"annotations": {MODE_BEFORE_ANNOTATION: spec.mode}}, "spec": {"mode": PAUSED}}
    patch(cluster, OSDPL, region, change)
    return True


def _unpause(cluster: Cluster, region: KubeObject) -> bool:
    if not parse_region_spec(region.get("spec")).paused:
        return False
    mode = str(_annotations(region).get(MODE_BEFORE_ANNOTATION) or "Apply")
    change = {"metadata": {"annotations": {MODE_BEFORE_ANNOTATION: None}}, "spec": {"mode": mode}}
    patch(cluster, OSDPL, region, change)
    return True


def _annotations(obj: KubeObject) -> dict[str, str]:
    return obj["metadata"].get("annotations") or {}


def _chosen(
    cluster: Cluster, region: str, releases: list[str] | None, bundles: list[str] | None
) -> list[Target]:
    """The named bundles and releases; none of them is the region alone."""
    if region and (releases or bundles):
        raise typer.BadParameter(
            "--region means all bundles of the region; give one of the two", param_hint="REGION"
        )
    return find_targets(cluster, releases, bundles) if releases or bundles else []


def _annotation(target: Target) -> str:
    return target.annotation(SUSPEND_ANNOTATION, SUSPEND_RELEASE_PREFIX)


def _annotate(cluster: Cluster, target: Target, text: str | None, word: str, *, changed: bool) -> None:
    if changed:
        annotate(cluster, HELMBUNDLE, target.bundle, _annotation(target), text)
    _print_result(target.title, word, changed=changed)


def _print_result(what: str, word: str, *, changed: bool) -> None:
    stdout().print(f"{what}: {word}" if changed else f"{what}: already {word}")
