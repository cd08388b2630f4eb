"""osctl status: one screen about a region, or a line for each region."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from controller.adapters.system.clock import SystemClock
from controller.cli.cluster import Cluster, context_names, open_cluster
from controller.cli.commands.overview.region_list import observe_regions
from controller.cli.commands.overview.watching import watch_output
from controller.cli.exit_codes import ExitCode
from controller.cli.options import Kubeconfig, Namespace, Output
from controller.cli.output import Format, print_data, print_table, stdout
from controller.cli.views.region_rows import region_rows_data, region_table
from controller.cli.views.status import as_data, region_view
from controller.cli.views.status_display import print_view

Contexts = Annotated[
    list[str] | None,
    typer.Option(
        "--context",
        metavar="NAME",
        help="Context of the kubeconfig; may be repeated, and then lists the regions of each.",
        show_default=False,
    ),
]
AllNamespaces = Annotated[
    bool, typer.Option("--all-namespaces", "-A", help="List the regions of every namespace.")
]
AllContexts = Annotated[
    bool, typer.Option("--all-contexts", help="List the regions of each context of the kubeconfig.")
]


def status(
    *,
    name: Annotated[
        str, typer.Argument(help="The region; needed only if there are several.", show_default=False)
    ] = "",
    namespace: Namespace = "",
    all_namespaces: AllNamespaces = False,
    watch: Annotated[bool, typer.Option("--watch", "-w", help="Show it again whenever it changes.")] = False,
    output: Output = Format.TABLE,
    kubeconfig: Kubeconfig = None,
    contexts: Contexts = None,
    all_contexts: AllContexts = False,
) -> None:
    """Show a region on one screen: whether it is Ready, the causes if not, and each service. With -A or
    several contexts: a line for each region.
    """
    chosen = _contexts(kubeconfig, contexts or [], all_contexts)
    listed = all_namespaces or all_contexts or len(chosen) > 1
    if listed and name:
        raise typer.BadParameter("a list of regions needs no name", param_hint="NAME")
    if watch and output != Format.TABLE:
        raise typer.BadParameter("--watch prints screens, not data", param_hint="--output")

    def open_(context: str) -> Cluster:
        return open_cluster(kubeconfig, context, namespace)

    if listed:
        space = None if all_namespaces or not namespace else namespace
        show = _list_of(chosen, open_, space, output)
    else:
        show = _screen_of(open_(chosen[0]), name, output)
    code = watch_output(show, time.sleep) if watch else show()
    if code:
        raise typer.Exit(code)


def _contexts(kubeconfig: Path | None, named: list[str], every: bool) -> list[str]:
    """The contexts to ask; an empty name is the current one."""
    if every and named:
        raise typer.BadParameter("name contexts, or ask for all", param_hint="--all-contexts")
    return list(context_names(kubeconfig)) if every else list(dict.fromkeys(named)) or [""]


def _list_of(
    contexts: list[str], open_: Callable[[str], Cluster], namespace: str | None, output: Format
) -> Callable[[], ExitCode]:
    def show() -> ExitCode:
        rows, code = observe_regions(contexts, open_, namespace, SystemClock().now())
        if output == Format.TABLE:
            headers, lines = region_table(rows, several=len(contexts) > 1)
            print_table(stdout(), headers, lines)
        else:
            print_data(region_rows_data(rows), output)
        return code

    return show


def _screen_of(cluster: Cluster, name: str, output: Format) -> Callable[[], ExitCode]:
    def show() -> ExitCode:
        region = cluster.find_region(name)
        view = region_view(region, cluster.bundles(region), SystemClock().now())
        if output == Format.TABLE:
            print_view(stdout(), view)
        else:
            print_data(as_data(view), output)
        return ExitCode.OK

    return show
