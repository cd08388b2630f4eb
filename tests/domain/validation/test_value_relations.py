"""Values that hold only together are reported when they do not."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from controller.adapters.system.values_files import load_library
from controller.domain.shared.cron_schedule import shortest_gap
from controller.domain.validation.value_relations import broken_relations
from controller.domain.values.catalogue import CatalogueInvalid
from controller.domain.values.layer import Layer
from controller.domain.values.merge import merge_layers
from tests.render.region import ROOT, core_spec, library, render

CRON = {"jobs": {"fernet_rotate": {"cron": "0 */12 * * *"}}}
SEVEN = {"conf": {"keystone": {"fernet_tokens": {"max_active_keys": 7}}}}
GOOD = {"token": {"expiration": 43200}, "fernet_tokens": {"max_active_keys": 7}}


def told(
    release: str, values: dict[str, Any], defaults: dict[str, Any] | None = None
) -> list[tuple[str, str]]:
    merged = merge_layers(defaults or {}, [Layer("services", values, root=("spec",))])
    return [(one.path, one.message) for one in broken_relations({release: merged}, library().relations)]


def test_fernet_keys_outlive_tokens() -> None:
    assert told("keystone", {"conf": {"keystone": GOOD}}, CRON) == []
    longer = {"conf": {"keystone": {"token": {"expiration": 86400}}}}
    [(path, message)] = told("keystone", longer, CRON | SEVEN)
    assert path == "spec.conf.keystone.token.expiration"
    assert message == "7 Fernet keys, rotated every 12 h, expire before tokens of 72 h"


@pytest.mark.parametrize(
    ("release", "conf"),
    [
        ("nova", {"nova": {"DEFAULT": {"report_interval": 60}}}),
        ("cinder", {"cinder": {"DEFAULT": {"service_down_time": 15}}}),
        ("neutron", {"neutron": {"agent": {"report_interval": "60"}}}),
    ],
)
def test_what_reports_is_not_down_before_its_next_report(release: str, conf: dict[str, Any]) -> None:
    [(path, message)] = told(release, {"conf": conf})
    assert path.startswith(f"spec.conf.{release}")
    assert "count as down" in message


def test_what_only_the_chart_has_is_not_reported() -> None:
    assert told("mariadb", {}, {"pod": {"replicas": {"server": 2}}}) == []


def test_a_job_whose_work_nothing_else_does_is_told_where_it_is_switched_off() -> None:
    off = {"manifests": {"job_db_init": False}}
    [(path, message)] = told("cinder", off, {"manifests": {"job_db_init": True}})
    assert path == "spec.manifests.job_db_init"
    assert message == "without Job cinder-db-init nothing else makes the database and its account"
    assert told("cinder", {"manifests": {"job_db_init": False, "mariadb_db": True}}) == []
    assert told("cinder", {"manifests": {"job_db_init": True}}) == []
    # As of the service's template.
    assert told("cinder", {}, off) == []


def test_a_job_that_many_releases_lack_is_told_once() -> None:
    layer = Layer("common", {"manifests": {"job_ks_user": False}}, root=("spec", "common"))
    merged = merge_layers({}, [layer])
    found = list(broken_relations({"nova": merged, "cinder": merged}, library().relations))
    assert [one.path for one in found] == ["spec.common.manifests.job_ks_user"]
    assert found[0].message.startswith("without Jobs nova-ks-user, cinder-ks-user nothing")


def test_servers_with_a_quorum_are_odd_in_number() -> None:
    [(path, message)] = told("mariadb", {"pod": {"replicas": {"server": 2}}})
    assert path == "spec.pod.replicas.server"
    assert message == "2 databases serve only while 2 of them run, like 3"
    assert told("mariadb", {"pod": {"replicas": {"server": 3}}}) == []


@pytest.mark.parametrize(
    ("schedule", "gap"), [("0 */12 * * *", 43200), ("*/5 * * * *", 300), ("0 3 * * 1", 86400), ("x", 0)]
)
def test_the_gap_of_a_schedule_is_its_shortest(schedule: str, gap: int) -> None:
    assert shortest_gap(schedule) == gap


@pytest.mark.parametrize("size", ["tiny", "single", "small", "medium", "large"])
def test_no_size_of_ours_breaks_one(size: str) -> None:
    region = render(core_spec(size=size))
    releases = {one.spec.name: one.merged for bundle in region.bundles for one in bundle.releases}
    assert list(broken_relations(releases, library().relations)) == []


def many(**releases: dict[str, Any]) -> list[tuple[str, str]]:
    """Releases with two services that have their own number of processes, and the operator's values."""
    defaults: dict[str, Any] = {
        "mariadb": {"conf": {"database": {"00_base": "max_connections=400"}}},
        "keystone": {"pod": {"replicas": {"api": 3}}},
        "nova": {"pod": {"replicas": {"osapi": 3, "conductor": 3}}},
    }
    merged = {
        name: merge_layers(defaults[name], [Layer("services", releases.get(name, {}), root=("spec", name))])
        for name in defaults
    }
    return [(one.path, one.message) for one in broken_relations(merged, library().relations)]


def conductor(**options: Any) -> dict[str, Any]:
    return {"conf": {"nova": {"conductor": {"workers": 8}, "database": options}}}


def test_pools_of_all_processes_fit_into_the_database() -> None:
    assert many() == many(nova=conductor()) == []  # 3 × 5, and 27 × (5 + 5) connections
    [(path, message)] = many(nova=conductor(max_pool_size=20))
    assert path == "spec.nova.conf.nova.database.max_pool_size"
    assert message == ("the processes of all services keep connections up to 690, and the databases take 400")
    larger = {"conf": {"database": {"config_override": "[mysqld]\nmax_connections = 1000\n"}}}
    assert many(nova=conductor(max_pool_size=20), mariadb=larger) == []


def test_further_connections_count_where_they_are_asked_for() -> None:
    [(path, _)] = many(nova=conductor(max_overflow=50))
    assert path == "spec.nova.conf.nova.database.max_overflow"


@pytest.mark.parametrize("options", [{"max_pool_size": 0}, {"max_overflow": -1}])
def test_pools_without_a_limit_are_reported(options: dict[str, int]) -> None:
    [(_, message)] = many(nova=conductor(**options))
    assert "keep connections without a limit" in message


def test_a_smaller_database_is_reported_at_its_own_limit() -> None:
    smaller = {"conf": {"database": {"config_override": "max_connections = 50"}}}
    [(path, _)] = many(mariadb=smaller)
    assert path == "spec.mariadb.conf.database.config_override"


def probes(**params: int) -> dict[str, Any]:
    return {"conductor": {"default": {"liveness": {"params": params}}}}


def test_a_probe_waits_longer_than_its_call_through_the_broker() -> None:
    chart = {"pod": {"probes": {"rpc_timeout": 60, **probes(timeoutSeconds=70)}}}
    assert told("nova", {}, chart) == []
    [(path, message)] = told("nova", {"pod": {"probes": {"rpc_timeout": 90}}}, chart)
    assert path == "spec.pod.probes.rpc_timeout"
    assert message.startswith("timeoutSeconds 70 is not above rpc_timeout 90: Kubernetes ends the probe")
    [(path, _)] = told("nova", {"pod": {"probes": probes(timeoutSeconds=60)}}, chart)
    assert path == "spec.pod.probes.conductor.default.liveness.params.timeoutSeconds"


def test_every_option_of_a_relation_is_one_that_the_packages_have() -> None:
    names, relations = library().names, library().relations
    numbers = [(one.release, number) for one in relations.at_least for number in (one.value, one.of)]
    numbers += [(one.release, number) for one in relations.keys_outlive for number in (one.keys, *one.life)]
    checked = 0
    for release, number in numbers:
        if number.path[0] == "conf":
            _, file, section, option = number.path
            for series in names.series:
                assert names.of(release, series).has_option(file, section, option), number
                checked += 1
    assert checked >= 15 * len(names.series)


def test_every_pool_is_a_section_that_the_packages_have() -> None:
    names = library().names
    for one in library().relations.connections:
        for pool in one.pools:
            for _, file, section in pool.sections:
                for series in names.series:
                    assert names.of(pool.release, series).has_option(file, section, one.size[0]), section


@pytest.mark.slow
@pytest.mark.parametrize(
    "broken",
    [{"odd": [{"release": "x"}]}, {"atLeast": [{"release": "x", "source": "by heart"}]}, {"more": []}],
)
def test_relations_without_a_source_are_refused(broken: dict[str, Any], tmp_path: Path) -> None:
    shutil.copytree(ROOT / "values", tmp_path / "values")
    file = tmp_path / "values" / "relations.yaml"
    whole = {"atLeast": [], "odd": [], "keysOutlive": [], "connections": [], "listed": [], **broken}
    file.write_text(yaml.safe_dump(whole), encoding="utf-8")
    with pytest.raises(CatalogueInvalid, match=r"relations\.yaml"):
        load_library(tmp_path / "values")
