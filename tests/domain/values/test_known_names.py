"""Names of options and rules that no package has are reported with the nearest; nothing else is."""

from __future__ import annotations

from typing import Any

import pytest

from controller.domain.values.layer import Layer
from controller.domain.values.names.known_names import (
    NO_NAMES,
    KnownNames,
    unknown_options,
    unknown_policy_names,
    unknown_rules,
    unknown_store_options,
)
from controller.errors import Problem
from tests.fakes.option_files import chart_options, option_files

NAMES = KnownNames(
    series=("2025.1", "2026.1"),
    options={
        "every": {"DEFAULT": "debug log_file", "oslo_policy": "enforce_scope policy_file"},
        "nova": {
            "DEFAULT": "cpu_allocation_ratio reserved_host_memory_mb old_ratio@2025.1",
            "filter_scheduler": "enabled_filters",
            "libvirt": "virt_type live_migration_uri",
        },
        "cinder": {"DEFAULT": "enabled_backends", "backend_defaults": "volume_driver san_ip"},
    },
    rules={
        "nova": "os_compute_api:servers:create; os_compute_api:servers:show; old:rule@2025.1; admin_api",
        "gnocchi": "create archive policy; get archive policy",
    },
    files=option_files(),
    charts=chart_options(),
)
LOWER: dict[str, Any] = {
    "conf": {
        "nova": {"DEFAULT": {"of_the_chart": 1, "osapi_compute_workers": 1}, "libvirt": {}},
        "cinder": {},
        "backends": {},
        "policy": {},
    }
}


def told(conf: dict[str, Any], chart: str = "nova", series: str = "2026.1") -> list[Problem]:
    layer = Layer("services", {"conf": conf}, root=("spec",))
    return list(unknown_options(layer, LOWER, NAMES.of(chart, series)))


def test_a_misspelt_option_is_reported_with_the_nearest_one() -> None:
    [problem] = told({"nova": {"DEFAULT": {"cpu_alocation_ratio": 4}}})
    assert problem.path == "spec.conf.nova.DEFAULT.cpu_alocation_ratio"
    assert problem.message == (
        'no package of OpenStack 2026.1 has an option "cpu_alocation_ratio" in section DEFAULT of nova.conf'
    )
    assert problem.remedy.startswith('did you mean "cpu_allocation_ratio"?')


def test_an_option_of_another_section_is_reported_with_that_section() -> None:
    [problem] = told({"nova": {"DEFAULT": {"virt_type": "kvm"}}})
    assert problem.remedy.startswith("did you mean section libvirt?")


def test_what_is_near_to_nothing_may_be_a_plugins() -> None:
    [problem] = told({"nova": {"DEFAULT": {"frobnicate": 1}}})
    assert problem.remedy == "the service ignores it, unless a plugin reads it"


def test_an_option_of_the_chart_is_reported_when_nothing_reads_it() -> None:
    [problem] = told({"nova": {"DEFAULT": {"of_the_chart": 2, "osapi_compute_workers": 8}}})
    assert problem.path == "spec.conf.nova.DEFAULT.of_the_chart"


def test_an_option_that_another_series_has_is_not_known_to_this_one() -> None:
    conf = {"nova": {"DEFAULT": {"old_ratio": 1}}}
    assert told(conf, series="2025.1") == []
    assert len(told(conf)) == 1


@pytest.mark.parametrize(
    "conf",
    [
        {"nova": {"DEFAULT": {"debug": True, "log-file": "x", "osapi_compute_workers": 2}}},
        {"nova": {"DEFAULT": {"cpu_alocation_ratio": None, "$patch": "replace"}}},
        {"nova": {"placement_of_a_plugin": {"anything": 1}}},
        {"nova": {"LIBVIRT": {"virt_type": "kvm"}}},
        {"keystone": {"DEFAULT": {"cpu_alocation_ratio": 1}}},
        {"paste": {"DEFAULT": {"x": 1}}},
        {"nova": "text"},
    ],
)
def test_what_is_known_or_is_not_the_services_is_not_reported(conf: dict[str, Any]) -> None:
    assert told(conf) == []


def test_a_misspelt_section_is_reported() -> None:
    [problem] = told({"nova": {"filter_schedulr": {"enabled_filters": "x"}}})
    assert problem.path == "spec.conf.nova.filter_schedulr"
    assert problem.remedy.startswith('did you mean "filter_scheduler"?')


def test_of_a_store_only_what_is_nearly_an_option_is_reported() -> None:
    conf = {"backends": {"fast": {"volume_drivr": "x", "vendor_pool": "y", "san_ip": "z"}}}
    [problem] = told(conf, "cinder")
    assert problem.path == "spec.conf.backends.fast.volume_drivr"
    found = unknown_store_options({"san_ipp": "x", "vendor_pool": "y"}, NAMES.of("cinder", "2026.1"))
    assert [(name, one.message) for name, one in found] == [
        ("san_ipp", 'no package of OpenStack 2026.1 has an option "san_ipp" in a store')
    ]


def test_where_nothing_is_recorded_nothing_is_reported() -> None:
    layer = Layer("services", {"conf": {"nova": {"DEFAULT": {"cpu_alocation_ratio": 4}}}})
    for names, series in ((NO_NAMES, "2026.1"), (NAMES, "2030.1")):
        assert list(unknown_options(layer, LOWER, names.of("nova", series))) == []


def test_a_misspelt_rule_is_reported_with_the_nearest_one() -> None:
    rules = {"os_compute_api:servers:creat": "role:admin", "os_compute_api:servers:show": "@"}
    layer = Layer("services", {"conf": {"policy": rules}}, root=("spec",))
    [problem] = unknown_policy_names(layer, LOWER, NAMES.of("nova", "2026.1"))
    assert problem.path == 'spec.conf.policy["os_compute_api:servers:creat"]'
    assert problem.message == 'nova of OpenStack 2026.1 has no rule "os_compute_api:servers:creat"'
    assert 'did you mean "os_compute_api:servers:create"?' in problem.remedy


def test_a_rule_that_another_one_asks_is_its_own() -> None:
    rules = {"operator": "role:operator", "os_compute_api:servers:show": "(rule:operator or rule:admin_api)"}
    known = NAMES.of("nova", "2026.1").rules
    assert list(unknown_rules(rules, known, rules.values(), "nova")) == []
    [(name, found)] = unknown_rules({"operator": "role:operator"}, known, [], "nova")
    assert (name, found.remedy) == ("operator", "nothing uses it, unless a plugin does")


def test_a_rule_of_several_words_is_known_as_a_whole() -> None:
    known = NAMES.of("gnocchi", "2026.1").rules
    assert known == {"create archive policy", "get archive policy"}
    rules = {"create archive policy": "role:admin", "archive": "role:admin"}
    assert [name for name, _ in unknown_rules(rules, known, [], "gnocchi")] == ["archive"]
