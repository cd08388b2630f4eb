"""Places of the releases in a drawing: a column for each level, and lines from left to right. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from controller.cli.views.pages.marks import level_of, mark_of
from controller.cli.views.pages.release_graph import GraphNode, ReleaseGraph
from controller.cli.views.release_rows import RowState

WIDTH, HEIGHT = 190, 44
GAP, COLUMN, MARGIN = 12, WIDTH + 50, 12
# Letters that fit into a box; the title of the box has all of them.
_MOST_LETTERS, _MOST_UNDER = 21, 26
_PASSES = 4


@dataclass(frozen=True)
class Box:
    """One release in the drawing. `title` is for those who do not see it, `level` its colour."""

    x: int
    y: int
    name: str
    mark: str
    under: str
    title: str
    level: str


@dataclass(frozen=True)
class Drawing:
    """Boxes and the paths between them, in points."""

    width: int
    height: int
    boxes: tuple[Box, ...]
    lines: tuple[str, ...]
    summary: str


def drawing(graph: ReleaseGraph) -> Drawing:
    """The drawing of a graph, the same one for the same graph."""
    columns = _columns(graph)
    highest = max((len(column) for column in columns), default=0)
    places: dict[str, tuple[int, int]] = {}
    boxes = []
    for index, column in enumerate(columns):
        above = (highest - len(column)) * (HEIGHT + GAP) // 2
        for row, node in enumerate(column):
            x, y = MARGIN + index * COLUMN, MARGIN + above + row * (HEIGHT + GAP)
            places[node.release] = (x, y)
            boxes.append(_box(node, x, y))
    return Drawing(
        width=2 * MARGIN + max(len(columns) - 1, 0) * COLUMN + WIDTH,
        height=2 * MARGIN + max(highest * (HEIGHT + GAP) - GAP, HEIGHT),
        boxes=tuple(boxes),
        lines=tuple(_line(places[need], places[name]) for need, name in graph.direct_edges()),
        summary=_summary(graph),
    )


def _columns(graph: ReleaseGraph) -> list[list[GraphNode]]:
    """The releases by level, those with common dependencies and dependents near each other."""
    levels: dict[int, list[GraphNode]] = {}
    for node in graph.nodes:
        levels.setdefault(node.level, []).append(node)
    columns = [levels[level] for level in sorted(levels)]
    edges = graph.direct_edges()
    for turn in range(_PASSES):
        places = {
            node.release: place / len(column)
            for column in columns
            for place, node in enumerate(column, start=1)
        }
        ends = [(name, need) if turn % 2 == 0 else (need, name) for need, name in edges]
        beside: dict[str, list[float]] = {}
        for one, other in ends:
            beside.setdefault(one, []).append(places[other])
        for column in columns:
            column.sort(key=lambda node: (_middle(node, beside, places), node.service, node.release))
    return columns


def _middle(node: GraphNode, beside: Mapping[str, list[float]], places: Mapping[str, float]) -> float:
    found = beside.get(node.release)
    return round(sum(found) / len(found) if found else places[node.release], 6)


def _box(node: GraphNode, x: int, y: int) -> Box:
    health = f"{node.ready}/{node.components} ready" if node.components else ""
    state = "" if node.state == RowState.INSTALLED and health else node.state
    under = ", ".join(part for part in (node.service, state, health) if part)
    whole = f"{node.release}: {node.state}" + (f", {health}" if health else "")
    needs = f"; needs {', '.join(node.needs)}" if node.needs else ""
    message = f"; {node.message}" if node.message else ""
    level = level_of(node.state)
    return Box(
        x,
        y,
        _cut(node.release),
        mark_of(node.state),
        _cut(under, _MOST_UNDER),
        f"{whole}{needs}{message}",
        level,
    )


def _line(start: tuple[int, int], end: tuple[int, int]) -> str:
    x1, y1, x2, y2 = start[0] + WIDTH, start[1] + HEIGHT // 2, end[0], end[1] + HEIGHT // 2
    if x2 <= x1:  # to itself, or back to the left: beneath the boxes
        low = max(y1, y2) + HEIGHT
        return f"M{x1},{y1} C{x1 + 40},{low} {x2 - 40},{low} {x2},{y2}"
    half = (x2 - x1) // 2
    return f"M{x1},{y1} C{x1 + half},{y1} {x2 - half},{y2} {x2},{y2}"


def _summary(graph: ReleaseGraph) -> str:
    """As `14 releases: 12 installed, 2 failed (nova, neutron)`."""
    states = sorted({node.state for node in graph.nodes}, key=lambda one: (one == RowState.INSTALLED, one))
    parts = []
    for state in states:
        names = [node.release for node in graph.nodes if node.state == state]
        named = "" if state == RowState.INSTALLED else f" ({', '.join(names[:8])})"
        parts.append(f"{len(names)} {state}{named}")
    number = len(graph.nodes)
    return f"{number} release{'' if number == 1 else 's'}: {', '.join(parts)}" if parts else "no releases"


def _cut(text: str, most: int = _MOST_LETTERS) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
