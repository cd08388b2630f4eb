"""What a service itself reads of an option when it starts is refused where it cannot."""

from __future__ import annotations

import json
from typing import Any

import pytest

from controller.domain.values.layer import Layer
from controller.domain.values.names.option_types import parts_of, unmet
from controller.domain.values.names.service_formats import FORMATS, cpus
from controller.domain.values.names.wrong_option_values import wrong_values
from tests.fakes.option_files import chart_options
from tests.render.region import library

GOOD = {
    "page": ["large", "any", "2048", "2MB", "1GiB"],
    "cpus": ["4-15", "4-15,^6", "1, 3 ,5", "0-7,^0-1", ""],
    "pages": ["node:0,size:1GB,count:4", "node:1, size:2048, count:64", "count:1,size:2MiB,node:0"],
    "devices": [
        "{}",
        '{"devname": "ens2f0", "physical_network": "fast"}',
        '{"vendor_id": "8086", "product_id": "154d", "physical_network": null}',
        '{"address": "*:0a:00.*"}',
        '{"address": ":0a:00."}',
        '{"address": {"domain": ".*", "bus": "02", "function": "[0-2]"}}',
        '[{"vendor_id": "10de"}, {"address": "0000:81:00.0"}]',
    ],
    "alias": [
        '{"name": "gpu"}',
        '{"name": "gpu", "vendor_id": "10de", "product_id": "1eb8", "device_type": "type-PF"}',
        '{"name": "a", "numa_policy": "preferred", "resource_class": "CUSTOM_A", "traits": "X"}',
    ],
    "vlans": ["rack1:100:199", "rack1", "rack1:5:5"],
    "tunnels": ["1:1000", "5 : 5"],
    "mapping": ["a:br-a,b:br-b", "a:1400", ""],
    "bandwidths": ["br-ex:1000:1000", "br-ex::", "br-ex::5", "br-ex"],
}
BAD = {
    "page": ["1G", "huge", "2 MB", ""],
    "cpus": ["4-", "^", "15-4", "all", "4-15;17", "^3", "0x4", "4-8-9"],
    "pages": [
        "1G",
        "node:0,size:1G,count:4",
        "size:1GB,count:4",
        "node:0,size:1GB",
        "node:a,size:2MB,count:1",
    ],
    "devices": [
        "8086:154d",
        '{"vendor_id": "8086"',
        '["a"]',
        "7",
        '{"vendor_id": "intel"}',
        '{"vendor_id": 8086}',
        '{"vendor_id": "18086"}',
        '{"devname": "ens2f0", "address": "0000:0a:00.0"}',
        '{"address": "0000:0a:20.0"}',
        '{"address": "0:0:0:0.1"}',
        '{"address": "81:00.9"}',
        '{"address": {"bus": "["}}',
        '{"address": 5}',
    ],
    "alias": [
        "gpu",
        '[{"name": "gpu"}]',
        '{"vendor_id": "10de"}',
        '{"name": "gpu", "vendor": "10de"}',
        '{"name": "gpu", "vendor_id": "0x10de"}',
        '{"name": "gpu", "product_id": 1}',
        '{"name": "gpu", "device_type": "PF"}',
        '{"name": "gpu", "numa_policy": "strict"}',
    ],
    "vlans": ["rack1:100", ":1:2", "rack1:0:5", "rack1:9:5", "rack1:1:4095", "rack1:a:b", "rack1:1:2:3", ""],
    "tunnels": ["1-1000", "9:1", "a:b", "1:2:3", "0:5", ""],
    "mapping": ["a", "a:", ":b", "a:1,a:2", "a:b:c"],
    "bandwidths": ["br-ex:1000", "br-ex:a:1", "br-ex:-1:1", "br-ex:1:2:3"],
}


def test_every_format_has_cases() -> None:
    assert set(FORMATS) == set(GOOD) == set(BAD)


@pytest.mark.parametrize(("kind", "text"), [(kind, text) for kind, texts in GOOD.items() for text in texts])
def test_what_the_service_reads_is_taken(kind: str, text: str) -> None:
    assert unmet(kind, text) == ""


@pytest.mark.parametrize(("kind", "text"), [(kind, text) for kind, texts in BAD.items() for text in texts])
def test_what_the_service_cannot_read_is_named_with_a_form_that_it_reads(kind: str, text: str) -> None:
    wanted = unmet(kind, text)
    assert " as " in wanted


def test_a_set_of_cpus_is_what_nova_makes_of_it() -> None:
    assert cpus("1-4,^3,6") == frozenset((1, 2, 4, 6))
    assert cpus("1-4,^2-3") == frozenset((1, 4))


def test_the_formats_of_services_are_known_kinds_of_options_that_there_are() -> None:
    for chart, options in chart_options().items():
        for where, kind in options.formats.items():
            section, _, option = where.partition(".")
            assert parts_of(kind.rpartition(":")[2])[0] in {*FORMATS, "int"}, where
            sections = library().names.sections(chart, "2025.1")
            assert option in sections.get(section, ()), where


def refused(conf: dict[str, Any], chart: str = "nova", *root: str) -> list[str]:
    lower = {"conf": {"nova": {"DEFAULT": {}}, "plugins": {"ml2_conf": {"ml2": {}}}}}
    layer = Layer("services", {"conf": conf}, root=("spec",))
    found = wrong_values(layer, lower, library().names.of(chart, "2025.2"))
    return [f"{one.problem.path}: {one.problem.message}" for one in found if one.certain]


def test_huge_pages_of_a_size_that_nova_cannot_read_are_refused_with_the_form() -> None:
    text = {"nova": {"DEFAULT": {"reserved_huge_pages": "node:0,size:1G,count:4"}}}
    [said] = refused(text)
    assert said.startswith("spec.conf.nova.DEFAULT.reserved_huge_pages: ")
    assert "node:0,size:2MB,count:64" in said


def test_each_line_of_several_is_read() -> None:
    values = ["node:0,size:1GB,count:4", "node:1,size:1G,count:4"]
    several = {"type": "multistring", "values": values}
    assert len(refused({"nova": {"DEFAULT": {"reserved_huge_pages": several}}})) == 1
    devices = {"type": "multistring", "values": [json.dumps({"devname": "a"}), "b"]}
    assert len(refused({"nova": {"pci": {"device_spec": devices}}})) == 1


def test_ranges_of_vlans_that_neutron_cannot_read_are_refused() -> None:
    plugin = {"plugins": {"ml2_conf": {"ml2_type_vlan": {"network_vlan_ranges": ["a:1:9", "b:1-9"]}}}}
    assert len(refused(plugin, "neutron")) == 1


@pytest.mark.parametrize("value", ["edge:9000,", "edge", "edge:large", "edge:9000,edge:1500"])
def test_sizes_of_packets_that_neutron_cannot_read_are_refused(value: str) -> None:
    def of(text: str) -> list[str]:
        return refused({"plugins": {"ml2_conf": {"ml2": {"physical_network_mtus": text}}}}, "neutron")

    assert len(of(value)) == 1
    assert of("edge:9000,plain:1500") == []
