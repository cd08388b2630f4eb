"""osctl graph: the releases of a region with their dependencies and states."""

from __future__ import annotations

import sys
from enum import StrEnum
from typing import Annotated

import typer

from controller.cli.cluster import open_cluster
from controller.cli.options import Context, Kubeconfig, Namespace
from controller.cli.output import Format, print_data
from controller.cli.views.pages.graph_svg import svg_text
from controller.cli.views.pages.mermaid import mermaid_text
from controller.cli.views.pages.release_graph import graph_data, release_graph


class GraphFormat(StrEnum):
    """How the graph is printed."""

    MERMAID = "mermaid"
    SVG = "svg"
    JSON = "json"
    YAML = "yaml"


def graph(
    *,
    name: Annotated[
        str, typer.Argument(help="The region; not needed where there is one.", show_default=False)
    ] = "",
    output: Annotated[GraphFormat, typer.Option("--output", "-o", help="Output format.")] = (
        GraphFormat.MERMAID
    ),
    namespace: Namespace = "",
    kubeconfig: Kubeconfig = None,
    context: Context = "",
) -> None:
    """Print the releases of a region with their dependencies and states, as text for Mermaid or as an image.
    Dependencies that follow from others are not drawn.
    """
    cluster = open_cluster(kubeconfig, context, namespace)
    region = cluster.find_region(name)
    found = release_graph(region, cluster.bundles(region))
    match output:
        case GraphFormat.MERMAID:
            sys.stdout.write(mermaid_text(found))
        case GraphFormat.SVG:
            sys.stdout.write(svg_text(str(region["metadata"]["name"]), found))
        case _:
            print_data(graph_data(found), Format(str(output)))
