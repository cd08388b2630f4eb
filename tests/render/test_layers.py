"""The order of merging: each layer wins over all that lie below it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from controller.adapters.system.values_files import load_library
from controller.cli.views.explain import explain_path, explain_set
from controller.domain.releases.bundle import ChartRef
from controller.domain.values.chart_values import Values
from controller.domain.values.layer_order import LayerKind
from controller.domain.values.values_diff import ABSENT
from controller.errors import SpecInvalid
from controller.render.region import Region, render_region
from tests.render.region import ROOT, core_spec, deployment, render

LEAF = ("conf", "keystone", "DEFAULT", "leaf")
NAMES = {
    LayerKind.VERSION: "version 2025.2",
    LayerKind.PRESET: "preset core",
    LayerKind.SIZE: "size single",
    LayerKind.SERVICE: "service identity",
    LayerKind.GROUP: "common.openstack",
    LayerKind.GROUP_RELEASE: "common.openstack.releases",
}
# Lowest first: those that may set any value.
LAYERS = tuple(
    NAMES.get(kind, str(kind)) for kind in LayerKind if kind not in (LayerKind.IMAGES, LayerKind.NODES)
)


def setting(layer: str) -> dict[str, Any]:
    return {"conf": {"keystone": {"DEFAULT": {"leaf": layer}}}}


class OneChart:
    """A chart that sets the leaf, or does not."""

    def __init__(self, layers: frozenset[str]) -> None:
        self._values = setting("chart defaults") if "chart defaults" in layers else {}

    def build(self, chart: ChartRef) -> str:
        return ""

    def defaults(self, chart: ChartRef) -> Values:
        return self._values


def values_directory(root: Path, layers: frozenset[str]) -> Path:
    """A values/ of one service whose files set the leaf where their layer is among `layers`."""

    def text(layer: str, indent: int, empty: str = "{}") -> str:
        lines = ["conf:", "  keystone:", "    DEFAULT:", f"      leaf: {layer}"]
        return "\n".join(" " * indent + line for line in lines) if layer in layers else " " * indent + empty

    files = {
        "service.schema.yaml": (ROOT / "values" / "service.schema.yaml").read_text(),
        "services/identity/service.yaml": "description: Keystone\ngroup: openstack\n"
        "charts: {keystone: {sources: [embedded], optionFiles: [keystone]}}\n",
        "relations.schema.yaml": "{}",
        "relations.yaml": json.dumps(
            {key: [] for key in ("atLeast", "odd", "keysOutlive", "connections", "listed", "switchedOff")}
        ),
        "stores.schema.yaml": "{}",
        "stores.yaml": "{kinds: []}",
        "properties.schema.yaml": "{}",
        "properties.yaml": "{properties: []}",
        "charts/open-maps.yaml": "{}",
        "charts/option-names.json": '{"pins": {}, "options": {}, "rules": {}, "kinds": {}, "secrets": {}}',
        **dict.fromkeys(("charts/pinned.yaml", "charts/previous.yaml"), "{commit: a, date: b, charts: {}}"),
        "every-release.yaml.j2": text("every release", 0),
        "internal-tls.yaml.j2": text("internal TLS", 0),
        "versions/2025.2.yaml": "description: OpenStack\n",
        "services/identity/versions.yaml": '"2025.2":\n  keystone:\n' + text("version 2025.2", 4),
        "presets/core.yaml": "services: [identity]\ncharts:\n  keystone:\n" + text("preset core", 4),
        "sizes/single.yaml": "description: One node\n",
        "services/identity/sizes.yaml": "single:\n  keystone:\n" + text("size single", 4),
        "services/identity/releases.yaml.j2": "releases:\n  keystone:\n    chart: keystone\n    values:\n"
        + text("service identity", 6),
    }
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content + "\n", encoding="utf-8")
    return root


def rendered(root: Path, layers: frozenset[str], **spec: Any) -> Region:
    def values(layer: str) -> dict[str, Any]:
        return {"values": setting(layer)} if layer in layers else {}

    common = {
        "charts": values("common.charts"),
        "openstack": {
            **values("common.openstack"),
            "releases": {"keystone": values("common.openstack.releases")},
        },
    }
    whole = {
        "openstackVersion": "2025.2",
        "preset": "core",
        "size": "single",
        "publicDomainName": "it.just.works",
        "common": common,
        "services": {"identity": {"keystone": values("services")}},
        **spec,
    }
    library = load_library(values_directory(root, layers))
    return render_region(deployment(whole), library, OneChart(layers))


@pytest.mark.parametrize("top", range(len(LAYERS)))
def test_each_layer_wins_over_all_below_it(top: int, tmp_path: Path) -> None:
    below = LAYERS[: top + 1]
    release = rendered(tmp_path, frozenset(below)).release("keystone")
    assert release is not None
    assert release.merged.values == setting(LAYERS[top])
    assert release.merged.history.origin(LEAF) == LAYERS[top]
    assert [said.layer for said in release.merged.history.chain(LEAF)] == list(below[1:])


@pytest.mark.slow
def test_images_and_nodes_have_their_place_among_the_others() -> None:
    own = {"images": {"tags": {"nova_api": "own/nova:1"}}, "conf": {"nova": {"DEFAULT": {"debug": True}}}}
    gpu = {"compute": {"values": {"conf": {"nova": {"DEFAULT": {"debug": False}}}}}}
    release = render(
        core_spec(
            images={"registry": "mirror.example.org"},
            services={"compute": {"nova": {"values": own}}},
            nodes={"role::gpu": {"services": {"compute": {"nova": gpu}}}},
        )
    ).release("nova")
    assert release is not None
    image = [said.layer for said in release.merged.history.chain(("images", "tags", "nova_api"))]
    assert image == ["version 2025.2", "images", "services"]
    layers = {said.layer for chain in release.merged.history.settings.values() for said in chain}
    assert layers >= {"images", "nodes"}
    order = list(LayerKind)
    for chain in release.merged.history.settings.values():
        places = [order.index(kind_of(said.layer)) for said in chain]
        assert places == sorted(places)


def kind_of(layer: str) -> LayerKind:
    groups = {kind.of(group): kind for kind in LayerKind for group in ("openstack", "infra")}
    return groups.get(layer) or next(kind for kind in LayerKind if f"{layer} ".startswith(f"{kind} "))


def test_a_layer_in_the_middle_wins_when_those_above_say_nothing(tmp_path: Path) -> None:
    layers = frozenset({"chart defaults", "version 2025.2", "common.charts"})
    release = rendered(tmp_path, layers).release("keystone")
    assert release is not None
    assert release.merged.history.origin(LEAF) == "common.charts"


def test_the_chain_of_a_leaf_names_files_and_lines(tmp_path: Path) -> None:
    release = rendered(tmp_path, frozenset(LAYERS)).release("keystone")
    assert release is not None
    places = {said.layer: said.place for said in release.merged.history.chain(LEAF)}
    assert places["size single"] == "values/services/identity/sizes.yaml:6"
    assert places["service identity"] == "values/services/identity/releases.yaml.j2:8"
    assert (
        release.merged.history.chain(LEAF)[-1].path
        == "spec.services.identity.keystone.values.conf.keystone.DEFAULT.leaf"
    )


def test_what_a_replaced_map_had_is_reported_once_with_the_layer_that_replaced_it(tmp_path: Path) -> None:
    conf = {"conf": {"$patch": "replace", "other": 1}}
    services: Mapping[str, Any] = {"identity": {"keystone": {"values": conf}}}
    release = rendered(tmp_path, frozenset(LAYERS[:-1]), services=services).release("keystone")
    assert release is not None
    reported = {one.path: (one.winner, one.value) for one in explain_set(release)}
    assert reported == {("conf", "keystone"): ("services", ABSENT), ("conf", "other"): ("services", 1)}
    [leaf] = explain_path(release, LEAF)
    assert (leaf.winner, leaf.value) == ("services", ABSENT)


def test_nothing_but_values_can_be_set_for_a_release(tmp_path: Path) -> None:
    services: Mapping[str, Any] = {"identity": {"keystone": {"name": "other"}}}
    with pytest.raises(SpecInvalid):
        rendered(tmp_path, frozenset(LAYERS), services=services)
