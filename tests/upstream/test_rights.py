"""What OpenStack-Helm's charts need, rendered now, is what was recorded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from controller.domain.validation.chart_rights import Rights
from tests.render.region import ROOT
from tests.upstream.regions import NAMESPACE, objects, region, releases, specs
from tools.upstream_rights import Facts, recorded_rights, rendered_rights, sets_of

CONTROLLER_CHART = ROOT / "charts" / "openstack-controller"


@pytest.mark.upstream
@pytest.mark.timeout(900)
def test_what_charts_need_is_as_recorded(charts: Path) -> None:
    assert _rules(rendered_rights(charts)) == _rules(recorded_rights()), "run `make rbac CHARTS=…`"


@pytest.mark.upstream
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", ["everything", "ovn-small"])
def test_the_previous_builds_need_no_more(previous: Path, name: str) -> None:
    held = Rights()
    for rights in sets_of(recorded_rights()).values():
        held |= rights
    chart = yaml.load((CONTROLLER_CHART / "values.yaml").read_text(encoding="utf-8"), yaml.CSafeLoader)
    plurals = {kind for one in chart["rbac"]["helm"]["resources"] for kind in one["resources"]}

    for release in releases(region(previous, specs()[name])):
        made = objects(release)
        assert Rights.of(made, NAMESPACE).beyond(held).as_data() == {}, release.spec.name
        kinds = {obj["kind"].lower() for obj in made if not obj["kind"].startswith("Cluster")}
        assert {kind for kind in kinds if not {f"{kind}s", f"{kind[:-1]}ies"} & plurals} == set()


def _rules(facts: Facts) -> dict[str, dict[str, Any]]:
    """As they are written: without a rule for one name where another gives the same for all."""
    return {
        chart: {flavour: rights.as_data() for flavour, rights in flavours.items()}
        for chart, flavours in facts.items()
    }
