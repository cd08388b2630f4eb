"""How often pods run, and what they ask for: what no chart reads is reported."""

from __future__ import annotations

from typing import Any

import pytest

from controller.errors import Problem, SpecInvalid
from tests.render.region import core_spec, render

NOVA = "spec.services.compute.nova.values.pod"


def nova(pod: dict[str, Any]) -> dict[str, Any]:
    return core_spec(services={"compute": {"nova": {"values": {"pod": pod}}}})


def refused(spec: dict[str, Any]) -> list[tuple[str, str]]:
    with pytest.raises(SpecInvalid) as refusal:
        render(spec)
    return [(problem.path, problem.message) for problem in refusal.value.problems]


def warned(spec: dict[str, Any]) -> list[Problem]:
    return [warning for warning in render(spec).warnings if ".pod" in warning.path]


@pytest.mark.parametrize("number", ["five", [1], -1, 1.5, True])
def test_replicas_are_whole_numbers(number: Any) -> None:
    [(path, message)] = refused(nova({"replicas": {"osapi": number}}))
    assert path == f"{NOVA}.replicas.osapi"
    assert message.startswith("expected a whole number, got ")


@pytest.mark.parametrize("pod", [{"replicas": {"osapi": 0}}, {"replicas": {"osapi": "3"}}])
def test_replicas_may_be_none_and_digits_of_a_text(pod: dict[str, Any]) -> None:
    assert warned(nova(pod)) == []


@pytest.mark.parametrize("quantity", ["4 GB", "4Gb", "1.5.1", "", "-1", "Gi", -1, True, [1]])
def test_what_is_no_quantity_of_kubernetes_is_refused(quantity: Any) -> None:
    [(path, message)] = refused(nova({"resources": {"api": {"limits": {"memory": quantity}}}}))
    assert path == f"{NOVA}.resources.api.limits.memory"
    assert "quantity" in message


@pytest.mark.parametrize("quantity", ["4Gi", "500m", "1e3", "0.5", ".5", 2, 0.25, "2E", "1E6"])
def test_quantities_of_kubernetes_are_taken(quantity: Any) -> None:
    assert warned(nova({"resources": {"api": {"requests": {"cpu": quantity}}}})) == []


@pytest.mark.slow
def test_a_resource_is_one_that_kubernetes_knows() -> None:
    own = {"nvidia.com/gpu": 1, "hugepages-2Mi": "1Gi", "ephemeral-storage": "1Gi"}
    assert warned(nova({"resources": {"api": {"limits": own}}})) == []
    [(path, message)] = refused(nova({"resources": {"api": {"limits": {"ram": "1Gi"}}}}))
    assert (path, message) == (f"{NOVA}.resources.api.limits.ram", 'Kubernetes has no resource "ram"')


@pytest.mark.slow
def test_what_no_pod_of_the_chart_is_called_is_reported_with_the_names_there_are() -> None:
    [warning] = warned(nova({"replicas": {"api": 2}}))
    assert warning.path == f"{NOVA}.replicas.api"
    assert warning.message == 'chart nova has no "api" here, so it has no effect'
    assert "osapi" in warning.remedy and "conductor" in warning.remedy
    [warning] = warned(nova({"resources": {"osapi": {"limits": {"cpu": 1}}}}))
    assert warning.path == f"{NOVA}.resources.osapi"
    [warning] = warned(nova({"resources": {"jobs": {"db_sink": {"limits": {"cpu": 1}}}}}))
    assert warning.path == f"{NOVA}.resources.jobs.db_sink"


def test_a_limit_below_what_is_asked_for_is_refused() -> None:
    own = {"requests": {"memory": "8Gi", "cpu": 1}, "limits": {"memory": "4Gi", "cpu": "1000m"}}
    [(path, message)] = refused(nova({"resources": {"api": own}}))
    assert path == f"{NOVA}.resources.api.requests.memory"
    assert message == "requests 8Gi of memory with a limit of 4Gi, so Kubernetes refuses the pod"


@pytest.mark.parametrize(("part", "amount"), [("requests", "64Gi"), ("limits", "1Ki")])
def test_a_limit_that_the_size_has_counts_as_well(part: str, amount: str) -> None:
    [(path, message)] = refused(nova({"resources": {"conductor": {part: {"memory": amount}}}}))
    assert path == f"{NOVA}.resources.conductor.{part}.memory"
    assert "Kubernetes refuses the pod" in message


def test_what_charts_leave_out_is_not_compared() -> None:
    own = {"requests": {"memory": "8Gi"}, "limits": {"memory": "4Gi"}}
    assert warned(nova({"resources": {"enabled": False, "api": own}})) == []


@pytest.mark.slow
def test_a_quantity_with_an_exponent_is_compared_as_kubernetes_reads_it() -> None:
    more = {"requests": {"memory": "1e3"}, "limits": {"memory": "1"}}
    with pytest.raises(SpecInvalid, match="requests 1e3 of memory with a limit of 1, so Kubernetes refuses"):
        render(nova({"resources": {"jobs": {"db_sync": more}}}))


@pytest.mark.parametrize(
    ("replicas", "least", "kept"),
    [(2, "51%", "2 of 2"), (1, 1, "1 of 1"), (3, "67%", "3 of 3"), (2, 5, "5 of 2")],
)
def test_a_budget_that_lets_no_pod_go_is_reported(replicas: int, least: Any, kept: str) -> None:
    budget = {"disruption_budget": {"osapi": {"min_available": least}}}
    [warning] = warned(nova({"replicas": {"osapi": replicas}, "lifecycle": budget}))
    assert warning.path == f"{NOVA}.lifecycle.disruption_budget.osapi.min_available"
    assert warning.message == f"{kept} pods must be available, so a node that runs one cannot be drained"


@pytest.mark.parametrize(("replicas", "least"), [(3, "51%"), (2, 1), (1, 0), (0, 1), (2, None), (2, True)])
def test_a_budget_that_lets_one_go_is_not_reported(replicas: int, least: Any) -> None:
    budget = {"disruption_budget": {"osapi": {"min_available": least}}}
    assert warned(nova({"replicas": {"osapi": replicas}, "lifecycle": budget})) == []


def test_the_budget_of_the_size_counts_for_a_number_of_pods_of_ones_own() -> None:
    [warning] = warned({**nova({"replicas": {"api_metadata": 1}}), "size": "tiny"})
    assert warning.path == f"{NOVA}.replicas.api_metadata"
    assert "pod.lifecycle.disruption_budget.metadata.min_available" in warning.remedy


@pytest.mark.slow
def test_what_is_said_for_all_charts_need_not_be_in_each() -> None:
    assert warned(core_spec(common={"openstack": {"values": {"pod": {"replicas": {"osapi": 2}}}}})) == []
    [(path, _)] = refused(core_spec(common={"openstack": {"values": {"pod": {"replicas": {"osapi": "x"}}}}}))
    assert path == "spec.common.openstack.values.pod.replicas.osapi"
