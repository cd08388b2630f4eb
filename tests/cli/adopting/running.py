"""Releases as another Helm makes them: values of someone's own, and what their charts render to."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from controller.adapters.helm.manifests import parse_document
from controller.cli.adopting.fitting import Fitting, RegionName
from controller.cli.adopting.leftovers import Leftovers, LeftoverSearch
from controller.cli.adopting.objects import ComparedObjects, ObjectComparison
from controller.cli.adopting.running import RunningRelease, RunningReleases
from controller.cli.offline.manifests import offline_helm
from controller.cli.offline.region import offline_renderer
from controller.domain.adoption.search import Found
from controller.domain.values.chart_values import coalesced
from controller.ports.helm import HelmRequest

NAMESPACE = "openstack"


def running(given: Mapping[str, Mapping[str, Any]], charts: Path, path_of: Any = None) -> RunningReleases:
    """The releases of these charts, with these values over the charts' own."""
    helm = offline_helm()
    found = {}
    for name, values in given.items():
        defaults = parse_document((charts / name / "values.yaml").read_text(encoding="utf-8"))
        path = path_of(name) if path_of else str(charts / name)
        made = helm.render(HelmRequest(name, NAMESPACE, path, values))
        found[name] = RunningRelease(name, name, "", 1, coalesced(defaults, values), made)
    return RunningReleases(found)


def adopted(
    releases: RunningReleases, charts: Mapping[str, Any]
) -> tuple[Found, Leftovers, dict[str, ComparedObjects]]:
    """What `osctl adopt` finds for them."""
    renderer = offline_renderer()
    fitting = Fitting(renderer, RegionName("region-one", NAMESPACE), releases, charts)
    found = fitting.find()
    leftovers = LeftoverSearch(fitting, found.spec).find()
    comparison = ObjectComparison(leftovers, renderer.charts, offline_helm(), renderer.library.names.files)
    return found, leftovers, {one.release: one for one in comparison.all(releases.releases.values())}
