"""Values that hold only together are told when they do not."""

from __future__ import annotations

from typing import Any

import pytest

from controller.domain.shared.cron_schedule import shortest_gap
from controller.domain.validation.value_relations import broken_relations
from controller.domain.values.merge import Layer, merge_layers
from tests.render.region import core_spec, render

CRON = {"jobs": {"fernet_rotate": {"cron": "0 */12 * * *"}}}
SEVEN = {"conf": {"keystone": {"fernet_tokens": {"max_active_keys": 7}}}}
GOOD = {"token": {"expiration": 43200}, "fernet_tokens": {"max_active_keys": 7}}


def told(
    release: str, values: dict[str, Any], defaults: dict[str, Any] | None = None
) -> list[tuple[str, str]]:
    merged = merge_layers(defaults or {}, [Layer("services", values, root=("spec",))])
    return [(one.path, one.message) for one in broken_relations({release: merged})]


def test_fernet_keys_outlive_tokens() -> None:
    assert told("keystone", {"conf": {"keystone": GOOD}}, CRON) == []
    longer = {"conf": {"keystone": {"token": {"expiration": 86400}}}}
    [(path, message)] = told("keystone", longer, CRON | SEVEN)
    assert path == "spec.conf.keystone.token.expiration"
    assert message == "7 Fernet keys, rotated each 12 h, end before tokens of 72 h"


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


def test_what_only_the_chart_has_is_not_told() -> None:
    assert told("mariadb", {}, {"pod": {"replicas": {"server": 2}}}) == []


def test_servers_with_a_quorum_are_odd_in_number() -> None:
    [(path, message)] = told("mariadb", {"pod": {"replicas": {"server": 2}}})
    assert path == "spec.pod.replicas.server"
    assert message == "2 databases serve only while 2 of them run, as 3 would"
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
    assert list(broken_relations(releases)) == []
