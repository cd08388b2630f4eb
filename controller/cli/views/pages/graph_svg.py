"""The graph of releases as an SVG image. Pure."""

from __future__ import annotations

from controller.cli.views.pages.graph_layout import drawing
from controller.cli.views.pages.release_graph import ReleaseGraph
from controller.cli.views.pages.templates import filled


def svg_text(name: str, graph: ReleaseGraph) -> str:
    """A file of its own, for light and dark."""
    return filled("graph.svg.j2", name=name, drawing=drawing(graph), alone=True)
