"""osctl upgrade status: the steps of an upgrade, and waiting for its end."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from controller.adapters.system.clock import SystemClock
from controller.cli.cluster import open_cluster
from controller.cli.options import Context, Kubeconfig, Namespace, Output, parse_wait
from controller.cli.output import Format, print_data, stdout
from controller.cli.upgrade_waiting import AwaitedUpgrade, no_upgrade, wait_for_upgrade
from controller.cli.views.upgrade.display import print_upgrade
from controller.cli.views.upgrade.status import as_data, upgrade_view

# An upgrade of many nodes takes hours.
UPGRADE_TIMEOUT = 4 * 3600.0

RegionName = Annotated[
    str, typer.Argument(metavar="[REGION]", help="Needed only if there are several.", show_default=False)
]
Wait = Annotated[bool, typer.Option("--wait", help="Wait until it is over, or waits for a person.")]
UpgradeTimeout = Annotated[
    float,
    typer.Option(
        "--timeout",
        metavar="DURATION",
        parser=parse_wait,
        show_default="4h",
        help="How long to wait, such as 90m or 4h.",
    ),
]


def status(
    *,
    name: RegionName = "",
    watch: Annotated[bool, typer.Option("--watch", "-w", help="Show every change until it is over.")] = False,
    wait: Wait = False,
    timeout: UpgradeTimeout = UPGRADE_TIMEOUT,
    output: Output = Format.TABLE,
    namespace: Namespace = "",
    kubeconfig: Kubeconfig = None,
    context: Context = "",
) -> None:
    """Show the steps of the region's upgrade, what it waits for, and what to do next.

    --wait ends with 0 when it is finished, with 5 when it waits for a person or was aborted, and with 4 after
    --timeout. --watch also goes on while it waits for a person.
    """
    cluster = open_cluster(kubeconfig, context, namespace)
    region = cluster.find_region(name)
    clock = SystemClock()
    if watch or wait:
        awaited = AwaitedUpgrade(stops=not watch, generation=int(region["metadata"].get("generation") or 0))
        code = wait_for_upgrade(cluster, region, awaited, timeout=timeout, clock=clock, sleep=time.sleep)
        if code:
            raise typer.Exit(code)
        return
    view = upgrade_view(region, clock.now())
    if output != Format.TABLE:
        print_data(as_data(view) if view is not None else {}, output)
        return
    if view is None:
        stdout().print(no_upgrade(region))
        return
    print_upgrade(stdout(), view)
