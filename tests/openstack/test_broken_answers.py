"""A proxy before the APIs breaks their answers: no harmful request arrives, and all goes on afterwards."""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from sandbox.openstack.services import compute_name
from tests.cluster.region import wait_until
from tests.openstack.bed import Bed, spec_of
from tests.openstack.proxy import Fault, Proxy, Rule, proxied

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.openstack,
    pytest.mark.xdist_group("openstack"),
    # On a machine with other work beside it the set-up of the cloud counts, too.
    pytest.mark.timeout(1500),
]
LISTS = re.compile(r"/(os-services|os-hypervisors|servers|agents|os-aggregates)")
ALL_LISTS = re.compile(r"/(os-services|os-hypervisors|servers|agents|allocations)")
# The evacuation that the faults have to prevent takes less, as the first test shows. Of answers that hang a
# single pass takes half of that.
WATCHED_FOR = 75.0
WATCHED_LATE = 180.0
# Of the tests with faults that one is run always.
SAMPLE = "404 of an ingress"


def on_lists(fault: Fault) -> Rule:
    return lambda method, path: fault if method == "GET" and LISTS.search(path) else None


def every_other_time(fault: Fault, hit: list[tuple[str, str]]) -> Rule:
    """The first request of each write fails, its repetition does not; `hit` gets those that failed."""
    came: Counter[tuple[str, str]] = Counter()

    def rule(method: str, path: str) -> Fault | None:
        if method == "GET" or "/auth/" in path:
            return None
        came[method, path] += 1
        if came[method, path] % 2 == 0:
            return None
        hit.append((method, path))
        return fault

    return rule


def down_cell(content: bytes) -> bytes:
    """Services as Nova tells them of a cell that does not answer."""
    answer = json.loads(content)
    for service in answer.get("services", ()):
        if service.get("host") == "cmp2":
            service.update(status="UNKNOWN", state="")
    return json.dumps(answer).encode()


def without_servers(content: bytes) -> bytes:
    """Lists of servers that came back empty, and hypervisors that say they have none."""
    answer = json.loads(content)
    if "servers" in answer:
        answer = {"servers": []}
    for one in answer.get("hypervisors", ()):
        one["servers"] = []
    return json.dumps(answer).encode()


def without_host(*lists: str) -> Fault:
    """Valid answers that leave the third host out of these lists."""

    def edit(content: bytes) -> bytes:
        answer = json.loads(content)
        for name in lists:
            if isinstance(answer.get(name), list):
                answer[name] = [one for one in answer[name] if "cmp3" not in json.dumps(one)]
            elif name in answer:
                answer[name] = {}
        return json.dumps(answer).encode()

    return Fault(edit=edit)


SHORTER: dict[str, tuple[str, ...]] = {
    "compute services": ("services",),
    "compute services and hypervisors": ("services", "hypervisors"),
    "servers and allocations": ("servers", "allocations"),
    "agents": ("agents",),
}
INGRESS = Fault(404, {"Content-Type": "text/html"}, b"default backend - 404")
FAULTS: dict[str, Fault] = {
    "429": Fault(429, {"Retry-After": "2"}),
    "503": Fault(503),
    "cut short": Fault(cut=True),
    "wrong cell": Fault(edit=down_cell),
    "late": Fault(hang=20.0),
    SAMPLE: INGRESS,
}
# Of a write no one knows what became of it; it did not arrive, or it did.
WRITES: dict[str, Fault] = {
    "429": Fault(429, {"Retry-After": "2"}),
    "503": Fault(503),
    "503, and done": Fault(503, acted=True),
    "hangs, not done": Fault(504, hang=20.0),
    "hangs, and done": Fault(504, hang=20.0, acted=True),
    "404 of an ingress": INGRESS,
}
# What tells of one server, or of one host's resources, when the lists are too short.
SINGLE: dict[str, re.Pattern[str]] = {
    "a server": re.compile(r"/nova/v2\.1/servers/[0-9a-f]{8}-[0-9a-f-]+$"),
    "what Placement holds": re.compile(r"/placement/resource_providers/[^/]+/allocations"),
}


@pytest.fixture
def proxy(bed: Bed) -> Iterator[Proxy]:
    with proxied(bed.cloud) as proxy:
        bed.give_credentials(proxy.clouds())
        yield proxy


def harmful(proxy: Proxy, bed: Bed) -> list[tuple[str, str]]:
    """DELETEs, and what forces down or evacuates."""
    found = [one for one in proxy.writes() if one[0] == "DELETE"]
    found += [one for one in proxy.writes() if one[1].endswith("/action")]
    assert not any(bed.service(host).is_forced_down for host in ("cmp1", "cmp2", "cmp3"))
    return found


def known_server(bed: Bed) -> str:
    """A server on the third host, of which the region knows."""
    [server] = bed.boot(1, "cmp3")
    wait_until("it is known", lambda: bed.node("cmp3").get("servers") == 1, 90, bed.log)
    return str(server.id)


def provoke(bed: Bed, proxy: Proxy, rule: Rule) -> None:
    """A dead, fenced node, whose servers would be evacuated by themselves at once, and broken answers."""
    # With disks of its own nothing would be evacuated in any case.
    bed.confirm_disks("cmp3")
    proxy.rule = rule
    bed.region.apply(spec_of(bed.region, evacuation="Auto", maxUnhealthy="100%"))
    bed.cloud.kill(compute_name("cmp3"))
    bed.set_ready("cmp3", False)
    time.sleep(1.1)
    bed.fence("cmp3")


def watch(bed: Bed, seconds: float) -> None:
    """Lets so many seconds pass."""
    began = time.monotonic()
    wait_until("it was looked at", lambda: time.monotonic() - began > seconds, seconds + 5, bed.log)


def wait_evacuated(bed: Bed, server: str, within: float) -> None:
    """Until the server is elsewhere, moved once."""

    def elsewhere() -> bool:
        found = bed.servers()[server]
        return bool(found.compute_host != "cmp3" and found.status == "ACTIVE" and not found.task_state)

    wait_until("it is evacuated", elsewhere, within, bed.log)
    assert [one.migration_type for one in bed.migrations(server)] == ["evacuation"]


@pytest.mark.exhaustive
def test_without_faults_the_server_of_a_dead_node_is_evacuated_in_the_time_that_is_watched(
    bed: Bed, proxy: Proxy
) -> None:
    """Without that it would say nothing that with faults it is not."""
    server = known_server(bed)
    provoke(bed, proxy, lambda *_: None)
    wait_evacuated(bed, server, WATCHED_FOR)
    assert bed.service("cmp3").is_forced_down


@pytest.mark.parametrize(
    "name", [pytest.param(one, marks=() if one == SAMPLE else pytest.mark.exhaustive) for one in FAULTS]
)
def test_nothing_harmful_is_asked_for_while_lists_are_broken(bed: Bed, proxy: Proxy, name: str) -> None:
    server = known_server(bed)
    proxy.seen.clear()
    proxy.asked.clear()
    provoke(bed, proxy, on_lists(FAULTS[name]))
    watch(bed, WATCHED_LATE if name == "late" else WATCHED_FOR)
    assert sum("/os-services" in path for _, path in proxy.asked) >= 3
    assert harmful(proxy, bed) == []
    assert bed.service("cmp3").status == "enabled"
    proxy.rule = lambda *_: None
    # With answers again it goes on, and what was to be prevented happens.
    wait_evacuated(bed, server, 150)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", WRITES)
def test_a_maintenance_whose_writes_fail_at_first_moves_each_server_once(
    bed: Bed, proxy: Proxy, name: str
) -> None:
    made = {one.id for one in bed.boot(2, "cmp1")}
    hit: list[tuple[str, str]] = []
    proxy.rule = every_other_time(WRITES[name], hit)
    bed.maintain("work", "cmp1", retries=20, budgets={"serversPerNode": 2})
    bed.wait_phase("work", "Completed", 480)
    assert {f"/nova/v2.1/servers/{id_}/action" for id_ in made} <= {path for _, path in hit}
    after = bed.servers()
    assert set(after) == made
    assert {one.status for one in after.values()} == {"ACTIVE"}
    assert "cmp1" not in {one.compute_host for one in after.values()}
    assert Counter(len(bed.migrations(id_)) for id_ in made) == {1: 2}


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", WRITES)
def test_an_evacuation_whose_writes_fail_at_first_moves_the_server_once(
    bed: Bed, proxy: Proxy, name: str
) -> None:
    server = known_server(bed)
    hit: list[tuple[str, str]] = []
    provoke(bed, proxy, every_other_time(WRITES[name], hit))
    wait_evacuated(bed, server, 400)
    assert ("POST", f"/nova/v2.1/servers/{server}/action") in hit


@pytest.mark.exhaustive
@pytest.mark.parametrize("what", SINGLE)
def test_an_ingress_without_a_backend_does_not_make_a_host_empty(bed: Bed, proxy: Proxy, what: str) -> None:
    """The lists say that there are no servers, and what would contradict them answers 404."""
    known_server(bed)

    def rule(method: str, path: str) -> Fault | None:
        if method == "GET" and SINGLE[what].search(path):
            return INGRESS
        if method == "DELETE" and "/os-services/" in path:
            return INGRESS
        return Fault(edit=without_servers) if method == "GET" and LISTS.search(path) else None

    proxy.seen.clear()
    proxy.asked.clear()
    with removed(bed):
        proxy.rule = rule
        came = lambda: any(SINGLE[what].search(path) for _, path in proxy.asked)  # noqa: E731
        wait_until("it is asked for", came, 150, bed.log)
        watch(bed, 30)
        assert harmful(proxy, bed) == []
        assert bed.service("cmp3") is not None
        providers = bed.sdk.placement.get("/resource_providers?name=cmp3").json()["resource_providers"]
        assert [one["name"] for one in providers] == ["cmp3"]
        proxy.rule = lambda *_: None
        wait_until("it is told", lambda: bed.node("cmp3").get("reason") == "ServersLeft", 150, bed.log)


@pytest.mark.exhaustive
def test_lists_that_say_there_are_no_servers_do_not_remove_a_host(bed: Bed, proxy: Proxy) -> None:
    known_server(bed)
    proxy.rule = on_lists(Fault(edit=without_servers))
    with removed(bed):
        reported = lambda: "Placement" in str(bed.node("cmp3").get("message"))  # noqa: E731
        wait_until("Placement is believed", reported, 150, bed.log)
        assert harmful(proxy, bed) == []
        assert bed.service("cmp3") is not None


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", SHORTER)
def test_valid_lists_that_leave_a_host_out_neither_remove_nor_forget_it(
    bed: Bed, proxy: Proxy, name: str
) -> None:
    known_server(bed)
    proxy.seen.clear()
    fault = without_host(*SHORTER[name])
    proxy.rule = lambda method, path: fault if method == "GET" and ALL_LISTS.search(path) else None
    with removed(bed):
        began = time.monotonic()
        # Several looks: one alone would not be believed in any case.
        wait_until("it was looked at", lambda: time.monotonic() - began > 60, 65)
        assert harmful(proxy, bed) == []
        assert bed.node("cmp3").get("uid")
        proxy.rule = lambda *_: None
        wait_until("it is told", lambda: bed.node("cmp3").get("reason") == "ServersLeft", 150, bed.log)
        assert harmful(proxy, bed) == []


@contextmanager
def removed(bed: Bed) -> Iterator[None]:
    """The third node is deleted, with its compute, and made again afterwards."""
    obj = bed.kubectl("get", "node", "cmp3", "-o", "json")
    bed.kubectl("delete", "node", "cmp3")
    bed.cloud.kill(compute_name("cmp3"))
    try:
        yield
    finally:
        node = json.loads(obj)
        for key in ("uid", "resourceVersion", "creationTimestamp", "managedFields"):
            node["metadata"].pop(key, None)
        bed.region.sandbox.kubectl("apply", "-f", "-", input=json.dumps(node))


@pytest.mark.exhaustive
def test_new_credentials_are_used_without_a_restart(bed: Bed) -> None:
    pid = bed.region.controllers.pid("node")
    bed.give_credentials(password="wrong")
    bed.kubectl("cordon", "cmp1")
    time.sleep(10)
    assert bed.service("cmp1").status == "enabled"
    bed.give_credentials()
    bed.wait_service("cmp1", status="disabled")
    assert bed.region.controllers.pid("node") == pid
    assert "wrong" not in bed.log()
