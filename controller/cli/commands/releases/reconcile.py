"""osctl reconcile: requests a new attempt now, or an upgrade although nothing has changed."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from controller.adapters.system.clock import SystemClock
from controller.cli.cluster import Cluster
from controller.cli.on_cluster import on_cluster
from controller.cli.options import DEFAULT_TIMEOUT, Releases, Timeout
from controller.cli.output import stdout
from controller.cli.release_waiting import Request, wait_for_releases
from controller.cli.targets import Bundles, Target, annotate, find_targets, stamp
from controller.cli.waiting import Goal, wait_for_region
from controller.domain.api.names import (
    FORCE_ANNOTATION,
    FORCE_RELEASE_PREFIX,
    RECONCILE_ANNOTATION,
    RECONCILE_RELEASE_PREFIX,
)
from controller.ports.kubernetes import HELMBUNDLE, OSDPL

Region = Annotated[
    str,
    typer.Argument(
        metavar="REGION", help="The region; needed only if there are several.", show_default=False
    ),
]


@on_cluster
def reconcile(
    cluster: Cluster,
    *,
    region: Region = "",
    releases: Releases = None,
    bundles: Bundles = None,
    force: Annotated[
        bool,
        typer.Option("--force", help="Upgrade although nothing has changed; hooks run again."),
    ] = False,
    wait: Annotated[bool, typer.Option("--wait", help="Wait until it is done.")] = False,
    timeout: Timeout = DEFAULT_TIMEOUT,
) -> None:
    """Reconcile a region, bundles or releases now, without waiting for the next attempt."""
    clock = SystemClock()
    text = stamp(clock)
    if not (releases or bundles):
        if force:
            raise typer.BadParameter(
                "choose releases or bundles, because otherwise the hooks of all releases would run",
                param_hint="--force",
            )
        found = cluster.find_region(region)
        annotate(cluster, OSDPL, found, RECONCILE_ANNOTATION, text)
        stdout().print(f"region {found['metadata']['name']}: a reconciliation is requested")
        if wait:
            _end(
                wait_for_region(
                    cluster, found, goal=Goal.READY, timeout=timeout, clock=clock, sleep=time.sleep
                )
            )
        return
    _only_one(region, "--region means all bundles of the region; give one of the two")
    targets = find_targets(cluster, releases, bundles)
    names = (
        (FORCE_ANNOTATION, FORCE_RELEASE_PREFIX)
        if force
        else (RECONCILE_ANNOTATION, RECONCILE_RELEASE_PREFIX)
    )
    for target in targets:
        annotate(cluster, HELMBUNDLE, target.bundle, target.annotation(*names), text)
        what = "an upgrade" if force else "another pass"
        stdout().print(f"{target.title}: {what} is requested")
    if wait:
        asked = Request("force" if force else "reconcile", text)
        _end(
            wait_for_releases(cluster, _each(targets), asked, timeout=timeout, clock=clock, sleep=time.sleep)
        )


def _each(targets: list[Target]) -> list[Target]:
    """A bundle as its releases."""
    found = []
    for target in targets:
        listed = (target.bundle.get("spec") or {}).get("releases") or []
        found += [target] if target.release else [Target(target.bundle, str(one["name"])) for one in listed]
    return found


def _only_one(region: str, why: str) -> None:
    if region:
        raise typer.BadParameter(why, param_hint="REGION")


def _end(code: int) -> None:
    if code:
        raise typer.Exit(code)
