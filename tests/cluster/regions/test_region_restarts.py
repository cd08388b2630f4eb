"""Every container killed in the middle of a change: the end is right, and no state goes backwards."""

from __future__ import annotations

import itertools
import json
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from controller.adapters.kubernetes.client import PykubeClient
from controller.adapters.kubernetes.connection import connect
from controller.domain.api.names import CLOUDS_SECRET
from controller.ports.kubernetes import HELMBUNDLE, NODE, OSDPL, SECRET
from sandbox.cluster import Sandbox
from tests.cluster.conftest import installed
from tests.cluster.health.test_health_faults import kubelet, report_pods, revive
from tests.cluster.health.test_region_health import watching
from tests.cluster.region import CONTAINERS, NAME, Region, wait_until

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.exhaustive,
    pytest.mark.timeout(2400),
    pytest.mark.xdist_group("shared-region"),
]

# A container may have done its work before a signal reaches it: then the next change is the one.
TRIES = 5
# Seconds, on a machine that is busy with other things.
AT_WORK_WITHIN = 30.0
# Longer than a container outlives without its Lease (10 s): all five end, and start again.
OUTAGE = 25.0


def conditions(state: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {entry["type"]: entry for entry in state["status"]["conditions"]}


def steps_back(before: dict[str, Any], after: dict[str, Any], lasting: set[tuple[str, str]]) -> list[str]:
    """What in the second state is older than in the first, or ahead of the spec.

    `lasting`: the components that are there to the end.
    """
    found = []
    if after["status"]["observedGeneration"] < before["status"]["observedGeneration"]:
        found.append("observedGeneration")
    was, is_ = conditions(before), conditions(after)
    for type_, entry in is_.items():
        old = was.get(type_, entry)
        if entry.get("observedGeneration", 0) > after["metadata"]["generation"]:
            found.append(f"{type_} is ahead of the spec")
        if entry.get("observedGeneration", 0) < old.get("observedGeneration", 0):
            found.append(f"{type_} speaks of an older spec")
        moments = (datetime.fromisoformat(one["lastTransitionTime"]) for one in (old, entry))
        if next(moments) > next(moments):
            found.append(f"{type_} turned over earlier than before")
        if old["status"] == entry["status"] and old["lastTransitionTime"] != entry["lastTransitionTime"]:
            found.append(f"{type_} moved its time without a change")
    found += components_back(components(before), components(after), lasting)
    if not (after["status"].get("initialization") or {}).get("provisioned"):
        found.append("initialization.provisioned is gone")
    return found


Components = dict[tuple[str, str], dict[str, Any]]


def components_back(was: Components, is_: Components, lasting: set[tuple[str, str]]) -> list[str]:
    """What `status.health` forgot of components that last, or says to be so since another moment."""
    found = [f"{'/'.join(name)} is forgotten" for name in (was.keys() & lasting) - is_.keys()]
    for name in was.keys() & is_.keys():
        old, new = was[name], is_[name]
        if datetime.fromisoformat(new["since"]) < datetime.fromisoformat(old["since"]):
            found.append(f"{'/'.join(name)} is so since earlier than before")
        if old["status"] == new["status"] and old["since"] != new["since"]:
            found.append(f"{'/'.join(name)} moved its time without a change")
        if new["status"] == "Unknown":
            found.append(f"{'/'.join(name)} is not known any more")
    return found


def components(state: dict[str, Any]) -> Components:
    health = state["status"].get("health") or {}
    return {(one, name): entry for one, entries in health.items() for name, entry in entries.items()}


def falls(states: list[dict[str, Any]]) -> list[str]:
    """Where Ready was True of a generation of the spec, and then was not: nothing here breaks anything."""
    found, ready = [], 0
    for state in states:
        entry = conditions(state)["Ready"]
        generation = entry.get("observedGeneration", 0)
        if entry["status"] == "True":
            ready = generation
        elif generation == ready:
            version = state["metadata"]["resourceVersion"]
            found.append(f"{version}: Ready of {generation} is {entry['status']} again: {entry['message']}")
    return found


def backwards(region: Region, states: list[dict[str, Any]]) -> list[tuple[str, str, list[str]]]:
    """Each step back on the way through all states, with the resourceVersions before and after it."""
    # Jobs come and go: an upgrade deletes them and makes them again.
    lasting = set(components(states[-1])) - jobs(region)
    assert lasting
    return [
        (before["metadata"]["resourceVersion"], after["metadata"]["resourceVersion"], found)
        for before, after in itertools.pairwise(states)
        if (found := steps_back(before, after, lasting))
    ]


def jobs(region: Region) -> set[tuple[str, str]]:
    """The components that are Jobs, as `components` names them."""
    labels = [job["spec"]["template"]["metadata"]["labels"] for job in region.get("jobs")["items"]]
    return {(one["application"], one["component"]) for one in labels}


def assert_well(state: dict[str, Any]) -> None:
    """Ready, and all conditions of the newest spec."""
    last = conditions(state)
    assert last["Ready"]["status"] == "True"
    assert {entry["observedGeneration"] for entry in last.values()} == {state["metadata"]["generation"]}


AtWork = Callable[[], bool]


class Changes:
    """For each container a change that it must do something about.

    Each returns what is true while that container is in the middle of it, and false before and after.
    """

    def __init__(self, region: Region) -> None:
        self.region = region
        # kubectl takes longer to start than some of this takes.
        self.kube = PykubeClient(connect(region.sandbox.kubeconfig), user_agent="test")
        self._numbers = itertools.count(1)
        self._node = next(iter(region.status()["nodes"]))

    def core(self) -> AtWork:
        """The bundle is written, and the region not seen to be what it is to be."""
        before = self._get(HELMBUNDLE, "cache")["metadata"]["generation"]
        self._edit_memcached()

        def at_work() -> bool:
            osdpl = self._osdpl()
            ready = conditions(osdpl)["Ready"]
            reported = (ready["status"], ready["observedGeneration"]) == (
                "True",
                osdpl["metadata"]["generation"],
            )
            return bool(self._get(HELMBUNDLE, "cache")["metadata"]["generation"] > before and not reported)

        return at_work

    def helmbundle(self) -> AtWork:
        """Helm is at work on the release."""
        self._edit_memcached()

        def at_work() -> bool:
            releases = self._get(HELMBUNDLE, "cache")["status"]["releases"]
            return any(release["state"] == "Upgrading" for release in releases)

        return at_work

    def health(self) -> AtWork:
        """A component rolls out."""
        self._edit_memcached()

        def at_work() -> bool:
            entries = self._osdpl()["status"]["health"]["memcached"].values()
            return any(entry["status"] == "Progressing" for entry in entries)

        return at_work

    def secrets(self) -> AtWork:
        """The administrator's clouds.yaml is written again, and its digest not reported yet."""
        region = {"region_name": f"Region{next(self._numbers)}"}
        values = {"endpoints": {"identity": {"auth": {"admin": region}}}}
        before = self._get(SECRET, CLOUDS_SECRET)["data"]
        digest = self._osdpl()["status"]["secrets"][CLOUDS_SECRET]["digest"]
        self.region.edit(services={"identity": {"keystone": {"values": values}}})

        def at_work() -> bool:
            written = self._get(SECRET, CLOUDS_SECRET)["data"] != before
            return bool(written and self._osdpl()["status"]["secrets"][CLOUDS_SECRET]["digest"] == digest)

        return at_work

    def node(self) -> AtWork:
        """A Node is cordoned, or is not any more, and it is not reported yet."""
        cordon = not self._get(NODE, self._node, None)["spec"].get("unschedulable")
        self.cordon(cordon)

        def at_work() -> bool:
            reported = self._osdpl()["status"]["nodes"][self._node]["state"] == "Cordoned"
            return reported is not cordon

        return at_work

    def cordon(self, unschedulable: bool) -> None:
        self.kube.merge_patch(NODE, self._node, None, {"spec": {"unschedulable": unschedulable or None}})

    def undo(self) -> None:
        """What would be in the way of other tests of the region."""
        self.cordon(False)
        self.region.edit(services={"identity": None})

    def _edit_memcached(self) -> None:
        memory = {"conf": {"memcached": {"memory": 512 + 64 * next(self._numbers)}}}
        self.region.edit(services={"cache": {"memcached": {"values": memory}}})

    def _osdpl(self) -> dict[str, Any]:
        return self._get(OSDPL, NAME)

    def _get(self, resource: Any, name: str, namespace: str | None = "") -> dict[str, Any]:
        found = self.kube.get(resource, name, self.region.namespace if namespace == "" else namespace)
        assert found is not None, f"{name} is gone"
        return dict(found)


def seen(at_work: AtWork, timeout: float) -> bool:
    """Whether it came true in time; asked as often as the API server answers."""
    deadline, pause = time.monotonic() + timeout, threading.Event()
    while time.monotonic() < deadline:
        if at_work():
            return True
        pause.wait(0.005)
    return False


def kill_in_mid_change(region: Region, container: str, change: Callable[[], AtWork]) -> AtWork:
    """Kills the container at work, which is seen before and after: no one else goes on with it."""
    for _ in range(TRIES):
        at_work = change()
        caught = seen(at_work, AT_WORK_WITHIN)
        region.controllers.kill(container)
        if caught and at_work():
            return at_work
        region.controllers.start(container)
        region.wait_ready()
    raise AssertionError(f"{container} was never caught at work")


def test_each_container_killed_in_mid_change(shared_region: Region, tmp_path: Path) -> None:
    changes = Changes(shared_region)
    with watching(shared_region, tmp_path / "states.json") as states:
        try:
            for container in CONTAINERS:
                at_work = kill_in_mid_change(shared_region, container, getattr(changes, container))
                shared_region.controllers.start(container)
                wait_until(f"{container} ends its work", lambda over=at_work: not over(), timeout=300)
                shared_region.wait_ready()
        finally:
            changes.undo()
        shared_region.wait_ready()
    assert len(states) > len(CONTAINERS)
    assert backwards(shared_region, states) == []
    assert falls(states) == []
    assert_well(states[-1])


@pytest.fixture
def private_region(private_sandbox: Sandbox, tmp_path: Path) -> Iterator[Region]:
    """All five containers on a control plane that may be broken."""
    namespace = f"test-{secrets.token_hex(4)}"
    private_sandbox.create_namespace(namespace, {})
    for region in installed(private_sandbox, namespace, tmp_path):
        region.apply()
        region.wait_ready()
        yield region


def healed(region: Region) -> bool:
    """Whether it is Ready; what supervisors and the kubelet would do for that is done before each pass.

    A component of the control plane may end, and a pod seem lost, long after the API server is back: the node
    was silent for as long as the API server was.
    """
    revive(region.sandbox)
    report_pods(region)
    return region.ready()


def test_an_api_server_killed_in_mid_change_sets_no_container_back(
    private_region: Region, tmp_path: Path
) -> None:
    region, changes = private_region, Changes(private_region)
    with watching(region, tmp_path / "before.json") as before:
        assert seen(changes.helmbundle(), AT_WORK_WITHIN)
    generation = region.osdpl()["metadata"]["generation"]
    processes = {name: region.controllers.pid(name) for name in CONTAINERS}
    with kubelet(region.controllers):
        region.sandbox.kill_component("apiserver")
        threading.Event().wait(OUTAGE)
        region.sandbox.start_component("apiserver")
        with watching(region, tmp_path / "after.json") as after:
            wait_until("Ready", lambda: healed(region), 400, lambda: json.dumps(region.status()))
    assert all(region.controllers.pid(name) != pid for name, pid in processes.items())
    assert before[-1]["metadata"]["generation"] == after[-1]["metadata"]["generation"] == generation
    ready = conditions(before[-1])["Ready"]
    assert (ready["status"], ready["observedGeneration"]) != ("True", generation)
    assert backwards(region, before + after) == []
    assert_well(after[-1])
    releases = region.get("hb", "cache")["status"]["releases"]
    assert {release["state"] for release in releases} == {"Deployed"}
    assert {status for _, status in region.revisions().values()} == {"deployed"}
