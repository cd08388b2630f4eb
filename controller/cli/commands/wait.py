"""osctl wait: waits until a region is Ready, planned, or gone."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from controller.adapters.system.clock import SystemClock
from controller.cli.cluster import open_cluster
from controller.cli.options import DEFAULT_TIMEOUT, Context, Kubeconfig, Namespace, Timeout
from controller.cli.output import stdout
from controller.cli.waiting import Goal, wait_for_region
from controller.errors import ObjectMissing


def wait(
    *,
    name: Annotated[
        str, typer.Argument(help="The region; needed only if there are several.", show_default=False)
    ] = "",
    goal: Annotated[Goal, typer.Option("--for", help="What to wait for.")] = Goal.READY,
    timeout: Timeout = DEFAULT_TIMEOUT,
    namespace: Namespace = "",
    kubeconfig: Kubeconfig = None,
    context: Context = "",
) -> None:
    """Wait until a region is Ready, planned (mode Plan), or deleted, showing progress."""
    cluster = open_cluster(kubeconfig, context, namespace)
    try:
        region = cluster.find_region(name)
    except ObjectMissing:
        if goal == Goal.DELETED and name:
            stdout().print(f"{name}: deleted")
            return
        raise
    code = wait_for_region(cluster, region, goal=goal, timeout=timeout, clock=SystemClock(), sleep=time.sleep)
    if code:
        raise typer.Exit(code)
