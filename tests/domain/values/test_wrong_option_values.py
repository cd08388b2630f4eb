"""A value that a service cannot read is reported with what it has to be; one that it can read is not."""

from __future__ import annotations

from typing import Any

import pytest

from controller.domain.values.layer import Layer
from controller.domain.values.names.known_names import KnownNames
from controller.domain.values.names.option_types import unmet
from controller.domain.values.names.wrong_option_values import with_brackets, wrong_store_values, wrong_values
from controller.errors import Problem
from tests.fakes.option_files import chart_options, option_files

NAMES = KnownNames(
    series=("2025.1", "2026.1"),
    options={
        "every": {"DEFAULT": "debug"},
        "nova": {
            "DEFAULT": "workers ratio my_ip on_boot old plugins drivers command",
            "pci": "device_spec",
            "libvirt": "cpu_mode inbound",
        },
        "cinder": {"DEFAULT": "enabled_backends", "backend_defaults": "san_ip san_ssh_port ssl_verify"},
    },
    kinds={
        "every": {"DEFAULT": "debug=bool"},
        "nova": {
            "DEFAULT": "workers=int(1..) ratio=float(0..) on_boot=bool old=int(..)@2025.1 old=bool@2026.1"
            " plugins=brackets:quoted drivers=map(:)",
            "pci": "device_spec=multi",
            "libvirt": "cpu_mode=one(host-model|none) inbound=domain",
        },
        "cinder": {"backend_defaults": "san_ssh_port=int(0..65535) ssl_verify=bool"},
    },
    files=option_files(),
    charts=chart_options(),
)
LOWER: dict[str, Any] = {"conf": {"nova": {"DEFAULT": {}}, "cinder": {}, "backends": {}}}
ONE_DEVICE = '{"vendor_id": "8086"}'
TWO = {"type": "multistring", "values": [ONE_DEVICE, '{"devname": "ens2f0"}']}


def told(conf: dict[str, Any], chart: str = "nova", series: str = "2026.1") -> list[Problem]:
    layer = Layer("services", {"conf": conf}, root=("spec",))
    return [one.problem for one in wrong_values(layer, LOWER, NAMES.of(chart, series))]


@pytest.mark.parametrize(
    ("option", "value", "says"),
    [
        ("workers", "many", 'is a whole number of at least 1, got the string "many"'),
        ("workers", 1.5, "is a whole number of at least 1, got the number 1.5"),
        ("workers", True, "is a whole number of at least 1, got the boolean true"),
        ("workers", 0, "is a whole number of at least 1, got the number 0"),
        ("workers", [1, 2], "is a whole number of at least 1, got a list"),
        ("workers", {"a": 1}, "has a map, for which charts write nothing"),
        ("workers", TWO, "has several lines, but the service uses only the last one"),
        ("ratio", "-0.5", 'is a number of at least 0, got the string "-0.5"'),
        ("on_boot", "perhaps", 'is true or false, got the string "perhaps"'),
        ("on-boot", 2, "is true or false, got the number 2"),
        ("debug", "", 'is true or false, got the string ""'),
        ("my_ip", {"a": 1}, "has a map, for which charts write nothing"),
        (
            "my_ip",
            {},
            "has an empty map, and charts write nothing for it: the default of the package applies",
        ),
    ],
)
def test_a_value_of_another_kind_is_reported(option: str, value: Any, says: str) -> None:
    found = told({"nova": {"DEFAULT": {option: value}}})
    expected = [f'option "{option}" of section DEFAULT of nova.conf {says}'] if says else []
    assert [problem.message for problem in found] == expected


def test_it_is_reported_with_its_path_and_a_remedy() -> None:
    [problem] = told({"nova": {"DEFAULT": {"workers": "many"}}})
    assert problem.path == "spec.conf.nova.DEFAULT.workers"
    assert problem.remedy == "give a whole number of at least 1"


def test_a_list_for_an_option_of_several_lines_is_reported_with_the_form_that_charts_take() -> None:
    [problem] = told({"nova": {"pci": {"device_spec": ["a", "b"]}}})
    assert "a list becomes one line with commas" in problem.message
    assert "{type: multistring, values: [...]}" in problem.remedy
    assert told({"nova": {"pci": {"device_spec": [ONE_DEVICE]}}}) == []
    assert told({"nova": {"pci": {"device_spec": TWO}}}) == []


def test_a_word_that_is_not_among_those_of_the_option_is_reported_with_them() -> None:
    [problem] = told({"nova": {"libvirt": {"cpu_mode": "host"}}})
    assert problem.remedy == "known are host-model, none"


@pytest.mark.parametrize(
    "options",
    [
        {"workers": "4", "ratio": 2, "on_boot": "Yes", "debug": "off"},
        {"workers": 4.0, "ratio": "1.5", "on_boot": True, "debug": 0},
        {"workers": None, "ratio": "$workers", "on_boot": {"$secretRef": {"name": "a", "key": "b"}}},
        {"workers": "{{ .Values.x }}", "$patch": "replace", "of_a_plugin": "text", "my_ip": ["a", "b"]},
        {"my_ip": {"type": "csv", "values": ["a", "b"]}, "of_a_plugin": TWO},
    ],
)
def test_what_the_service_can_read_is_not_reported(options: dict[str, Any]) -> None:
    assert told({"nova": {"DEFAULT": options}}) == []


@pytest.mark.parametrize("value", [{"values": TWO["values"]}, {"$patch": "delete"}])
def test_a_map_is_read_with_what_the_values_below_it_have(value: dict[str, Any]) -> None:
    layer = Layer("services", {"conf": {"nova": {"pci": {"device_spec": value}}}}, root=("spec",))
    lower = {"conf": {"nova": {"pci": {"device_spec": {"type": "multistring", "values": [ONE_DEVICE]}}}}}
    assert list(wrong_values(layer, lower, NAMES.of("nova", "2026.1"))) == []


def test_the_kind_is_that_of_the_series() -> None:
    conf = {"nova": {"DEFAULT": {"old": True}}}
    assert len(told(conf, series="2025.1")) == 1
    assert told(conf, series="2026.1") == []


def test_a_section_that_people_name_has_the_options_of_a_store() -> None:
    [problem] = told({"backends": {"fast": {"san_ssh_port": "ssh"}}}, "cinder")
    assert problem.path == "spec.conf.backends.fast.san_ssh_port"
    store = {"san_ip": "192.0.2.1", "san_ssh_port": 70000, "ssl_verify": "true"}
    [(name, found)] = wrong_store_values(store, NAMES.of("cinder", "2026.1"))
    assert name == "san_ssh_port"
    assert found.message.startswith('option "san_ssh_port" of a store is a whole number from 0 to 65535')


def test_a_file_that_the_release_does_not_have_is_passed_over() -> None:
    assert told({"keystone": {"DEFAULT": {"workers": "many"}}}) == []


def faults(options: dict[str, Any], section: str = "DEFAULT") -> list[tuple[str, bool]]:
    layer = Layer("services", {"conf": {"nova": {section: options}}}, root=("spec",))
    found = wrong_values(layer, LOWER, NAMES.of("nova", "2026.1"))
    return [(one.problem.message.partition(".conf ")[2], one.certain) for one in found]


@pytest.mark.parametrize(
    ("option", "value", "says"),
    [
        ("plugins", "a,b", 'is a list in brackets, as [a,b], got the string "a,b"'),
        ("drivers", "ovn: The OVN driver,", "is pairs of a name and a value, as a:1,b:2"),
        ("drivers", {"ovn": "OVN"}, "has a map, for which charts write nothing"),
        ("command", "first\nsecond\n", "has several lines, which the service reads as separate options"),
        ("command", "first\rsecond = 1", "has several lines, which the service reads as separate options"),
        ("of_a_plugin", "first\n[section]", "has several lines"),
        ("command", [["a"], "b"], "has a list or a map in a list"),
        ("com:mand", "a", "has a name with special characters"),
    ],
)
def test_what_oslo_config_cannot_read_stops_the_release(option: str, value: Any, says: str) -> None:
    [(message, certain)] = faults({option: value})
    assert message.startswith(says)
    assert certain


def test_an_address_has_no_mask() -> None:
    [(message, certain)] = faults({"inbound": "192.0.2.1/24"}, "libvirt")
    assert message.startswith("is a host name or an address, without a mask or a port")
    assert certain
    assert faults({"inbound": "a_host.example.org"}, "libvirt") == []


@pytest.mark.parametrize(
    ("option", "value", "says"),
    [
        ("command", "'a' 'b'", "begins and ends with a quote, which the service removes"),
        ("command", "$nothing/a", 'refers to an option "nothing"'),
        ("cpu_mode", "host", "is one of a few words"),
    ],
)
def test_what_an_image_of_ones_own_may_read_is_a_warning(option: str, value: Any, says: str) -> None:
    [(message, certain)] = faults({option: value}, "libvirt" if option == "cpu_mode" else "DEFAULT")
    assert message.startswith(says)
    assert not certain


@pytest.mark.parametrize(
    "options",
    [
        {"command": "first\n second\n", "plugins": "[a, 'b']", "drivers": "a:1,b:c,d:e"},
        {"command": "one line\n", "plugins": ["a", "b"], "drivers": ""},
        {"command": "$my_ip/${on_boot}/$$5", "plugins": "[]"},
    ],
)
def test_what_oslo_config_reads_is_not_reported(options: dict[str, Any]) -> None:
    assert faults(options) == []


def test_a_list_is_sent_in_brackets_to_an_option_that_takes_no_other() -> None:
    conf = {"nova": {"DEFAULT": {"plugins": ["a", "b"], "drivers": ["c"]}}}
    labels = [{"label": {"key": "role", "values": ["gpu"]}, "conf": conf}]
    values = {"conf": {**conf, "overrides": {"nova_compute": {"labels": labels}}}}
    sent = with_brackets(values, NAMES.of("nova", "2026.1"))
    assert sent["conf"]["nova"]["DEFAULT"] == {"plugins": "[a,b]", "drivers": ["c"]}
    [of_nodes] = sent["conf"]["overrides"]["nova_compute"]["labels"]
    assert of_nodes["conf"]["nova"]["DEFAULT"]["plugins"] == "[a,b]"
    assert values["conf"]["nova"]["DEFAULT"]["plugins"] == ["a", "b"]
    other = {"conf": {"nova": {"DEFAULT": {"drivers": ["c"]}}}}
    assert with_brackets(other, NAMES.of("nova", "2026.1")) is other


@pytest.mark.parametrize(
    ("kind", "good", "bad"),
    [
        ("path", ("/var/lib/x", "/", "/a/"), ("var/lib", "/a/../b", "https://x/y", "")),
        ("ports", ("10000:20000", "5:5"), ("10000", "20000:10000", "1:65536", "a:b")),
        ("octal", ("0600", "660"), ("rw", "2592000")),
        ("uuid", ("6d0f6a2e-3a8e-4c1b-9d55-0f4b2e6a7c11",), ("word", "1.5")),
        ("pool(0..2)", ("gold", "gold,192.0.2.1", "gold, 192.0.2.1, 2001:db8::1"), ("gold,b:2", "a,")),
        ("pool(1..1)", ("gold,192.0.2.1",), ("gold", "gold,192.0.2.1,192.0.2.2")),
        ("step(8..24..8)", ("8", "16", ""), ("12", "32", "x")),
        ("list:path", ("/a,/b",), ("/a,b",)),
    ],
)
def test_types_that_services_have_of_their_own(
    kind: str, good: tuple[str, ...], bad: tuple[str, ...]
) -> None:
    assert [text for text in good if unmet(kind, text)] == []
    assert [text for text in bad if not unmet(kind, text)] == []


def test_an_empty_map_is_a_warning_since_it_only_has_no_effect() -> None:
    layer = Layer("services", {"conf": {"nova": {"DEFAULT": {"my_ip": {}, "workers": {"a": 1}}}}})
    found = wrong_values(layer, LOWER, NAMES.of("nova", "2026.1"))
    assert [(one.problem.path.rpartition(".")[2], one.certain) for one in found] == [
        ("my_ip", False),
        ("workers", True),
    ]
