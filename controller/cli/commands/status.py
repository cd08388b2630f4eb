"""osctl status: one screen about a region."""

from __future__ import annotations

from typing import Annotated

import typer

from controller.adapters.system.clock import SystemClock
from controller.cli.cluster import open_cluster
from controller.cli.options import Context, Kubeconfig, Namespace, Output
from controller.cli.output import Format, print_data, stdout
from controller.cli.views.status import as_data, region_view
from controller.cli.views.status_display import print_view


def status(
    *,
    name: Annotated[
        str, typer.Argument(help="The region; not needed where there is one.", show_default=False)
    ] = "",
    namespace: Namespace = "",
    output: Output = Format.TABLE,
    kubeconfig: Kubeconfig = None,
    context: Context = "",
) -> None:
    """Show a region on one screen: whether it is Ready, the causes if not, and each service."""
    cluster = open_cluster(kubeconfig, context, namespace)
    region = cluster.find_region(name)
    view = region_view(region, cluster.bundles(region), SystemClock().now())
    if output == Format.TABLE:
        print_view(stdout(), view)
    else:
        print_data(as_data(view), output)
