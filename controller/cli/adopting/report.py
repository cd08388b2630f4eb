"""What osctl adopt says: the fitted region, and of each release what stays different. No secret is in it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from controller.cli.adopting.leftovers import Leftovers
from controller.cli.adopting.objects import ComparedObjects
from controller.cli.adopting.running import RunningRelease, RunningReleases
from controller.cli.output import Cell, Row
from controller.domain.adoption.search import Found
from controller.domain.api.names import HAND_OVER_ANNOTATION
from controller.domain.shared.plurals import count

_FITTED = ("openstackVersion", "preset", "size")
_MOST_SHOWN = 6


@dataclass(frozen=True)
class Report:
    """All that is known once the region is fitted. `fitted` is the search's result."""

    namespace: str
    running: RunningReleases
    fitted: Found
    leftovers: Leftovers
    objects: Sequence[ComparedObjects]

    def rows(self) -> Iterator[Row]:
        """One line for each release."""
        compared = {one.release: one for one in self.objects}
        for name, one in self.running.releases.items():
            found = compared.get(name)
            if found is None:
                yield name, _chart(one), "-", Cell("not in the region", "red"), "-"
                continue
            differs, restarts = _words(found)
            yield name, _chart(one), str(self.leftovers.counts.get(name, 0)), differs, restarts

    @property
    def new(self) -> list[str]:
        """Releases of the region that do not run yet."""
        bundles = self.leftovers.region.region.bundles
        names = [release.spec.name for bundle in bundles for release in bundle.releases]
        return [name for name in names if name not in self.running.releases]

    def sentences(self) -> Iterator[tuple[str, str]]:
        """Titles with what the search found, and what is left open."""
        spec, found = self.fitted.spec, self.fitted
        yield "region", ", ".join(str(spec[name]) for name in _FITTED)
        began = "no spec without fields" if found.start is None else f"{found.start} values"
        left = f"{began} differed at first, {found.difference} in the best"
        yield "search", f"{count(found.tried, 'region')} tried: {left}"
        for step in found.steps:
            if step.name not in _FITTED:
                yield "", f"{step.name}: {_short(step.value)}"
        for one in self.leftovers.kept:
            yield "differs", f"{one.release} {one.path}: {one.why}"
        for name in self.new:
            yield "new", f"{name} does not run yet, and would be installed"
        for name, why in self.running.left_out.items():
            yield "left out", f"{name}: {why}"
        if self.running.completed:
            names = ", ".join(self.running.completed)
            yield "completed", f"overrides only, laid over the defaults of the chart: {names}"

    def data(self) -> dict[str, Any]:
        """The same for programs."""
        compared = {one.release: one for one in self.objects}
        kept: dict[str, list[dict[str, str]]] = {}
        for one in self.leftovers.kept:
            kept.setdefault(one.release, []).append({"path": one.path, "why": one.why})
        releases = []
        for name, running in self.running.releases.items():
            found = compared.get(name)
            entry: dict[str, Any] = {"name": name, "chart": _chart(running), "revision": running.revision}
            entry |= {"values": self.leftovers.counts.get(name, 0), "covered": found is not None}
            entry |= {"differs": kept[name]} if name in kept else {}
            releases.append(entry | (_object_data(found) if found else {}))
        return {
            "namespace": self.namespace,
            "fitted": {key: self.fitted.spec.get(key) for key in _FITTED},
            "search": {
                "tried": self.fitted.tried,
                "differing": self.fitted.difference,
                "atFirst": self.fitted.start,
                "steps": [{"field": one.name, "value": one.value} for one in self.fitted.steps],
            },
            "releases": releases,
            "new": self.new,
            "completed": list(self.running.completed),
            "leftOut": [{"name": name, "why": why} for name, why in self.running.left_out.items()],
        }

    def hand_over(self) -> Iterator[str]:
        """The command for each release that hands it over."""
        for name, one in self.running.releases.items():
            if one.revision:
                secret = f"secret/sh.helm.release.v1.{name}.v{one.revision}"
                heir = f"{HAND_OVER_ANNOTATION}={self.namespace}/{name}"
                yield f"kubectl -n {self.namespace} annotate {secret} {heir}"


def _words(found: ComparedObjects) -> tuple[Cell, Cell]:
    if found.problem:
        return Cell(found.problem, "red"), Cell("unknown", "yellow")
    if found.difference is None:
        return Cell("unknown", "yellow"), Cell("unknown", "yellow")
    if found.equal:
        return Cell("none", "green"), Cell("none", "green")
    one = found.difference
    parts = [f"{len(one.changed)} changed", f"{len(one.created)} created", f"{len(one.deleted)} deleted"]
    text = ", ".join(part for part in parts if not part.startswith("0 ")) or "hooks"
    restarts = _several(one.restarts)
    return Cell(text, "yellow"), Cell(restarts or "none", "red" if restarts else "green")


def _object_data(found: ComparedObjects) -> dict[str, Any]:
    one = found.difference
    if one is None:
        return {"problem": found.problem} if found.problem else {}
    return {
        "equal": found.equal,
        "created": list(one.created),
        "changed": list(one.changed),
        "deleted": list(one.deleted),
        "restarts": list(one.restarts),
        "refused": list(one.refused),
    }


def _several(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_SHOWN} more" if len(names) > _MOST_SHOWN else ""
    return ", ".join(names[:_MOST_SHOWN]) + more


def _chart(one: RunningRelease) -> str:
    return f"{one.chart} {one.chart_version}".strip()


def _short(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
