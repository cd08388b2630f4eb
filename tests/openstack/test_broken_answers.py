"""A proxy before the APIs breaks their answers: no harmful request arrives, and all goes on afterwards."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from sandbox.openstack.services import compute_name
from tests.cluster.region import wait_until
from tests.openstack.bed import Bed, now, spec_of
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
WATCHED_FOR = 25.0


def on_lists(fault: Fault) -> Rule:
    return lambda method, path: fault if method == "GET" and LISTS.search(path) else None


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
FAULTS: dict[str, Fault] = {
    "429": Fault(429, {"Retry-After": "2"}),
    "503": Fault(503),
    "cut short": Fault(cut=True),
    "wrong cell": Fault(edit=down_cell),
    "late": Fault(hang=20.0),
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


def provoke(bed: Bed, proxy: Proxy, rule: Rule) -> None:
    """A dead, fenced node with servers and evacuation Auto, and broken lists."""
    proxy.rule = rule
    bed.region.apply(spec_of(bed.region, evacuation="Auto", brakePercent=100))
    bed.cloud.kill(compute_name("cmp3"))
    bed.set_ready("cmp3", False)
    time.sleep(1.1)
    bed.kubectl("annotate", "node", "cmp3", f"osctl.dev/fenced-at={now()}", "--overwrite")


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", FAULTS)
def test_nothing_harmful_is_asked_for_while_lists_are_broken(bed: Bed, proxy: Proxy, name: str) -> None:
    bed.boot(1, "cmp3")
    wait_until("it is known", lambda: bed.node("cmp3").get("servers") == 1, 90, bed.log)
    proxy.seen.clear()
    provoke(bed, proxy, on_lists(FAULTS[name]))
    began = time.monotonic()
    wait_until("it was looked at", lambda: time.monotonic() - began > WATCHED_FOR, WATCHED_FOR + 5)
    assert harmful(proxy, bed) == []
    assert bed.service("cmp3").status == "enabled"
    proxy.rule = lambda *_: None
    # With answers again it goes on: the local disk of the server keeps it from being evacuated.
    bed.wait_service("cmp3", status="disabled", timeout=150)


@pytest.mark.exhaustive
def test_lists_that_say_there_are_no_servers_do_not_remove_a_host(bed: Bed, proxy: Proxy) -> None:
    bed.boot(1, "cmp3")
    wait_until("it is known", lambda: bed.node("cmp3").get("servers") == 1, 90, bed.log)
    proxy.rule = on_lists(Fault(edit=without_servers))
    with removed(bed):
        told = lambda: "Placement" in str(bed.node("cmp3").get("message"))  # noqa: E731
        wait_until("Placement is believed", told, 150, bed.log)
        assert harmful(proxy, bed) == []
        assert bed.service("cmp3") is not None


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", SHORTER)
def test_valid_lists_that_leave_a_host_out_neither_remove_nor_forget_it(
    bed: Bed, proxy: Proxy, name: str
) -> None:
    bed.boot(1, "cmp3")
    wait_until("it is known", lambda: bed.node("cmp3").get("servers") == 1, 90, bed.log)
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
