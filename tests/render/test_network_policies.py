"""Network policies: monitoring may read metrics, and no list of the operator's cuts the region off."""

from __future__ import annotations

from typing import Any

import pytest

from controller.errors import Problem, SpecInvalid
from tests.render.region import core_spec, render

POLICIES = {"enabled": True, "nodeNetworks": ["192.0.2.0/24"]}
PROMETHEUS = {"namespace": "monitoring", "podLabels": {"app": "prometheus"}}
READER = {
    "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}},
    "podSelector": {"matchLabels": {"app": "prometheus"}},
}
OF_REGION: dict[str, Any] = {"podSelector": {}}
NODES = {"ipBlock": {"cidr": "192.0.0.0/16"}}
CONTROLLER = {
    "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "openstack-controller"}},
}
CHARTS = {"mariadb": "database", "rabbitmq": "messaging", "keystone": "identity", "memcached": "cache"}


def ingress(release: str, **policies: Any) -> list[dict[str, Any]]:
    found = render(core_spec(features={"networkPolicies": {**POLICIES, **policies}})).release(release)
    assert found is not None
    rules: list[dict[str, Any]] = found.merged.values["network_policy"][release]["ingress"]
    return rules


def told(chart: str, *peers: Any, rules: Any = None) -> tuple[list[Problem], list[Problem]]:
    """What is refused and what is warned of, of a list of incoming traffic for a chart."""
    given = {"network_policy": {chart: {"ingress": rules or [{"from": list(peers)}]}}}
    spec = core_spec(
        features={"networkPolicies": POLICIES}, services={CHARTS[chart]: {chart: {"values": given}}}
    )
    try:
        return [], [one for one in render(spec).warnings if "network_policy" in one.path]
    except SpecInvalid as error:
        return list(error.problems), []


@pytest.mark.parametrize(("release", "port"), [("mariadb", 9104), ("rabbitmq", 15692)])
def test_monitoring_is_let_in_to_metrics_and_to_nothing_else(release: str, port: int) -> None:
    first, reading = ingress(release, monitoring=[PROMETHEUS])
    assert [first] == ingress(release), "all others connect as ever"
    assert reading == {"from": [READER], "ports": [{"protocol": "TCP", "port": port}]}


def test_all_pods_of_a_namespace_of_monitoring_may_be_let_in() -> None:
    [_, reading] = ingress("rabbitmq", monitoring=[{"namespace": "monitoring"}])
    assert reading["from"] == [{"namespaceSelector": READER["namespaceSelector"]}]


@pytest.mark.parametrize("chart", ["mariadb", "rabbitmq", "memcached"])
def test_a_list_that_cuts_services_off_is_refused(chart: str) -> None:
    [problem], _ = told(chart, READER)
    path = f"spec.services.{CHARTS[chart]}.{chart}.values.network_policy.{chart}.ingress"
    assert problem.path == path
    assert "cannot reach" in problem.message and "spec.features.networkPolicies.monitoring" in problem.remedy


def test_what_a_list_forgets_is_named() -> None:
    [without_nodes], _ = told("mariadb", OF_REGION, CONTROLLER)
    assert "nodes of 192.0.2.0/24 cannot reach mariadb" in without_nodes.message
    [without_controller], _ = told("mariadb", OF_REGION, NODES)
    assert "the controller cannot reach mariadb" in without_controller.message
    names = {"key": "application", "operator": "NotIn", "values": ["nova"]}
    [without_nova], _ = told("mariadb", {"podSelector": {"matchExpressions": [names]}}, NODES, CONTROLLER)
    assert "nova cannot reach mariadb" in without_nova.message


@pytest.mark.parametrize(
    "rules", [[{}], [{"from": [READER]}, {"from": [OF_REGION, NODES, CONTROLLER]}]], ids=["all", "more"]
)
def test_a_list_that_lets_in_what_the_region_needs_is_accepted(rules: Any) -> None:
    assert told("mariadb", rules=rules) == ([], [])


def test_a_list_that_closes_what_the_chart_leaves_open_is_warned_of() -> None:
    _, [warning] = told("keystone", READER)
    assert "no pod of the region can reach keystone" in warning.message
    assert told("keystone", {"podSelector": {"matchLabels": {"application": "nova"}}}) == ([], [])


def test_the_apis_of_watcher_are_reached_as_all_others() -> None:
    spec = core_spec(
        preset="compute",
        features={"networkPolicies": POLICIES, "services": {"enabled": ["optimization"]}},
    )
    watcher = render(spec).release("watcher")
    assert watcher is not None
    assert watcher.merged.values["network_policy"]["watcher"]["ingress"] == [{}]
