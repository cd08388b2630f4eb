"""Which node of a broker is replaced next, and what holds it back."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from controller.domain.region.upgrade.broker_servers import (
    BrokerPod,
    BrokerServers,
    permits,
    refused_features,
)

NOW = 1_700_000_000.0


def pods(*outdated: bool) -> tuple[BrokerPod, ...]:
    return tuple(BrokerPod(f"rabbitmq-{number}", number, outdated=old) for number, old in enumerate(outdated))


def servers(*outdated: bool, held: int = 0, **more: Any) -> BrokerServers:
    given = BrokerServers("rabbitmq", "rabbitmq", len(outdated), held, "rabbitmq:4.2", pods(*outdated))
    return replace(given, **more)


def test_the_highest_number_goes_first() -> None:
    found = servers(True, True, False, held=2).next
    assert found is not None and found.number == 1
    assert servers(False, False).next is None


@pytest.mark.parametrize(
    ("found", "text"),
    [
        (servers(True, True, True, held=3), ""),
        (servers(True, True, True, held=2), "rabbitmq-2 starts: 0 of 3 nodes replaced"),
        (servers(True, True, True, held=0, by_hand=True), ""),
        (servers(True, False, held=1, replicas=3), "1 pod starts: 1 of 3 nodes replaced"),
        (servers(False, observed=False), "StatefulSet rabbitmq is not observed yet"),
        (
            servers(False, pods=(BrokerPod("rabbitmq-0", 0, moving=True),)),
            "rabbitmq-0 starts: 0 of 1 node replaced",
        ),
    ],
)
def test_no_pod_goes_while_another_one_comes(found: BrokerServers, text: str) -> None:
    assert found.waiting == text


def test_a_pod_of_an_earlier_template_that_does_not_start_is_stuck() -> None:
    broken = BrokerPod("rabbitmq-2", 2, outdated=True, moving=True, broken="no image")
    assert servers(True, True, True, held=2, pods=(*pods(True, True), broken)).stuck == broken
    # One that is held would come back as it is.
    assert servers(True, True, True, held=3, pods=(*pods(True, True), broken)).stuck is None
    newest = replace(broken, outdated=False)
    found = servers(True, True, True, held=2, pods=(*pods(True, True), newest))
    assert found.stuck is None and found.failing == "no image"


def test_two_nodes_keep_no_quorum_without_one_of_them() -> None:
    assert [servers(*[False] * size).keeps_quorum for size in (1, 2, 3, 5)] == [False, False, True, True]


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        ((3, 13), (4, 2), ["classic_queue_mirroring"]),
        ((4, 2), (4, 3), ["transient_nonexcl_queues"]),
        ((3, 13), (4, 3), ["classic_queue_mirroring", "transient_nonexcl_queues"]),
        ((4, 3), (4, 3), []),
    ],
)
def test_what_a_version_refuses_to_start_with(before: Any, after: Any, found: list[str]) -> None:
    used = ["classic_queue_mirroring", "transient_nonexcl_queues", "management_metrics_collection"]
    assert refused_features(used, before, after) == found


@pytest.mark.parametrize(
    "conf",
    [
        {"deprecated_features.permit.transient_nonexcl_queues": "true"},
        {"deprecated_features": {"permit": {"transient_nonexcl_queues": True}}},
    ],
)
def test_values_may_permit_what_a_version_denies(conf: dict[str, Any]) -> None:
    values = {"conf": {"rabbitmq": conf}}
    assert permits(values, "transient_nonexcl_queues")
    assert not permits(values, "global_qos")
    assert not permits({}, "transient_nonexcl_queues")


def test_a_pod_is_known_by_the_template_that_it_is_made_from() -> None:
    pod = {
        "metadata": {"name": "rabbitmq-rabbitmq-2", "labels": {"controller-revision-hash": "a"}, "uid": "u"},
        "status": {"podIP": "10.0.0.2", "conditions": [{"type": "Ready", "status": "True"}]},
    }
    assert BrokerPod.of(pod, "a", NOW) == BrokerPod("rabbitmq-rabbitmq-2", 2, "10.0.0.2", uid="u")
    assert BrokerPod.of(pod, "b", NOW).outdated
