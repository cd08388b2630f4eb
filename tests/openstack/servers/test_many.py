"""A hundred OpenStackServers at once on a real OpenStack: none twice, and what they cost at rest."""

from __future__ import annotations

import time

import pytest
from prometheus_client.parser import text_string_to_metric_families

from controller.ports.kubernetes import SERVER
from tests.openstack.servers.bed import ServersBed

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.openstack,
    pytest.mark.exhaustive,
    pytest.mark.xdist_group("openstack"),
    pytest.mark.timeout(2400),
]

COUNT = 100
PASSES_AN_HOUR = 12  # every five minutes, as the chart has it


def _passes(servers: ServersBed) -> tuple[int, float]:
    """How many passes at servers there were, and how long they took together."""
    families = text_string_to_metric_families(servers.region.controllers.metrics("servers"))
    [family] = [one for one in families if one.name == "osctl_reconcile_duration_seconds"]
    own = [sample for sample in family.samples if sample.labels.get("kind") == "server"]
    count = sum(sample.value for sample in own if sample.name.endswith("_count"))
    return int(count), sum(sample.value for sample in own if sample.name.endswith("_sum"))


def test_a_hundred_at_once_are_made_once_each_and_no_pass_waits_for_openstack(servers: ServersBed) -> None:
    names = [f"many-{index}" for index in range(COUNT)]
    servers.restart()
    servers.region.controllers.wait_healthy()
    servers.proxy.took.clear()
    began = time.monotonic()
    for name in names:
        servers.create(name)

    def ready() -> bool:
        listed = servers.region.kube.list(SERVER, servers.namespace)
        states = [
            entry
            for live in listed
            for entry in (live.get("status") or {}).get("conditions") or ()
            if entry["type"] == "Ready" and entry["status"] == "True"
        ]
        return len(states) == COUNT

    servers.wait("all are ready", ready, names[0], 1500)
    elapsed = time.monotonic() - began
    passes, seconds = _passes(servers)
    answers = sum(servers.proxy.took)
    print(f"{COUNT} servers ready in {elapsed:.0f} s: {passes} passes, {len(servers.proxy.took)} requests")
    print(f"a pass takes {seconds / passes:.2f} s, of it {answers / passes:.2f} s of OpenStack's answers")
    # What is left are a few requests to the API server: no pass sleeps, or asks until something has come.
    assert (seconds - answers) / passes < 1.0

    assert servers.counts() == {servers.uid(name): {"servers": 1, "ports": 1} for name in names}

    before, _ = _passes(servers)
    servers.proxy.asked.clear()

    def rested() -> bool:
        return _passes(servers)[0] >= before + 2 * COUNT

    servers.wait("two passes at each", rested, names[0], 300)
    asked, (after, _) = list(servers.proxy.asked), _passes(servers)
    logins = [path for _, path in asked if "/auth/" in path]
    cost = (len(asked) - len(logins)) / (after - before)
    print(f"at rest a pass costs {cost:.2f} requests: {cost * PASSES_AN_HOUR:.0f} for a server and hour")
    assert {method for method, path in asked if "/auth/" not in path} == {"GET"}
    assert cost < 3
