"""osctl upgrade check: the checks before an upgrade, as the controller made them or as they would be now."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any

import typer

from controller.adapters.system.clock import SystemClock
from controller.cli.cluster import open_cluster
from controller.cli.commands.upgrade.plan import require_version
from controller.cli.commands.upgrade.status import RegionName
from controller.cli.exit_codes import ExitCode
from controller.cli.offline.input_files import InputObject
from controller.cli.options import Context, Kubeconfig, Namespace, Output
from controller.cli.output import Cell, Format, print_data, print_table, soft_wrapped, stderr, stdout
from controller.cli.upgrade_preview import preview_checks, running_version
from controller.domain.region.upgrade.upgrade_checks import ServiceUpgradeCheck
from controller.domain.region.upgrade.upgrade_state import Check, CheckState, Upgrade, upgrade_in

STYLES = {
    CheckState.PASSED: ("✓", "green"),
    CheckState.WARNING: ("!", "yellow"),
    CheckState.RUNNING: ("…", "cyan"),
    CheckState.FAILED: ("!", "red"),
    CheckState.SKIPPED: ("-", "dim"),
}
# The state of a check that is a Job of the upgrade.
LATER = "Later"
JOBS_LATER = (
    "Later: when the upgrade starts, programs of the services check the running databases, and the "
    "controller asks the broker. With osctl upgrade start VERSION --paused, no step begins before "
    "osctl upgrade resume."
)


def check(
    version: Annotated[
        str,
        typer.Argument(
            metavar="[VERSION]",
            help="The version to upgrade to; not needed during an upgrade.",
            show_default=False,
        ),
    ] = "",
    *,
    name: RegionName = "",
    output: Output = Format.TABLE,
    namespace: Namespace = "",
    kubeconfig: Kubeconfig = None,
    context: Context = "",
) -> None:
    """Show the checks before an upgrade: those that the controller made, or those that osctl can make now.

    Nothing is changed. Exit code 0: all passed, warn, or are skipped; 4: some run; 5: some failed.
    """
    cluster = open_cluster(kubeconfig, context, namespace)
    region = cluster.find_region(name)
    upgrade = upgrade_in(region.get("status") or {})
    later: tuple[ServiceUpgradeCheck, ...] = ()
    if upgrade is not None and not upgrade.over and version in ("", upgrade.target):
        checks = upgrade.checks
        title = f"{upgrade.source} → {upgrade.target}: checks of the upgrade that is under way"
    else:
        _require(version, upgrade)
        source = running_version(region)
        if source == version:
            stdout().print(f"{region['metadata']['name']}: its version is {version} already")
            raise typer.Exit(ExitCode.OK)
        item, bundles = InputObject(region, "cluster"), cluster.bundles(region)
        now, kube = SystemClock().now(), cluster.kube
        checks, later = preview_checks(item, source, version, kube=kube, bundles=bundles, now=now)
        title = f"{source} → {version}: checks as they are now"
    if output == Format.TABLE:
        stdout().print(f"{region['metadata']['name']}  {title}\n")
        print_table(
            stdout(), ("", "CHECK", "SERVICE", "STATE", "MESSAGE"), [*map(_row, checks), *map(_later, later)]
        )
        if later:
            stdout().print(f"\n{JOBS_LATER}")
    else:
        print_data([*map(as_data, checks), *map(_later_data, later)], output)
    if code := _code(checks):
        raise typer.Exit(code)


def _require(version: str, upgrade: Upgrade | None) -> None:
    if upgrade is not None and not upgrade.over:
        text = f"the upgrade from {upgrade.source} to {upgrade.target} is not finished"
        stderr().print(f"{text}; leave out VERSION to see its checks", style="yellow")
        raise typer.Exit(ExitCode.NEEDS_EDIT)
    if not version:
        raise typer.BadParameter(
            "no upgrade is under way; name the version to upgrade to", param_hint="VERSION"
        )
    require_version(version)


def _code(checks: Iterable[Check]) -> ExitCode:
    states = {one.state for one in checks}
    if CheckState.FAILED in states:
        return ExitCode.NEEDS_EDIT
    return ExitCode.NOT_READY if CheckState.RUNNING in states else ExitCode.OK


def _row(one: Check) -> list[Cell | str]:
    mark, style = STYLES[one.state]
    message = Cell(soft_wrapped(one.message), style if one.state != CheckState.PASSED else "")
    return [Cell(mark, style), one.name, one.service or "-", Cell(str(one.state), style), message]


def as_data(one: Check) -> dict[str, Any]:
    """A check for programs."""
    return {"name": one.name, "service": one.service, "state": str(one.state), "message": one.message}


def _later(one: ServiceUpgradeCheck) -> list[Cell | str]:
    return [
        Cell(text, "dim") for text in ("·", one.about.name, one.service, LATER, " ".join(one.about.command))
    ]


def _later_data(one: ServiceUpgradeCheck) -> dict[str, Any]:
    found = {"name": one.about.name, "service": one.service, "state": LATER}
    return {**found, "message": " ".join(one.about.command)}
