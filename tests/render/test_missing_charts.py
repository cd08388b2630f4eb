"""A region that lacks a chart: what does not need it is rendered all the same, if that is asked for."""

from __future__ import annotations

import pytest

from controller.domain.releases.bundle import ChartRef
from controller.domain.values.chart_values import Values
from controller.errors import ChartInvalid, ChartNotFound
from controller.render.region import Region, render_region
from tests.render.region import UpstreamCharts, core_spec, deployment, library, render


class Lacking(UpstreamCharts):
    """Upstream's charts except one."""

    def __init__(self, name: str) -> None:
        self._name = name

    def defaults(self, chart: ChartRef) -> Values:
        if chart.name == self._name:
            raise ChartNotFound(f"no {chart.name}")
        return super().defaults(chart)


def rendered(lacking: str, *, partial: bool = True) -> Region:
    return render_region(deployment(core_spec()), library(), Lacking(lacking), partial=partial)


def test_the_other_services_are_as_they_would_be_with_all_charts() -> None:
    whole = {bundle.name: bundle.spec for bundle in render(core_spec()).bundles}
    region = rendered("glance")
    assert set(region.missing) == {"image"}
    assert {bundle.name: bundle.spec for bundle in region.bundles} == {
        name: spec for name, spec in whole.items() if name != "image"
    }


def test_what_needs_values_of_the_chart_that_is_missing_is_missing_too() -> None:
    """Rendered without them it would be another release than was asked for."""
    whole = {bundle.name: bundle.spec for bundle in render(core_spec()).bundles}
    region = rendered("rabbitmq")
    assert {"messaging", "identity", "compute"} <= set(region.missing)
    assert all(bundle.spec == whole[bundle.name] for bundle in region.bundles)
    assert {bundle.name for bundle in region.bundles} | set(region.missing) == set(whole)
    assert all("no rabbitmq" in str(error) for error in region.missing.values())


def test_a_whole_region_is_refused_for_a_missing_chart() -> None:
    with pytest.raises(ChartInvalid, match="no glance"):
        rendered("glance", partial=False)
