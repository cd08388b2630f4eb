"""The page of a region, from the status of the region and its objects alone. Pure."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from controller.cli.views.pages.graph_layout import Drawing, drawing
from controller.cli.views.pages.marks import level_of, mark_of
from controller.cli.views.pages.release_graph import ReleaseGraph, release_graph
from controller.cli.views.pages.report_lines import Moment, Parts, Tile
from controller.cli.views.pages.report_parts import Objects, parts_of
from controller.cli.views.pages.templates import filled, sheet
from controller.cli.views.readiness import RegionOutcome
from controller.cli.views.status import RegionView, region_view
from controller.domain.api.conditions import timestamp

_SHEETS = ("colours.css", "report.css", "graph.css")
_MARKS = {"good": "✓", "busy": "…", "warn": "▲", "bad": "!", "idle": "·"}
# The head of the page: level and text of each outcome.
_OUTCOMES = {
    RegionOutcome.READY: ("good", "Ready"),
    RegionOutcome.PENDING: ("warn", "Not ready"),
    RegionOutcome.NEEDS_EDIT: ("bad", "Not ready before a person acts"),
    RegionOutcome.GONE: ("bad", "Gone"),
}


@dataclass(frozen=True)
class Report:
    """All that the page shows. `taken` is when its objects were read."""

    view: RegionView
    parts: Parts
    graph: ReleaseGraph
    controller: str
    osctl: str
    taken: str


def report_of(
    osdpl: Mapping[str, Any],
    bundles: Objects,
    maintenances: Objects | None,
    *,
    now: float,
    osctl: str,
    unread: str = "",
) -> Report:
    """The report at `now` (seconds since the epoch)."""
    return Report(
        view=region_view(osdpl, bundles, now),
        parts=parts_of(osdpl, bundles, maintenances, now, unread),
        graph=release_graph(osdpl, bundles),
        controller=str((osdpl.get("status") or {}).get("version") or "unknown"),
        osctl=osctl,
        taken=timestamp(now),
    )


def html_text(report: Report) -> str:
    """One HTML file: no script, nothing from another place, and a policy that allows neither."""
    level, words = _OUTCOMES[report.view.outcome]
    return filled(
        "report.html.j2",
        report=report,
        view=report.view,
        parts=report.parts,
        drawing=_drawn(report.graph),
        name=report.view.name,
        level=level,
        words=words,
        tiles=tuple(tiles(report)),
        marks=_MARKS,
        level_of=level_of,
        mark_of=mark_of,
        alone=False,
        sheet_digest=_digest(sheet_text()),
    )


def sheet_text() -> str:
    """The content of the page's only style element."""
    return "\n".join(sheet(name) for name in _SHEETS)


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _drawn(graph: ReleaseGraph) -> Drawing | None:
    return drawing(graph) if graph.nodes else None


def tiles(report: Report) -> Iterator[Tile]:
    """The figures at the head of the page."""
    nodes = report.graph.nodes
    installed = sum(one.state in ("installed", "unhealthy") for one in nodes)
    failed = [one.release for one in nodes if one.state in ("failed", "missing")]
    level = "bad" if failed else "good" if installed == len(nodes) else "busy"
    yield Tile("Releases", f"{installed}/{len(nodes)}", _named(failed, "failed"), level, "releases")
    yield _components(report.parts)
    if report.parts.nodes:
        yield _nodes(report.parts)
    yield from _secrets(report.parts)
    if report.view.upgrade and report.parts.upgrade:
        done = sum(step.state == "Done" for step in report.parts.upgrade.steps)
        figure = f"{done}/{len(report.parts.upgrade.steps)}"
        yield Tile("Upgrade", figure, "steps done", "busy", "upgrade")
    if report.parts.backup:
        bad = [one for one in report.parts.backup if one.level == "bad"]
        shown = (bad or report.parts.backup)[0]
        text = f"{shown.title}: {shown.text}"
        figure = "in trouble" if bad else "in order"
        yield Tile("Backups", figure, text if len(text) < 60 else f"{text[:58]}…", shown.level, "backups")


def _components(parts: Parts) -> Tile:
    components = [one for application in parts.applications for one in application.components]
    ready = sum(one.status == "Ready" for one in components)
    sick = [one.name for one in components if one.status == "Unhealthy"]
    level = "bad" if sick else "good" if ready == len(components) else "busy"
    figure = f"{ready}/{len(components)}" if components else "unknown"
    return Tile(
        "Components ready", figure, _named(sick, "unhealthy"), level if components else "idle", "health"
    )


def _nodes(parts: Parts) -> Tile:
    ready = sum(one.state == "Ready" for one in parts.nodes)
    lost = [one.name for one in parts.nodes if one.state == "NotReady"]
    busy = [one.name for one in parts.nodes if one.maintenance]
    text = _named(lost, "not ready") or (f"{len(busy)} in maintenance" if busy else "")
    level = "bad" if lost else "good" if ready == len(parts.nodes) else "warn"
    return Tile("Nodes ready", f"{ready}/{len(parts.nodes)}", text, level, "nodes")


def _secrets(parts: Parts) -> Iterator[Tile]:
    if parts.certificates:
        first = parts.certificates[0]
        yield Tile("Next certificate ends", _left(first.ends), first.name, first.level, "certificates")
    if parts.credentials:
        oldest = parts.credentials[0]
        busy = [one for one in parts.credentials if one.level != "good"]
        text, level = (f"{busy[0].name}: {busy[0].state}", busy[0].level) if busy else (oldest.name, "good")
        figure = oldest.changed.distance.removesuffix(" ago") or "unknown"
        yield Tile("Oldest credential", figure, text, level, "credentials")


def _left(end: Moment) -> str:
    return f"ended {end.distance}" if end.distance.endswith(" ago") else end.distance


def _named(names: list[str], word: str) -> str:
    if not names:
        return ""
    shown = ", ".join(names[:3])
    return f"{word}: {shown}" + (f" and {len(names) - 3} more" if len(names) > 3 else "")
