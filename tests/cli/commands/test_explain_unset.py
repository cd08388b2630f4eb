"""osctl explain of what no layer sets: the chart's template, or the default of the package."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.cli.objects import EXAMPLE, osctl
from tests.render.region import ROOT, library

pytestmark = pytest.mark.slow

DEFAULTS = json.loads((ROOT / "values" / "charts" / "option-defaults.json").read_text(encoding="utf-8"))


def explained(path: str, release: str = "nova") -> list[dict[str, Any]]:
    found = osctl("explain", str(EXAMPLE), "--release", release, path, "-o", "json")
    assert found.exit_code == 0, found.output
    result: list[dict[str, Any]] = json.loads(found.stdout)
    return result


def test_an_option_that_nothing_sets_has_the_default_of_the_package() -> None:
    found = osctl(
        "explain", str(EXAMPLE), "--release", "nova", "conf.nova.DEFAULT.initial_ram_allocation_ratio"
    )
    assert found.exit_code == 0, found.output
    assert found.stdout.splitlines() == ["not set", "  default of nova 2026.1  1.0"]


@pytest.mark.parametrize(
    ("path", "default"),
    [
        ("conf.nova.DEFAULT.initial_cpu_allocation_ratio", "4.0"),
        ("conf.nova.key_manager.backend", "barbican"),
        ("conf.nova.libvirt.cpu_model_extra_flags", ""),
        ("conf.nova.libvirt.live_migration_inbound_addr", None),
    ],
)
def test_a_default_is_as_a_file_would_have_it(path: str, default: str | None) -> None:
    [one] = explained(path)
    assert (one["value"], one["setBy"], one["layers"]) == (None, "", [])
    assert one["default"] == {"of": "nova 2026.1", "known": True, "value": default}


def test_what_the_charts_template_writes_is_shown_with_the_file_and_without_a_secret() -> None:
    found = osctl("explain", str(EXAMPLE), "--release", "nova", "conf.nova.keystone_authtoken.auth_url")
    address = "http://keystone-api.openstack.svc.cluster.local:5000/v3"
    assert found.stdout.splitlines()[:2] == [
        address,
        f"▸ chart's template  {address}  in Secret nova-etc, nova.conf",
    ]
    [one] = explained("conf.nova.keystone_authtoken.password")
    assert one["written"][0]["value"] == "<compute-credentials/nova-password>"


def test_an_option_that_values_leave_empty_is_what_the_template_writes() -> None:
    [one] = explained("conf.nova.database.connection")
    assert one["setBy"] == "chart's template"
    assert one["value"].startswith("mysql+pymysql://nova:<compute-credentials/database-password>@mariadb")


def test_of_a_section_that_nothing_sets_each_option_is_listed() -> None:
    found = {one["path"]: one["default"]["value"] for one in explained("conf.nova.workarounds")}
    assert found["conf.nova.workarounds.handle_virt_lifecycle_events"] == "true" and len(found) > 10


def test_an_option_of_a_folder_of_files_is_found() -> None:
    [one] = explained("conf.plugins.ml2_conf.ml2.overlay_ip_version", "neutron")
    assert one["default"]["of"] == "neutron 2026.1"


def test_a_misspelt_option_is_an_error_with_the_name_of_the_packages() -> None:
    found = osctl("explain", str(EXAMPLE), "--release", "nova", "conf.nova.libvirt.cpu_modeel_extra_flags")
    assert found.exit_code == 3
    assert 'no package of OpenStack 2026.1 has an option "cpu_modeel_extra_flags"' in found.stderr
    assert 'did you mean "cpu_model_extra_flags"?' in found.stderr and "used as written" not in found.stderr


def test_what_is_no_option_is_an_error_as_before() -> None:
    found = osctl("explain", str(EXAMPLE), "--release", "nova", "pod.replicass.osapi")
    assert found.exit_code == 3 and 'did you mean "replicas"?' in found.stderr


def test_recorded_defaults_are_of_options_that_packages_have() -> None:
    for series in DEFAULTS["pins"]:
        for chart in DEFAULTS["defaults"].keys() - {"every"}:
            sections = library().names.sections(chart, series)
            for section, options in DEFAULTS["defaults"][chart].items():
                there = {
                    name for name, found in options.items() if not isinstance(found, dict) or series in found
                }
                assert there <= sections.get(section, frozenset()), (series, chart, section)
    assert sum(len(options) for by in DEFAULTS["defaults"].values() for options in by.values()) > 5000
