"""Every state of a compute host, and the one step that follows from it."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest

from controller.domain.api.reasons import Reason
from controller.domain.api.region_spec import parse_region_spec
from controller.domain.hosts.circuit_breaker import circuit_breaker_trips
from controller.domain.hosts.cordon_and_return import CALM, MAP_AFTER, MAP_WITHIN
from controller.domain.hosts.host_facts import ComputeNode, HostFacts, NextStep, Step
from controller.domain.hosts.next_step import MISSING_OBSERVATIONS, REGISTER_WITHIN, decide_host
from controller.domain.hosts.node_policy import NodePolicy, node_policy
from controller.domain.shared.cloud_facts import MARK, Agent, ComputeService, forced_reason
from controller.domain.shared.max_unhealthy import MaxUnhealthy

NOW = 1_000_000.0
LONG_AGO = NOW - 100_000.0
POLICY = NodePolicy()
AUTO = NodePolicy(evacuate=True)
NODE = ComputeNode("cmp1", "uid-1", ready=True, since=LONG_AGO, created=LONG_AGO)
SERVICE = ComputeService("id", "cmp1", enabled=True, up=True)
OURS = replace(SERVICE, enabled=False, reason=f"{MARK}node cordoned")
HUMAN = replace(SERVICE, enabled=False, reason="broken fan")
AGENT = Agent("a", "cmp1", "Open vSwitch agent", alive=True)
HOST = HostFacts("cmp1", NODE, SERVICE, agents=(AGENT,), agents_expected=True, servers=0, known_uid="uid-1")
LOST = replace(NODE, ready=False, since=NOW - 600)
DEAD = replace(OURS, up=False)
GONE = replace(
    HOST, node=None, service=None, mapped=False, agents=(), missing_observations=MISSING_OBSERVATIONS
)
HELD = replace(DEAD, forced_down=True, reason=f"{MARK}forced down")


def policy_of(spec: dict[str, object]) -> NodePolicy:
    return node_policy(parse_region_spec(spec))


def decide(facts: HostFacts, policy: NodePolicy = POLICY, breaker_open: str = "") -> NextStep:
    return decide_host(facts, policy, breaker_open, NOW)


CASES: dict[str, tuple[HostFacts, Step, Reason]] = {
    "in service": (HOST, Step.NOTHING, Reason.NODE_IN_SERVICE),
    "disabled by a person": (replace(HOST, service=HUMAN), Step.NOTHING, Reason.DISABLED_BY_OTHERS),
    "forced down by a person": (
        replace(HOST, service=replace(SERVICE, forced_down=True)),
        Step.NOTHING,
        Reason.DISABLED_BY_OTHERS,
    ),
    "cordoned": (replace(HOST, node=replace(NODE, cordoned=True)), Step.DISABLE, Reason.NODE_CORDONED),
    "cordoned and disabled": (
        replace(HOST, node=replace(NODE, cordoned=True), service=OURS),
        Step.NOTHING,
        Reason.NODE_CORDONED,
    ),
    "cordoned and disabled by a person": (
        replace(HOST, node=replace(NODE, cordoned=True), service=HUMAN),
        Step.NOTHING,
        Reason.NODE_CORDONED,
    ),
    "back": (replace(HOST, service=OURS), Step.ENABLE, Reason.NODE_IN_SERVICE),
    "new, disabled by Nova itself": (
        replace(HOST, service=replace(HUMAN, reason="New compute service disabled due to config option.")),
        Step.ENABLE,
        Reason.NODE_IN_SERVICE,
    ),
    "back, compute down": (replace(HOST, service=DEAD), Step.WAIT, Reason.COMPUTE_DOWN),
    "back, forced down by us": (
        replace(HOST, service=HELD),
        Step.UNFORCE,
        Reason.CLEANUP_AWAITED,
    ),
    "back and cordoned, forced down by us": (
        replace(HOST, node=replace(NODE, cordoned=True), service=HELD),
        Step.UNFORCE,
        Reason.CLEANUP_AWAITED,
    ),
    "back and cordoned, no longer forced down": (
        replace(HOST, node=replace(NODE, cordoned=True), service=replace(HELD, forced_down=False)),
        Step.NOTHING,
        Reason.NODE_CORDONED,
    ),
    "another Node has its host": (
        replace(HOST, node=LOST, service=DEAD, taken_over="renamed1"),
        Step.NOTHING,
        Reason.NODE_REPLACED,
    ),
    "back, disabled by us and forced down by a person": (
        replace(HOST, service=replace(DEAD, forced_down=True)),
        Step.NOTHING,
        Reason.DISABLED_BY_OTHERS,
    ),
    "back, forced down by us what a person had disabled": (
        replace(HOST, service=replace(HELD, reason=forced_reason("broken fan"))),
        Step.UNFORCE,
        Reason.CLEANUP_AWAITED,
    ),
    "back, no longer forced down what a person had disabled": (
        replace(HOST, service=replace(OURS, reason=forced_reason("broken fan"))),
        Step.DISABLE,
        Reason.DISABLED_BY_OTHERS,
    ),
    "back, no longer forced down what a person had disabled without a word": (
        replace(HOST, service=replace(OURS, reason=forced_reason(""))),
        Step.DISABLE,
        Reason.DISABLED_BY_OTHERS,
    ),
    "ready, and its compute down": (
        replace(HOST, service=replace(SERVICE, up=False)),
        Step.BLOCKED,
        Reason.COMPUTE_DOWN,
    ),
    "ready, and an agent dead": (
        replace(HOST, agents=(replace(AGENT, alive=False),)),
        Step.BLOCKED,
        Reason.AGENTS_DOWN,
    ),
    "back, a pod not ready": (
        replace(HOST, service=OURS, unready_pods=("libvirt",)),
        Step.WAIT,
        Reason.PODS_NOT_READY,
    ),
    "back, an agent dead": (
        replace(HOST, service=OURS, agents=(AGENT, replace(AGENT, alive=False))),
        Step.WAIT,
        Reason.AGENTS_DOWN,
    ),
    "back, no agent where others have some": (
        replace(HOST, service=OURS, agents=()),
        Step.WAIT,
        Reason.AGENTS_DOWN,
    ),
    "back, no agents anywhere": (
        replace(HOST, service=OURS, agents=(), agents_expected=False),
        Step.ENABLE,
        Reason.NODE_IN_SERVICE,
    ),
    "back, agents unknown": (replace(HOST, service=OURS, agents=None), Step.WAIT, Reason.CLOUD_UNKNOWN),
    "back, but it flapped": (
        replace(
            HOST,
            service=OURS,
            node=replace(NODE, since=NOW - 60, losses=(NOW - 500, NOW - 300, NOW - 100)),
        ),
        Step.WAIT,
        Reason.NODE_FLAPPING,
    ),
    "back, calm after flapping": (
        replace(
            HOST,
            service=OURS,
            node=replace(NODE, since=NOW - CALM, losses=(NOW - 590, NOW - 500, NOW - 400)),
        ),
        Step.ENABLE,
        Reason.NODE_IN_SERVICE,
    ),
    "back, flapped by a clock that was set back by hours": (
        replace(
            HOST,
            service=OURS,
            node=replace(NODE, since=NOW + 7000, losses=(NOW + 6500, NOW + 6700, NOW + 6900)),
        ),
        Step.ENABLE,
        Reason.NODE_IN_SERVICE,
    ),
    "in maintenance": (
        replace(HOST, service=OURS, maintenance="work"),
        Step.NOTHING,
        Reason.IN_MAINTENANCE,
    ),
    "in maintenance and not ready": (
        replace(HOST, node=LOST, maintenance="work"),
        Step.NOTHING,
        Reason.IN_MAINTENANCE,
    ),
    "not mapped": (replace(HOST, mapped=False), Step.MAP_CELL, Reason.CELL_MAPPING_AWAITED),
    "not mapped for long": (
        replace(HOST, mapped=False, unmapped_since=NOW - MAP_WITHIN - 1),
        Step.MAP_CELL,
        Reason.CELL_NOT_MAPPED,
    ),
    "new and not mapped": (
        replace(HOST, mapped=False, node=replace(NODE, created=NOW - MAP_AFTER + 1)),
        Step.WAIT,
        Reason.CELL_MAPPING_AWAITED,
    ),
    "new and not registered": (
        replace(HOST, service=None, node=replace(NODE, created=NOW - 1)),
        Step.WAIT,
        Reason.COMPUTE_AWAITED,
    ),
    "labelled just now": (
        replace(HOST, service=None, missing_since=NOW - 1),
        Step.WAIT,
        Reason.COMPUTE_AWAITED,
    ),
    "registered just now on an old node": (
        replace(HOST, mapped=False, unmapped_since=NOW - 1),
        Step.WAIT,
        Reason.CELL_MAPPING_AWAITED,
    ),
    "not ready, nobody knows since when": (
        replace(HOST, node=replace(LOST, since=0.0)),
        Step.WAIT,
        Reason.NODE_NOT_READY,
    ),
    "never registered": (
        replace(HOST, service=None, node=replace(NODE, created=NOW - REGISTER_WITHIN)),
        Step.BLOCKED,
        Reason.COMPUTE_MISSING,
    ),
    "not ready for a moment": (
        replace(HOST, node=replace(LOST, since=NOW - 119)),
        Step.WAIT,
        Reason.NODE_NOT_READY,
    ),
    "not ready": (replace(HOST, node=LOST), Step.DISABLE, Reason.NODE_NOT_READY),
    "not ready, disabled by a person": (
        replace(HOST, node=LOST, service=HUMAN),
        Step.NOTHING,
        Reason.DISABLED_BY_OTHERS,
    ),
    "not ready and disabled": (
        replace(HOST, node=LOST, service=DEAD, servers=3),
        Step.NOTHING,
        Reason.NODE_NOT_READY,
    ),
    "removed": (replace(HOST, node=None), Step.DISABLE, Reason.NODE_REMOVED),
    "removed, servers left": (
        replace(HOST, node=None, service=DEAD, servers=2),
        Step.BLOCKED,
        Reason.SERVERS_LEFT,
    ),
    "removed, servers unknown": (
        replace(HOST, node=None, service=DEAD, servers=None),
        Step.WAIT,
        Reason.CLOUD_UNKNOWN,
    ),
    "removed, still reports": (
        replace(HOST, node=None, service=OURS),
        Step.WAIT,
        Reason.COMPUTE_STILL_REPORTS,
    ),
    "removed and empty": (replace(HOST, node=None, service=DEAD), Step.REMOVE, Reason.NODE_REMOVED),
    "removed, and not listed in the first looks": (
        replace(GONE, missing_observations=MISSING_OBSERVATIONS - 1),
        Step.WAIT,
        Reason.CLOUD_UNKNOWN,
    ),
    "removed, and listed as a hypervisor only": (
        replace(GONE, mapped=True),
        Step.WAIT,
        Reason.CLOUD_UNKNOWN,
    ),
    "removed, agents alive": (
        replace(GONE, agents=(AGENT,)),
        Step.WAIT,
        Reason.COMPUTE_STILL_REPORTS,
    ),
    "removed, agents left": (
        replace(GONE, agents=(replace(AGENT, alive=False),)),
        Step.REMOVE,
        Reason.NODE_REMOVED,
    ),
    "gone": (GONE, Step.REMOVE, Reason.NODE_REMOVED),
    "gone, its host is another's": (
        replace(GONE, missing_observations=0, taken_over="cmp9"),
        Step.FORGET,
        Reason.NODE_REPLACED,
    ),
    "replaced just now": (
        replace(HOST, node=replace(NODE, uid="uid-2"), node_known_for=5.0, service=DEAD),
        Step.WAIT,
        Reason.NODE_REPLACED,
    ),
    "replaced, servers left": (
        replace(HOST, node=replace(NODE, uid="uid-2"), node_known_for=500.0, service=DEAD, servers=1),
        Step.BLOCKED,
        Reason.SERVERS_LEFT,
    ),
    "replaced, servers unknown": (
        replace(HOST, node=replace(NODE, uid="uid-2"), node_known_for=500.0, service=DEAD, servers=None),
        Step.WAIT,
        Reason.CLOUD_UNKNOWN,
    ),
    "replaced and empty": (
        replace(HOST, node=replace(NODE, uid="uid-2"), node_known_for=500.0, service=DEAD),
        Step.REMOVE,
        Reason.NODE_REPLACED,
    ),
    "replaced, in maintenance": (
        replace(
            HOST, node=replace(NODE, uid="uid-2"), node_known_for=500.0, service=DEAD, maintenance="work"
        ),
        Step.NOTHING,
        Reason.IN_MAINTENANCE,
    ),
    "replaced, and its service is forced down and reports": (
        replace(HOST, service=HELD, node=replace(NODE, uid="uid-2"), node_known_for=500.0, reports=True),
        Step.UNFORCE,
        Reason.CLEANUP_AWAITED,
    ),
    "replaced and back": (
        replace(HOST, node=replace(NODE, uid="uid-2")),
        Step.NOTHING,
        Reason.NODE_IN_SERVICE,
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_what_follows_from_each_state(case: str) -> None:
    facts, step, reason = CASES[case]
    found = decide(facts)
    assert (found.step, found.reason) == (step, reason)


FENCED = replace(LOST, fenced=True)
EVACUATION: dict[str, tuple[HostFacts, Step, Reason]] = {
    "not fenced": (replace(HOST, node=LOST, service=DEAD, servers=3), Step.BLOCKED, Reason.FENCING_AWAITED),
    "its evacuation began, and it is fenced": (
        replace(HOST, node=FENCED, service=HELD, servers=3, maintenance="evacuate-1", automatic=True),
        Step.NOTHING,
        Reason.IN_MAINTENANCE,
    ),
    "its evacuation began in an earlier absence": (
        replace(HOST, node=LOST, service=HELD, servers=3, maintenance="evacuate-1", automatic=True),
        Step.BLOCKED,
        Reason.FENCING_AWAITED,
    ),
    "fenced, nobody knows since when it is not ready": (
        replace(HOST, node=replace(FENCED, since=0.0), service=DEAD, servers=3),
        Step.WAIT,
        Reason.NODE_NOT_READY,
    ),
    "fenced": (replace(HOST, node=FENCED, service=DEAD, servers=3), Step.EVACUATE, Reason.EVACUATING),
    "fenced and empty": (replace(HOST, node=FENCED, service=DEAD), Step.NOTHING, Reason.NODE_NOT_READY),
    "fenced, servers unknown": (
        replace(HOST, node=FENCED, service=DEAD, servers=None),
        Step.WAIT,
        Reason.CLOUD_UNKNOWN,
    ),
    "fenced, and its compute reports": (
        replace(HOST, node=FENCED, service=OURS, servers=3),
        Step.BLOCKED,
        Reason.COMPUTE_STILL_REPORTS,
    ),
    "fenced, disabled by a person": (
        replace(HOST, node=FENCED, service=replace(HUMAN, up=False), servers=3),
        Step.NOTHING,
        Reason.DISABLED_BY_OTHERS,
    ),
    "fenced and back": (
        replace(HOST, node=replace(FENCED, ready=True)),
        Step.NOTHING,
        Reason.NODE_IN_SERVICE,
    ),
}


@pytest.mark.parametrize("case", EVACUATION)
def test_what_follows_with_evacuation_auto(case: str) -> None:
    facts, step, reason = EVACUATION[case]
    found = decide(facts, AUTO)
    assert (found.step, found.reason) == (step, reason)


HARMFUL = {Step.EVACUATE, Step.REMOVE}


def every_host() -> list[HostFacts]:
    """All combinations of what may be known of a host."""
    nodes = [None, NODE, LOST, FENCED, replace(NODE, cordoned=True), replace(NODE, uid="uid-2")]
    services = [None, SERVICE, OURS, DEAD, HUMAN, replace(HUMAN, up=False), HELD]
    servers = [None, 0, 3]
    agents = [None, (), (AGENT,), (replace(AGENT, alive=False),)]
    mapped = [True, False]
    maintenance = ["", "work"]
    return [
        replace(HOST, node=n, service=s, servers=c, agents=a, mapped=m, maintenance=w)
        for n, s, c, a, m, w in product(nodes, services, servers, agents, mapped, maintenance)
    ]


def test_nothing_harmful_is_ever_done_on_what_is_not_known_or_runs_or_while_the_breaker_is_open() -> None:
    for facts in every_host():
        for policy in (POLICY, AUTO):
            for breaker_open in ("", "too many"):
                step = decide(facts, policy, breaker_open).step
                service = facts.service
                if step in HARMFUL and service is not None:
                    assert facts.servers is not None and not service.up
                    assert not (step == Step.REMOVE and facts.servers)
                if step == Step.EVACUATE:
                    assert policy.evacuate and facts.node is not None and not facts.node.ready
                    assert facts.node.fenced and not breaker_open
                if breaker_open:
                    assert step not in HARMFUL
                if breaker_open and facts.node is None and service is not None:
                    assert step == Step.BLOCKED


def test_what_a_person_disabled_is_never_touched() -> None:
    for facts in every_host():
        if facts.service is not None and facts.service.reason == "broken fan":
            step = decide(facts, AUTO).step
            assert step not in (Step.ENABLE, Step.DISABLE, Step.UNFORCE, Step.EVACUATE)


def test_enabling_needs_everything_to_be_up() -> None:
    for facts in every_host():
        if decide(facts).step == Step.ENABLE:
            assert facts.node is not None and facts.node.ready and not facts.node.cordoned
            assert facts.service is not None and facts.service.up and facts.service.reason.startswith(MARK)
            assert facts.agents and all(agent.alive for agent in facts.agents)
            assert facts.mapped and not facts.maintenance


def bad(number: int, **more: object) -> list[HostFacts]:
    return [replace(HOST, name=f"bad{i}", node=LOST, **more) for i in range(number)]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("limit", "number", "total", "opens"),
    [
        ("20%", 1, 1, False),
        ("20%", 1, 3, False),
        ("20%", 2, 3, True),
        ("20%", 2, 10, False),
        ("20%", 3, 10, True),
        ("20%", 100, 500, False),
        ("20%", 101, 500, True),
        ("100%", 10, 10, False),
        (1, 1, 10, False),
        (1, 2, 10, True),
        (3, 3, 3, False),
    ],
)
def test_the_circuit_breaker_opens_when_too_many_are_unhealthy_at_once(
    limit: int | str, number: int, total: int, opens: bool
) -> None:
    hosts = [*bad(number), *(replace(HOST, name=f"good{i}") for i in range(total - number))]
    policy = policy_of({"features": {"nodes": {"maxUnhealthy": limit}}})
    assert bool(circuit_breaker_trips(hosts, policy)) == opens


def test_it_says_how_many_are_unhealthy_and_how_many_may_be() -> None:
    text = circuit_breaker_trips([*bad(2), HOST], POLICY)
    assert text.startswith("2 of 3 compute hosts are unhealthy (bad0, bad1), more than features.nodes.max")
    assert "maxUnhealthy (20%) allows" in text


@pytest.mark.parametrize("wrong", [0, -1, 5001, True, 2.5, "", "0%", "101%", "20", "020%", "٢%", ["20%"]])
def test_a_limit_that_the_definition_refuses_is_never_taken_for_another(wrong: object) -> None:
    with pytest.raises(ValueError, match="expected a number from 1 to 5000"):
        policy_of({"features": {"nodes": {"maxUnhealthy": wrong}}})


def test_planned_absences_do_not_count() -> None:
    assert circuit_breaker_trips([*bad(5, maintenance="work"), HOST], POLICY) == ""


@pytest.mark.parametrize(
    ("service", "servers"), [(DEAD, 1), (DEAD, None), (SERVICE, 0)], ids=["servers", "unknown", "reports"]
)
def test_many_nodes_removed_at_once_open_the_breaker(service: ComputeService, servers: int | None) -> None:
    gone = replace(HOST, node=None, service=service, servers=servers)
    hosts = [replace(gone, name=f"h{i}") for i in range(5)] + [HOST]
    text = circuit_breaker_trips(hosts, POLICY)
    assert "5 of 6" in text
    assert decide(hosts[0], breaker_open=text).reason == Reason.TOO_MANY_UNHEALTHY


def test_removed_hosts_that_are_silent_and_empty_do_not_count() -> None:
    hosts = [replace(HOST, name=f"h{i}", node=None, service=DEAD, servers=0) for i in range(5)] + [HOST]
    assert circuit_breaker_trips(hosts, POLICY) == ""


def test_the_policy_of_a_spec() -> None:
    given = {"nodes": {"evacuation": "Auto", "holdDown": "1m30s", "maxUnhealthy": "50%"}}
    found = policy_of({"features": given})
    assert found == NodePolicy(90.0, evacuate=True, max_unhealthy=MaxUnhealthy(percentage=50))
    assert policy_of({}) == NodePolicy()
