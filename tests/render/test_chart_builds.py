"""Charts of other builds than the pinned ones: what is said, left out and refused."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from controller.domain.releases.bundle import ChartRef
from controller.domain.values.chart_values import Values
from controller.errors import SpecInvalid
from controller.render.region import Region, render_region
from tests.render.region import UpstreamCharts, core_spec, deployment, library

VOLUMES = {
    "services": {"enabled": ["block-storage"]},
    "blockStorage": {"backends": [{"name": "fast", "type": "ceph"}]},
}


class OtherBuild(UpstreamCharts):
    """Upstream's charts, one of them of another build: `edited` is what its values.yaml has."""

    def __init__(self, chart: str, edited: Any, *, previous: bool = False) -> None:
        self._chart, self._edited, self._previous = chart, edited, previous

    def build(self, chart: ChartRef) -> str:
        if chart.name != self._chart:
            return super().build(chart)
        return library().builds.previous.charts[chart.name].digest if self._previous else "sha256:other"

    def defaults(self, chart: ChartRef) -> Values:
        values: dict[str, Any] = copy.deepcopy(dict(super().defaults(chart)))
        if chart.name == self._chart:
            self._edited(values)
        return values


def rendered(charts: UpstreamCharts, **spec: Any) -> Region:
    return render_region(deployment(core_spec(**spec)), library(), charts)


def of_builds(region: Region) -> list[str]:
    return [str(warning) for warning in region.warnings if "build" in str(warning)]


def nothing(values: dict[str, Any]) -> None:
    pass


def test_the_pinned_builds_are_used_without_a_word() -> None:
    assert of_builds(rendered(UpstreamCharts())) == []


@pytest.mark.slow
def test_an_untested_build_is_named_with_the_tested_ones() -> None:
    [warning] = of_builds(rendered(OtherBuild("nova", nothing)))

    assert warning.startswith("spec.charts.repository: untested builds of charts: nova; ")
    assert str(library().builds.pinned) in warning and str(library().builds.previous) in warning


@pytest.mark.slow
def test_the_previous_builds_are_tested_too() -> None:
    assert of_builds(rendered(OtherBuild("nova", nothing, previous=True))) == []


@pytest.mark.parametrize("previous", [False, True])
def test_keys_that_a_build_does_not_have_are_left_out_by_name(previous: bool) -> None:
    region = rendered(OtherBuild("nova", lambda values: values.pop("console"), previous=previous))

    [warning] = [text for text in of_builds(region) if "omitted" in text]
    which = "the previous build" if previous else "an unknown build"
    assert f"{which} of chart nova does not have console, so it is omitted" in warning
    release = region.release("nova")
    assert release is not None and "console" not in release.spec.values


@pytest.mark.slow
@pytest.mark.parametrize("previous", [False, True])
def test_figures_of_a_container_that_a_build_does_not_have_are_no_loss_in_a_build_that_is_tested(
    previous: bool,
) -> None:
    charts = OtherBuild(
        "mariadb", lambda values: values["pod"]["resources"].pop("controller"), previous=previous
    )
    told = [text for text in of_builds(rendered(charts)) if "pod.resources.controller" in text]

    assert bool(told) == (not previous)


@pytest.mark.slow
def test_an_object_that_a_build_cannot_make_is_refused_by_name() -> None:
    charts = OtherBuild("cinder", lambda values: values["manifests"].pop("job_storage_init"))

    with pytest.raises(SpecInvalid, match=r"chart cinder does not have manifests\.job_storage_init, which"):
        rendered(charts, features=VOLUMES)


def test_every_database_that_a_build_knows_gets_its_passwords() -> None:
    def with_another(values: dict[str, Any]) -> None:
        values["endpoints"]["oslo_db_api"] = copy.deepcopy(values["endpoints"]["oslo_db"])

    release = rendered(OtherBuild("nova", with_another)).release("nova")

    assert release is not None
    endpoints = release.spec.values["endpoints"]
    assert endpoints["oslo_db_api"]["auth"] == endpoints["oslo_db"]["auth"]


@pytest.mark.slow
def test_routes_are_listed_where_a_build_wants_a_list() -> None:
    features = {"services": {"enabled": ["gateway"]}, "gateway": {"className": "envoy"}}
    charts = OtherBuild("keystone", lambda values: values.update(extraObjects=[]))
    release = rendered(charts, features=features).release("keystone")
    plain = rendered(UpstreamCharts(), features=features).release("keystone")

    assert release is not None and plain is not None
    assert release.spec.values["extraObjects"] == list(plain.spec.values["extraObjects"].values())


def compute_of_a_build_with_lists(**compute: Any) -> Region:
    charts = OtherBuild("nova", lambda values: values.update(extraObjects=[]))
    return rendered(charts, features={"compute": compute})


def test_hypervisors_do_not_encrypt_with_a_build_that_cannot_serve_their_consoles() -> None:
    region = compute_of_a_build_with_lists()
    libvirt, nova = region.release("libvirt"), region.release("nova")

    assert libvirt is not None and "listen_tls" not in libvirt.spec.values["conf"].get("libvirt", {})
    assert nova is not None and "extraObjects" not in nova.spec.values
    assert [text for text in of_builds(region) if "migrations and consoles are not encrypted" in text]


def test_encrypted_hypervisors_are_refused_with_a_build_that_cannot_serve_their_consoles() -> None:
    with pytest.raises(SpecInvalid, match=r"libvirtTLS\.enabled.*this build of the nova chart has no place"):
        compute_of_a_build_with_lists(libvirtTLS={"enabled": True})


@pytest.mark.slow
def test_volumes_are_served_by_a_deployment_where_a_build_has_nothing_else() -> None:
    charts = OtherBuild("cinder", lambda values: values["manifests"].pop("statefulset_volume"))
    release = rendered(charts, features=VOLUMES).release("cinder")

    assert release is not None
    assert release.spec.values["manifests"]["deployment_volume"] is True
    assert "statefulset_volume" not in release.spec.values["manifests"]
    assert "host" not in release.spec.values["conf"]["cinder"]["DEFAULT"]
