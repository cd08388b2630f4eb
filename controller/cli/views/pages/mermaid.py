"""The graph of releases as a Mermaid flowchart, which many places of documentation draw. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from controller.cli.output import soft_wrapped
from controller.cli.views.pages.marks import level_of, mark_of
from controller.cli.views.pages.release_graph import GraphNode, ReleaseGraph
from controller.cli.views.release_rows import RowState

# Everything but letters, digits and a few signs becomes a numeric entity of Mermaid.
_UNSAFE = re.compile(r"[^\w .,:/()✓!…·?-]")
_STYLES = {
    "good": "fill:#e6f4ea,stroke:#1a7f37,color:#0b3d1b",
    "busy": "fill:#e8f1fd,stroke:#0b5cad,color:#08305c",
    "bad": "fill:#fdeaea,stroke:#b3261e,color:#5f1410",
    "idle": "fill:#f1f1f1,stroke:#6b6b6b,color:#333333",
}


def mermaid_text(graph: ReleaseGraph) -> str:
    """The flowchart, services as frames."""
    return "\n".join(_lines(graph)) + "\n"


def _lines(graph: ReleaseGraph) -> Iterator[str]:
    yield "flowchart LR"
    ids = {node.release: f"r{index}" for index, node in enumerate(graph.nodes)}
    services = sorted({node.service for node in graph.nodes})
    for index, service in enumerate(services):
        nodes = [node for node in graph.nodes if node.service == service]
        if service:
            yield f'  subgraph s{index}["{_quoted(service)}"]'
        for node in nodes:
            yield f'    {ids[node.release]}["{_label(node)}"]:::{level_of(node.state)}'
        if service:
            yield "  end"
    for need, release in graph.direct_edges():
        yield f"  {ids[need]} --> {ids[release]}"
    for name, style in _STYLES.items():
        yield f"  classDef {name} {style}"


def _label(node: GraphNode) -> str:
    health = f" {node.ready}/{node.components}" if node.components else ""
    state = "" if node.state == RowState.INSTALLED else f" ({node.state})"
    return _quoted(f"{mark_of(node.state)} {node.release}{health}{state}")


def _quoted(text: str) -> str:
    return _UNSAFE.sub(lambda found: f"#{ord(found[0])};", soft_wrapped(text).replace("\n", " "))
