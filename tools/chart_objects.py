"""What the shipped charts make in a region's namespace, and what their roles grant.

`make rbac` writes the union of what the roles grant, and
the sets of rights for OpenStack-Helm's charts, into the controller's chart; tests compare the two. With a
directory of OpenStack-Helm's charts (make rbac CHARTS=…) it records first what these need.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from controller.adapters.system.crd_files import load_schema
from controller.adapters.system.values_files import load_library
from controller.domain.region.deployment import parse_deployment
from controller.domain.validation.rbac_union import granted, union
from controller.domain.values.option_files import NO_OPTION_FILES
from controller.domain.values.secret_refs import resolve
from controller.render.region import Region, render_region
from tests.helm_program import Chart
from tests.render.region import embedded
from tests.render.specs import FEATURES
from tools.upstream_rights import (
    RIGHTS,
    record,
    recorded_rights,
    rendered_rights,
    rights_file,
    sets_of,
)

ROOT = Path(__file__).parents[1]
CHARTS = ROOT / "charts"
CONTROLLER_CHART = CHARTS / "openstack-controller"
NAMESPACE = "openstack"
# Of regions with OpenStack-Helm's charts alone, and complete by their own values.
_BESIDE_UPSTREAM = ("octavia-network",)
_BEGIN = "    # Written by `make rbac`; do not edit.\n"
_END = "  # The same for the charts of OpenStack-Helm"


def service_charts() -> list[str]:
    """Names of the charts that a region is made of."""
    charts = (path.parent for path in CHARTS.glob("*/Chart.yaml"))
    return sorted(
        path.name
        for path in charts
        if path != CONTROLLER_CHART
        and yaml.load((path / "Chart.yaml").read_text(), yaml.CSafeLoader).get("type") != "library"
    )


@cache
def objects(chart: str) -> tuple[Mapping[str, Any], ...]:
    """Everything that a shipped chart can make, hooks included: as in a region, and with all switched on."""
    rendered = Chart.load(CHARTS / chart)
    defaults = yaml.load(
        (CHARTS / chart / "values.yaml").read_text(encoding="utf-8"), Loader=yaml.CSafeLoader
    )
    single, large = (_release_values(chart, size) for size in ("single", "large"))
    switches = dict.fromkeys(defaults.get("manifests", {}), True)
    all_on = {**large, "manifests": switches} if switches else large
    found = []
    for values in (single, large, all_on):
        for text in rendered.render(values, name=chart, namespace=NAMESPACE).values():
            found += [obj for obj in yaml.load_all(text, Loader=yaml.CSafeLoader) if obj]
    return tuple(found)


def _release_values(chart: str, size: str) -> dict[str, Any]:
    """Values of a release of the chart in a region of this size, with made-up secrets."""
    regions = (_region(size), _region(size, "external-servers"))
    releases = (one for region in regions for bundle in region.bundles for one in bundle.releases)
    found = next((one for one in releases if one.spec.chart.name == chart), None)
    if chart in _BESIDE_UPSTREAM:
        return {}
    assert found is not None, f"no region has a release of chart {chart}"
    return dict(resolve(found.spec.values, lambda _name, key: f"made-up-{key}", NO_OPTION_FILES).values)


@cache
def _region(size: str, feature: str = "") -> Region:
    schema = load_schema(CONTROLLER_CHART / "files" / "crds", "openstackdeployments")
    osdpl = {
        "apiVersion": schema.api_version,
        "kind": schema.kind,
        "metadata": {"name": "region-one", "namespace": NAMESPACE},
        "spec": {
            "openstackVersion": "2026.1",
            "preset": "core",
            "size": size,
            "publicDomainName": "it.just.works",
            "features": {
                "services": {"enabled": ["gateway"]},
                "gateway": {"className": "some-class"},
                "tls": {"public": {"enabled": True, "issuer": "some-issuer"}},
                **FEATURES.get(feature, {}).get("features", {}),
            },
        },
    }
    library = load_library(ROOT / "values")
    return render_region(parse_deployment(osdpl, schema), library, embedded())


def chart_rules() -> list[dict[str, Any]]:
    """The union of what the roles of all shipped charts grant."""
    return union(granted(obj for chart in service_charts() for obj in objects(chart)))


def main() -> None:
    """Writes both into the chart: the union into values.yaml, between two marks."""
    if charts := " ".join(sys.argv[1:]):
        record(rendered_rights(Path(charts).resolve()))
    RIGHTS.write_text(rights_file(sets_of(recorded_rights())), encoding="utf-8")
    path = CONTROLLER_CHART / "values.yaml"
    text = path.read_text(encoding="utf-8")
    head, rest = text.split(_BEGIN)
    tail = rest[rest.index(_END) :]
    rules = "".join(f"      - {json.dumps(rule)}\n" for rule in chart_rules())
    path.write_text(f"{head}{_BEGIN}    rules:\n{rules}{tail}", encoding="utf-8")


if __name__ == "__main__":
    main()
