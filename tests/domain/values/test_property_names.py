"""Properties that nothing reads are reported; those that are read, and those of vendors, are not."""

from __future__ import annotations

from typing import Any

import pytest

from controller.domain.values.layer import Layer
from controller.domain.values.merge import merge_layers
from controller.domain.values.rules.property_names import unknown_properties
from tests.render.region import library


def told(release: str, bootstrap: dict[str, Any], defaults: dict[str, Any] | None = None) -> list[Any]:
    layer = Layer("services", {"bootstrap": bootstrap}, root=("spec",))
    merged = merge_layers({"bootstrap": defaults or {}}, [layer])
    found = unknown_properties({release: merged}, library().properties)
    return [(one.path, one.message, one.remedy) for one in found]


def limits(consumer: str, *names: str) -> dict[str, Any]:
    return {"volume_qos": {"gold": {"consumer": consumer, "properties": dict.fromkeys(names, 500)}}}


def flavor(*specs: str) -> dict[str, Any]:
    return {"structured": {"flavors": {"options": {"big": {"name": "big", "extra_specs": list(specs)}}}}}


def test_a_limit_that_the_hypervisor_does_not_know_is_reported_with_the_nearest_name() -> None:
    [(path, message, remedy)] = told("cinder", limits("front-end", "total_iops_second", "read_bytes_sec"))
    assert path == "spec.bootstrap.volume_qos.gold.properties.total_iops_second"
    assert message == 'the hypervisor does not know the property "total_iops_second", and ignores it'
    assert remedy == 'did you mean "total_iops_sec"?'
    [(_, _, remedy)] = told("cinder", limits("front-end", "maxIOPS"))
    assert remedy.startswith("known are total_bytes_sec, ")


@pytest.mark.parametrize("consumer", ["back-end", "both"])
def test_limits_of_drivers_are_reported_only_where_they_resemble_a_known_one(consumer: str) -> None:
    [(_, message, remedy)] = told("cinder", limits(consumer, "maxIOPs", "totalCapacity", "minBWS"))
    assert '"maxIOPs"' in message
    assert remedy == 'did you mean "maxIOPS"?'


def test_a_misspelt_property_of_a_volume_type_is_reported_and_one_of_a_vendor_is_not() -> None:
    types = {"fast": {"volume_backend_name": "fast", "multi_attach": "<is> True", "hpe3par:cpg": "ssd"}}
    [(path, _, remedy)] = told("cinder", {"volume_types": types})
    assert path == "spec.bootstrap.volume_types.fast.multi_attach"
    assert remedy == 'did you mean "multiattach"?'
    [(_, message, _)] = told("cinder", {"volume_types": {"fast": {"provisioning:size": "1"}}})
    assert message == 'Cinder does not know the property "provisioning:size", and ignores it'


def test_a_misspelt_property_of_a_flavor_is_reported_and_traits_and_keys_of_one_s_own_are_not() -> None:
    [(path, message, remedy)] = told(
        "nova",
        flavor(
            "hw:cpu_polices=dedicated",
            "hw:numa_cpus.0=0,1",
            "resources1:CUSTOM_GOLD=1",
            "trait:HW_CPU_X86_AVX2=required",
            "aggregate_instance_extra_specs:pinned=true",
            "billing:class=gold",
        ),
    )
    assert path == "spec.bootstrap.structured.flavors.options.big.extra_specs"
    assert message == 'Nova does not know the property "hw:cpu_polices", and ignores it'
    assert remedy == 'did you mean "hw:cpu_policy"?'


def test_what_only_the_chart_has_is_not_reported() -> None:
    assert told("cinder", {"enabled": True}, limits("front-end", "wrong")) == []


@pytest.mark.parametrize(
    ("release", "conf", "wrong", "meant"),
    [
        ("neutron", {"neutron": {"DEFAULT": {"service_plugins": "ruter,qos"}}}, "ruter", "router"),
        (
            "glance",
            {"glance": {"DEFAULT": {"enabled_import_methods": "[glance-direkt]"}}},
            "glance-direkt",
            "glance-direct",
        ),
        (
            "nova",
            {"nova": {"filter_scheduler": {"enabled_filters": ["NUMATopolgyFilter"]}}},
            "NUMATopolgyFilter",
            "NUMATopologyFilter",
        ),
    ],
)
def test_a_misspelt_plug_in_is_reported(release: str, conf: dict[str, Any], wrong: str, meant: str) -> None:
    merged = merge_layers({}, [Layer("services", {"conf": conf}, root=("spec",))])
    [found] = unknown_properties({release: merged}, library().properties)
    assert f'lists the plug-in "{wrong}", which' in found.message
    assert found.remedy == f'did you mean "{meant}"?'


def test_a_plug_in_of_another_package_is_not_reported() -> None:
    conf = {"neutron": {"DEFAULT": {"service_plugins": "router,cisco_apic_l3,networking_x.plugin.Plugin"}}}
    merged = merge_layers({}, [Layer("services", {"conf": conf}, root=("spec",))])
    assert list(unknown_properties({"neutron": merged}, library().properties)) == []


@pytest.mark.parametrize(
    ("spec", "wrong"),
    [
        ("hw:mem_page_size=1G", True),
        ("hw:mem_page_size=1GB", False),
        ("hw:cpu_policy=pinned", True),
        ("hw:cpu_policy=dedicated", False),
        ("hw:numa_nodes=0", True),
        ("quota:disk_total_iops_sec=5k", True),
        ("hw:cpu_sockets={{ x }}", False),
    ],
)
def test_a_value_of_a_property_that_nova_does_not_take_is_reported(spec: str, wrong: bool) -> None:
    found = told("nova", flavor(spec))
    assert [message.startswith(f'property "{spec.partition("=")[0]}" is ') for _, message, _ in found] == (
        [True] if wrong else []
    )


def test_a_limit_that_is_no_number_is_reported_with_its_path() -> None:
    gold = {"gold": {"consumer": "front-end", "properties": {"total_iops_sec": "5k", "read_iops_sec": 500}}}
    [(path, message, _)] = told("cinder", {"volume_qos": gold})
    assert path == "spec.bootstrap.volume_qos.gold.properties.total_iops_sec"
    assert (
        message == 'property "total_iops_sec" is a whole number of at least 0, but the hypervisor gets "5k"'
    )
