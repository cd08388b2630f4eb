"""No silent no-op: every key that our templates and values set is one that the chart reads.

Helm takes unknown keys silently. Each key of what we send must therefore be in the chart's
values.yaml, or lie below a path of values/charts/open-maps.yaml.
"""

from __future__ import annotations

from typing import Any

import pytest

from controller.domain.releases.bundle import ChartRef
from controller.domain.values.catalogue import OWN, UPSTREAM
from controller.domain.values.chart_values import Values, format_path
from controller.domain.values.names.unknown_keys import unknown_keys
from controller.errors import SpecInvalid
from tests.render.region import core_spec, embedded, library, render
from tests.render.specs import EMBEDDED, FEATURES, PAIRS, UPSTREAM_ONLY, brought

pytestmark = pytest.mark.slow


def check(spec: dict[str, Any]) -> None:
    region = render(spec)
    found = {
        release.spec.name: [
            format_path(path)
            for path, _ in unknown_keys(release.spec.values, release.merged.defaults, library().open_maps)
        ]
        for bundle in region.bundles
        for release in bundle.releases
    }
    assert {name: keys for name, keys in found.items() if keys} == {}


@pytest.mark.parametrize("version", ["2025.1", "2025.2", "2026.1"])
@pytest.mark.parametrize("size", ["single", "tiny", "small", "medium", "large"])
def test_every_key_sent_to_upstream_charts_is_in_their_values(version: str, size: str) -> None:
    every = [name for name, entry in library().catalogue.services.items() if entry.offered_by(UPSTREAM)]
    more = {"services": {"enabled": every}, "gateway": {"className": "envoy"}}
    spec = {"openstackVersion": version, "size": size, "preset": "compute-baremetal", "features": more}
    check(core_spec(**spec, **brought(*every)))


@pytest.mark.parametrize("size", ["single", "small", "large"])
def test_every_key_sent_to_our_own_charts_is_in_their_values(size: str) -> None:
    check(core_spec(size=size, charts={}))


@pytest.mark.parametrize("feature", FEATURES)
def test_every_key_that_a_feature_sets_is_in_upstream_values(feature: str) -> None:
    check(core_spec(**{"preset": "compute-baremetal", **FEATURES[feature]}))


@pytest.mark.parametrize("pair", PAIRS)
def test_every_key_that_features_set_together_is_in_upstream_values(pair: str) -> None:
    check(core_spec(**{"preset": "compute-baremetal", **PAIRS[pair]}))


@pytest.mark.parametrize("feature", EMBEDDED)
def test_every_key_that_a_feature_sets_is_in_our_own_charts(feature: str) -> None:
    check(core_spec(charts={}, **FEATURES[feature]))


@pytest.mark.parametrize("feature", sorted(UPSTREAM_ONLY))
def test_what_our_own_charts_cannot_serve_is_refused(feature: str) -> None:
    with pytest.raises(SpecInvalid):
        render(core_spec(charts={}, **FEATURES[feature]))


def test_every_image_tag_of_a_version_is_one_that_the_chart_knows() -> None:
    from tests.render.region import upstream_defaults

    entries = library().catalogue.services.values()
    own = {name for entry in entries for name, chart in entry.charts.items() if OWN in chart.sources}

    def defaults(chart: str) -> Values:
        return embedded().defaults(ChartRef(chart, path=chart)) if chart in own else upstream_defaults(chart)

    unknown = [
        f"{version}: {chart}.{tag}"
        for version, file in library().versions.items()
        for chart, values in file.charts.items()
        for tag in values.values.get("images", {}).get("tags", {})
        if tag not in defaults(chart)["images"]["tags"]
    ]
    assert unknown == []
