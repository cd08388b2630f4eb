"""The releases of a region with their dependencies. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from controller.cli.views.release_rows import RowState, release_rows

# A release that another one depends on, and that no HelmBundle has.
MISSING = "missing"
UNHEALTHY = "unhealthy"
# The ways of a longest path that are followed; a chain of releases is much shorter.
_MOST_LEVELS = 200


@dataclass(frozen=True)
class GraphNode:
    """One release. `state`: that of RowState, `unhealthy` for an installed one with sick components, or
    `missing`. `level`: the longest chain of dependencies before it.
    """

    release: str
    service: str
    state: str
    message: str = ""
    ready: int = 0
    components: int = 0
    level: int = 0
    needs: tuple[str, ...] = ()


@dataclass(frozen=True)
class ReleaseGraph:
    """Each release once, in the order of its level and name."""

    nodes: tuple[GraphNode, ...]

    @property
    def edges(self) -> tuple[tuple[str, str], ...]:
        """Pairs of a dependency and the release that needs it."""
        return tuple((need, node.release) for node in self.nodes for need in node.needs)

    def direct_edges(self) -> tuple[tuple[str, str], ...]:
        """The edges without those that follow from others: a drawing has the same meaning without them."""
        needs = {node.release: node.needs for node in self.nodes}
        indirect = {
            name: frozenset().union(*(_below(other, needs) for other in direct if other != name))
            for name, direct in needs.items()
        }
        return tuple(
            (need, name)
            for need, name in self.edges
            if need not in indirect[name] or name in _below(need, needs)
        )


def release_graph(osdpl: Mapping[str, Any], bundles: Sequence[Mapping[str, Any]]) -> ReleaseGraph:
    """The graph of a region, from its status and its HelmBundles."""
    health = (osdpl.get("status") or {}).get("health") or {}
    needs = _dependencies(bundles)
    nodes = {}
    for row in release_rows(bundles):
        components = list((health.get(row.release) or {}).values())
        sick = [one for one in components if one.get("status") == "Unhealthy"]
        unhealthy = row.phase == RowState.INSTALLED and bool(sick)
        message = str(sick[0].get("message") or "") if unhealthy else row.message
        nodes[row.release] = GraphNode(
            release=row.release,
            service=row.service,
            state=UNHEALTHY if unhealthy else str(row.phase),
            message=message,
            ready=sum(one.get("status") == "Ready" for one in components),
            components=len(components),
            level=_level(row.release, needs),
            needs=needs.get(row.release, ()),
        )
    for name in sorted({need for found in needs.values() for need in found} - nodes.keys()):
        nodes[name] = GraphNode(name, "", MISSING, "no HelmBundle of the region has this release")
    return ReleaseGraph(tuple(sorted(nodes.values(), key=lambda one: (one.level, one.release))))


def graph_data(graph: ReleaseGraph) -> dict[str, Any]:
    """The graph for programs."""
    return {
        "releases": [
            {
                "name": node.release,
                "service": node.service,
                "state": node.state,
                "message": node.message,
                "health": {"ready": node.ready, "components": node.components},
                "dependsOn": list(node.needs),
            }
            for node in graph.nodes
        ]
    }


def _dependencies(bundles: Iterable[Mapping[str, Any]]) -> dict[str, tuple[str, ...]]:
    return {
        str(release["name"]): tuple(dict.fromkeys(map(str, release.get("dependsOn") or ())))
        for bundle in bundles
        for release in (bundle.get("spec") or {}).get("releases") or ()
    }


def _below(name: str, needs: Mapping[str, Sequence[str]]) -> frozenset[str]:
    """What a release needs, directly or through others."""
    found: set[str] = set()
    waiting = list(needs.get(name, ()))
    while waiting:
        one = waiting.pop()
        if one not in found:
            found.add(one)
            waiting += needs.get(one, ())
    return frozenset(found)


def _level(name: str, needs: Mapping[str, Sequence[str]], above: frozenset[str] = frozenset()) -> int:
    """The longest chain of dependencies before a release; a circle ends the count."""
    if len(above) > _MOST_LEVELS:
        return 0
    below = [other for other in needs.get(name, ()) if other not in above and other != name]
    return 1 + max((_level(other, needs, above | {name}) for other in below), default=-1)
