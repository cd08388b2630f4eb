"""Names of options and rules that no package has are reported; those of our own values are known."""

from __future__ import annotations

import json
from typing import Any

import pytest

from controller.domain.values.layer import Layer
from controller.domain.values.names.misspelt_keys import misspelt_keys
from controller.errors import Problem, SpecInvalid
from controller.render.missing_parts import admit_running
from tests.render.region import core_spec, library, render, upstream_defaults
from tests.render.test_options import FOUND
from tests.upstream.option_packages import PACKAGES, SERIES, pins_digest
from tests.upstream.options_set import GLANCE_STORES, STORES
from tools.known_names import FACTS
from tools.option_facts import UNKNOWN


def warnings(**spec: Any) -> tuple[Problem, ...]:
    return render(core_spec(**spec), source="region.yaml").warnings


def refused(**spec: Any) -> list[Problem]:
    with pytest.raises(SpecInvalid) as caught:
        warnings(**spec)
    return caught.value.problems


def nova(conf: dict[str, Any]) -> dict[str, Any]:
    return {"services": {"compute": {"nova": {"values": {"conf": conf}}}}}


def test_the_names_are_of_the_pinned_packages() -> None:
    assert json.loads(FACTS.read_text())["pins"] == {series: pins_digest(series) for series in SERIES}
    assert library().names.series == SERIES


@pytest.mark.parametrize("series", SERIES)
def test_every_service_has_options_and_nearly_every_one_has_rules(series: str) -> None:
    services = {chart: library().names.of(chart, series) for chart in PACKAGES}
    assert {chart for chart, one in services.items() if len(one.sections["DEFAULT"]) < 30} == set()
    assert {chart for chart, one in services.items() if len(one.rules) < 10} <= {"ceilometer"}


@pytest.mark.parametrize("series", SERIES)
def test_an_option_that_our_values_set_is_known(series: str) -> None:
    lacking = []
    for chart, files in FOUND["options"].items():
        known = library().names.of(chart, series).sections
        for section, options in ((one, found) for part in files.values() for one, found in part.items()):
            own = known.get(section if section == "DEFAULT" else section.lower(), frozenset())
            # Sections that people name stand under one name there.
            there = frozenset().union(*known.values()) if section in (STORES, GLANCE_STORES) else own
            for name, word in options.items():
                recorded = word[series] if isinstance(word, dict) else word
                if own and recorded != UNKNOWN and name.replace("-", "_") not in there:
                    lacking.append(f"{chart} [{section}] {name}")
    assert lacking == []


def test_a_misspelt_option_is_reported_with_its_path() -> None:
    [warning] = warnings(**nova({"nova": {"DEFAULT": {"cpu_alocation_ratio": 4.0}}}))
    assert warning.path == "spec.services.compute.nova.values.conf.nova.DEFAULT.cpu_alocation_ratio"
    assert 'did you mean "cpu_allocation_ratio"?' in warning.remedy


def test_options_that_are_there_are_not_reported() -> None:
    conf = {"nova": {"DEFAULT": {"cpu_allocation_ratio": 4.0, "reclaim_instance_interval": 60}}}
    assert warnings(**nova(conf)) == ()


def test_options_of_labelled_nodes_are_looked_at_too() -> None:
    conf = {"conf": {"nova": {"DEFAULT": {"cpu_alocation_ratio": 2.0}}}}
    nodes = {"rack::a": {"services": {"compute": {"nova": {"compute": {"values": conf}}}}}}
    [warning] = warnings(nodes=nodes)
    assert warning.path.startswith('spec.nodes["rack::a"].services.compute.nova.compute.values.conf.nova')


@pytest.mark.slow
def test_rules_of_a_feature_and_of_values_are_reported() -> None:
    rules = {"os_compute_api:servers:creat": "role:admin"}
    [of_values] = warnings(**nova({"policy": rules}))
    assert 'did you mean "os_compute_api:servers:create"?' in of_values.remedy
    [of_feature] = warnings(features={"policies": {"compute": rules}})
    assert of_feature.path == 'spec.features.policies.compute["os_compute_api:servers:creat"]'
    assert of_feature.message.startswith("compute of OpenStack 2025.2 has no rule")


@pytest.mark.slow
def test_options_of_a_store_are_reported() -> None:
    store = {"name": "san", "type": "custom", "conf": {"volume_driver": "a.b", "san_ipp": "192.0.2.1"}}
    spec = {"preset": "compute", "features": {"blockStorage": {"backends": [store]}}}
    assert [one.path for one in warnings(**spec) if "san_ipp" in one.message] == [
        "spec.features.blockStorage.backends[0].conf.san_ipp"
    ]


def test_a_value_that_the_service_cannot_read_is_reported_with_its_path() -> None:
    conf = {"DEFAULT": {"reclaim_instance_interval": "soon", "resume_guests_state_on_host_boot": "yes"}}
    [problem] = refused(**nova({"nova": conf}))
    assert problem.path.endswith(".conf.nova.DEFAULT.reclaim_instance_interval")
    assert problem.message.endswith('is a whole number, got the string "soon"')


def test_a_release_that_runs_with_such_a_value_goes_on() -> None:
    spec = core_spec(**nova({"nova": {"DEFAULT": {"reclaim_instance_interval": "soon"}}}))
    region = render(spec, partial=True)
    assert [part.release for part in region.lacking] == ["nova"]
    refused_, told = admit_running(region.lacking, {"nova"})
    assert (refused_, len(told)) == ([], 1)


def test_a_list_of_several_lines_is_reported_with_the_form_of_the_chart() -> None:
    [warning] = warnings(**nova({"nova": {"pci": {"device_spec": ["{}", "{}"]}}}))
    assert "type: multistring" in warning.remedy


def test_a_value_of_some_nodes_is_reported_as_well() -> None:
    compute = {"values": {"conf": {"nova": {"DEFAULT": {"cpu_allocation_ratio": "four"}}}}}
    nodes = {"role::gpu": {"services": {"compute": {"nova": {"compute": compute}}}}}
    [problem] = refused(nodes=nodes)
    assert problem.path.startswith('spec.nodes["role::gpu"]')


def test_a_value_of_a_store_is_reported() -> None:
    store = {
        "name": "vendor",
        "type": "custom",
        "conf": {"volume_driver": "a.b.Driver", "driver_ssl_cert_verify": "perhaps"},
    }
    features = {"services": {"enabled": ["block-storage"]}, "blockStorage": {"backends": [store]}}
    charts = {"repository": "https://charts.example.org/openstack-helm"}
    found = warnings(features=features, charts=charts)
    told = [one for one in found if one.path.endswith(".conf.driver_ssl_cert_verify")]
    assert [one.remedy for one in told] == ["give true or false"]


@pytest.mark.parametrize("series", SERIES)
def test_the_kinds_of_common_options_are_known(series: str) -> None:
    known = library().names.of("nova", series)
    assert known.kind_of("nova", "DEFAULT", "debug") == "bool"
    assert known.kind_of("nova", "DEFAULT", "cpu_allocation_ratio") == "float(0..)"
    assert known.kind_of("nova", "pci", "device_spec") == "multi:devices", "read by Nova itself"
    assert known.kind_of("nova", "DEFAULT", "my_ip") == ""
    assert known.kind_of("nova", "DEFAULT", "mkisofs_cmd") == ""


@pytest.mark.parametrize("series", SERIES)
def test_lists_in_brackets_are_known_and_sent_so(series: str) -> None:
    known = library().names.of("glance", series)
    assert known.kind_of("glance", "image_import_opts", "image_import_plugins") == "brackets:quoted"
    options = {"image_import_opts": {"image_import_plugins": ["image_conversion", "inject_image_metadata"]}}
    services = {"image": {"glance": {"values": {"conf": {"glance": options}}}}}
    region = render(core_spec(openstackVersion=series, services=services))
    release = region.release("glance")
    assert release is not None
    sent = release.spec.values["conf"]["glance"]["image_import_opts"]["image_import_plugins"]
    assert sent == "[image_conversion,inject_image_metadata]"


def test_options_of_packages_are_no_slips_of_those_that_the_chart_has() -> None:
    libvirt = {"cpu_mode": "custom", "cpu_models": "Cascadelake-Server-noTSX"}
    assert warnings(**nova({"nova": {"libvirt": libvirt, "vnc": {"novncproxy_port": 6081}}})) == ()


@pytest.mark.slow
@pytest.mark.parametrize("series", SERIES)
def test_no_option_of_any_package_is_called_a_slip(series: str) -> None:
    for chart in PACKAGES:
        known = library().names.of(chart, series)
        for section, names in known.sections.items():
            if any(chart in one.options for one in known.files.charts.values()):
                layer = Layer("services", {"conf": {chart: {section: dict.fromkeys(names, "x")}}})
                lower = upstream_defaults(chart)
                assert list(misspelt_keys(layer, lower, known)) == [], (chart, section)
