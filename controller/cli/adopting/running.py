"""The releases that run: from Helm's records in a namespace, or from files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import typer

from controller.adapters.helm.manifests import parse_document
from controller.adapters.helm.records.release_records import SecretRecords
from controller.domain.values.chart_values import Values, coalesced
from controller.errors import ChartInvalid
from controller.ports.helm import RenderedRelease, Revision
from controller.ports.kubernetes import Kube


@dataclass(frozen=True)
class RunningRelease:
    """One release as another Helm has made it. `values` are all of them, with the chart's own; they hold
    secrets. `manifest` is what it has put into the cluster, None where only the values are known."""

    name: str
    chart: str
    chart_version: str
    revision: int
    values: Values = field(repr=False)
    manifest: RenderedRelease | None = field(default=None, repr=False)


@dataclass(frozen=True)
class RunningReleases:
    """Those that may become a region's, and why others may not, by name. `completed`: those whose files have
    overrides only, which lie over the defaults of their charts."""

    releases: Mapping[str, RunningRelease]
    left_out: Mapping[str, str] = field(default_factory=dict)
    completed: tuple[str, ...] = ()

    @property
    def values(self) -> dict[str, Values]:
        """By release."""
        return {name: one.values for name, one in self.releases.items()}


def of_cluster(kube: Kube, namespace: str, charts: Iterable[str]) -> RunningReleases:
    """Of a namespace: those that have the names of these `charts`. Raises KubeError and HelmFailed."""
    records, known = SecretRecords(kube), set(charts)
    found: dict[str, RunningRelease] = {}
    left_out: dict[str, str] = {}
    for name, history in sorted(records.observe(namespace).items()):
        newest = _newest(history)
        chart, version = records.chart(name, namespace, newest.version)
        left_out[name] = _why_not(name, chart, known, newest)
        if left_out[name]:
            continue
        del left_out[name]
        values = records.effective_values(name, namespace, newest.version)
        manifest = records.manifest(name, namespace, newest.version)
        found[name] = RunningRelease(name, chart, version, newest.version, values, manifest)
    return RunningReleases(found, left_out)


def of_files(given: Sequence[str], charts: Iterable[str]) -> RunningReleases:
    """Of `RELEASE=FILE` each, and of directories with `RELEASE.yaml`: what `helm get values --all` prints."""
    known, found = set(charts), dict[str, RunningRelease]()
    left_out: dict[str, str] = {}
    for name, path in _files(given):
        if name not in known:
            left_out[name] = "no chart of the catalogue has this name"
        else:
            found[name] = RunningRelease(name, name, "", 0, read_values(path))
    return RunningReleases(found, left_out)


def completed(found: RunningReleases, defaults_of: Callable[[str], Values]) -> RunningReleases:
    """With the defaults of its chart below each release whose file has overrides only.

    Helm prints a release whole with --all only. Without it, each default would count as deleted.
    """
    whole, partial = dict(found.releases), []
    for name, one in found.releases.items():
        defaults = defaults_of(one.chart)
        if 2 * len(defaults.keys() & one.values.keys()) < len(defaults):
            whole[name] = replace(one, values=coalesced(defaults, one.values))
            partial.append(name)
    return replace(found, releases=whole, completed=tuple(partial))


def read_values(path: Path) -> dict[str, Any]:
    """The values in a file. Raises BadParameter; its text quotes nothing of the file."""
    try:
        document = parse_document(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, ChartInvalid):
        raise typer.BadParameter(f"{path} cannot be read as YAML", param_hint="--values") from None
    return document if isinstance(document, dict) else {}


def _files(given: Sequence[str]) -> Iterable[tuple[str, Path]]:
    for one in given:
        name, equals, file = one.partition("=")
        if equals:
            yield name, Path(file)
        elif Path(one).is_dir():
            yield from ((path.stem, path) for path in sorted(Path(one).glob("*.yaml")))
        else:
            raise typer.BadParameter(f"{one} is neither RELEASE=FILE nor a directory", param_hint="--values")


def _newest(history: Sequence[Revision]) -> Revision:
    """The revision that runs: the newest deployed one, or else the newest."""
    return [one for one in history if one.status == "deployed"][-1:][0] if _runs(history) else history[-1]


def _runs(history: Sequence[Revision]) -> bool:
    return any(one.status == "deployed" for one in history)


def _why_not(name: str, chart: str, known: set[str], newest: Revision) -> str:
    """Why the release cannot become one of a region; empty if it can."""
    if newest.bundle:
        return f"HelmBundle {newest.bundle} has it"
    if chart not in known:
        return f"the catalogue has no chart {chart}"
    if name != chart:
        return f"a region calls a release of chart {chart} {chart}"
    if newest.status != "deployed":
        return f"revision {newest.version} is {newest.status}, and none is deployed"
    return ""
