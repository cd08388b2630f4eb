"""The five containers themselves, each with many causes at once to write its part of one status.

Every version of the osdpl is looked at: what changed from one to the next is one container's own, nothing
is lost, nothing goes back, and in the end all of it is true.
"""

from __future__ import annotations

import base64
import json
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from controller.adapters.kubernetes.client import PykubeClient, resource_url
from controller.adapters.kubernetes.connection import connect
from controller.domain.api.conditions import WHILE_TRUE, find
from controller.domain.api.names import API_VERSION, DEPLOYMENT_LABEL
from controller.domain.hosts.node_roles import ROLE_VALUE, ROLES
from controller.domain.releases.digests import fingerprint
from controller.ports.kubernetes import HELMBUNDLE, NODE, OSDPL, POD, SECRET
from tests.cluster.region import CONTAINERS, NAME, Region, wait_until
from tests.cluster.regions.test_region_restarts import components
from tests.cluster.status_history import SHOWN, read_history

pytestmark = [pytest.mark.cluster, pytest.mark.xdist_group("shared-region")]

# A bundle of a person's own that counts among the region's: core does not write it, and no Helm release
# comes of it.
EXTRA = "cause"
# Roles by which no chart of the region chooses nodes: no pod comes or goes with them.
FREE_ROLES = ("openstack-network-node", "l3-agent")
# Which of them the node has, in turns: each differs from the two after it.
TURNS = ((False, True), (False, False), (True, False), (True, True))
# What is not so of a region that runs undisturbed.
ABSENT = ("Planned", "Paused", "Deleting")
# A component that came and went is well once it has stayed so for a minute.
SETTLED_WITHIN = 240.0


@dataclass
class Storm:
    """The causes of each container, by number from 1, on a region that runs."""

    region: Region
    kube: PykubeClient
    node_name: str
    secret_name: str
    workloads: list[str]

    def core(self, number: int) -> None:
        """Another generation of the spec, of which no release is made differently."""
        nodes = {"holdDown": f"{600 + number}s"}
        self._patch(OSDPL, NAME, {"spec": {"features": {"nodes": nodes}}})

    def helmbundle(self, number: int) -> None:
        """Another release in a bundle that is suspended; none in every fourth, which makes it Ready."""
        release = {"name": f"cause-{number}", "chart": {"name": "memcached", "path": "memcached"}}
        self._patch(HELMBUNDLE, EXTRA, {"spec": {"releases": [release] if number % 4 else []}})

    def health(self, number: int) -> None:
        """A pod that is deleted, of each workload in turn: what falls often is not well at once again."""
        pod = living_pods(self.kube, self.region).get(self.workloads[number % len(self.workloads)])
        if pod is not None:
            self.kube.delete(POD, pod, self.region.namespace)

    def secrets(self, number: int) -> None:
        """Another key in a Secret of credentials, in the place of the one before."""
        text = base64.b64encode(str(number).encode()).decode()
        self._patch(
            SECRET, self.secret_name, {"data": {f"cause-{number - 1}": None, f"cause-{number}": text}}
        )

    def node(self, number: int) -> None:
        """A role that is given to the node, or taken from it."""
        roles = zip(FREE_ROLES, TURNS[(number - 1) % len(TURNS)], strict=True)
        labels = {role: ROLE_VALUE if given else None for role, given in roles}
        self.kube.merge_patch(NODE, self.node_name, None, {"metadata": {"labels": labels}})

    def rage(self, causes: int, pace: float) -> None:
        """So many rounds of a cause for each container, all five at once, every `pace` seconds.

        A round waits for the one before: where the machine is slow, all of them come more slowly.
        """
        acts: list[Callable[[int], None]] = [getattr(self, container) for container in CONTAINERS]
        began, pause = time.monotonic(), threading.Event()
        with ThreadPoolExecutor(len(acts)) as pool:
            for number in range(1, causes + 1):
                pause.wait(max(began + number * pace - time.monotonic(), 0))
                for one in [pool.submit(act, number) for act in acts]:
                    one.result()
        # Nothing tells of a Secret: what was done to it is seen with the next change of the osdpl.
        self.core(causes + 1)

    def _patch(self, resource: Any, name: str, patch: dict[str, Any]) -> None:
        patched = self.kube.merge_patch(resource, name, self.region.namespace, patch)
        assert patched is not None, f"{name} is gone"


def living_pods(kube: PykubeClient, region: Region) -> dict[str, str]:
    """A pod of each workload of the region that is no Job, by the name of what made it."""
    metas = [one["metadata"] for one in kube.list_metadata(POD, region.namespace, labels="release_group")]
    return {
        owner["name"]: meta["name"]
        for meta in metas
        for owner in meta.get("ownerReferences") or ()
        if owner["kind"] != "Job" and "deletionTimestamp" not in meta
    }


@contextmanager
def storm_over(region: Region) -> Iterator[Storm]:
    """A storm's place; afterwards everything is as it was, and the region Ready."""
    kube = PykubeClient(connect(region.sandbox.kubeconfig), user_agent="test")
    status = region.status()
    node = next(iter(status["nodes"]))
    labels = region.get("node", node)["metadata"]["labels"]
    secret = next(name for name in status["secrets"] if name.endswith("-credentials"))
    storm = Storm(region, kube, node, secret, sorted(living_pods(kube, region)))
    meta = {"name": EXTRA, "namespace": region.namespace, "labels": {DEPLOYMENT_LABEL: NAME}}
    spec = {"mode": "Paused", "releases": []}
    kube.create({"apiVersion": API_VERSION, "kind": HELMBUNDLE.kind, "metadata": meta, "spec": spec})
    try:
        wait_until("the bundle is told", lambda: children_of(region).get(EXTRA, {}).get("deployed"))
        region.wait_ready()
        yield storm
    finally:
        kube.delete(HELMBUNDLE, EXTRA, region.namespace)
        before = {role: labels.get(role) for role in FREE_ROLES}
        kube.merge_patch(NODE, node, None, {"metadata": {"labels": before}})
        data = (kube.get(SECRET, secret, region.namespace) or {}).get("data") or {}
        left = {key: None for key in data if key.startswith("cause-")}
        kube.merge_patch(SECRET, secret, region.namespace, {"data": left})
        region.edit(features={"nodes": None})
        wait_until("the bundle is forgotten", lambda: EXTRA not in children_of(region))
        region.wait_ready()


def children_of(region: Region) -> dict[str, Any]:
    found: dict[str, Any] = region.status().get("children") or {}
    return found


@contextmanager
def recording(region: Region, path: Path) -> Iterator[None]:
    """Writes every version of the osdpl into the file while the block runs, and a watch goes on."""
    place = f"{resource_url(OSDPL, region.namespace)}?watch=1&fieldSelector=metadata.name={NAME}"
    command = [str(region.sandbox.binaries.kubectl), "--kubeconfig", str(region.sandbox.kubeconfig)]
    command += ["get", "--raw", f"{place}&timeoutSeconds=3600"]

    def newest_is_there() -> bool:
        newest = region.osdpl()["metadata"]["resourceVersion"]
        with path.open("rb") as file:
            # The newest are at the end.
            file.seek(max(path.stat().st_size - 1_000_000, 0))
            return f'"resourceVersion":"{newest}"'.encode() in file.read()

    with path.open("w") as output, subprocess.Popen(command, stdout=output) as process:
        try:
            wait_until("the watch", newest_is_there)
            yield
            wait_until("the newest version", newest_is_there)
            # One that was cut off and begun again might have missed a version.
            assert process.poll() is None
        finally:
            process.terminate()


def states(path: Path) -> Iterator[dict[str, Any]]:
    """The versions in the file, one after the other: all of them together are too large for the memory."""
    with path.open(encoding="utf-8") as file:
        for line in file:
            if line.endswith("\n"):
                event = json.loads(line)
                assert event["type"] in ("ADDED", "MODIFIED"), line[:1000]
                yield event["object"]


def untrue(storm: Storm, workloads: set[tuple[str, str]]) -> list[str]:
    """What the status says that is not so, of a region whose components are `workloads`."""
    region, kube = storm.region, storm.kube
    osdpl = region.osdpl()
    status = osdpl["status"]
    found = untrue_summary(osdpl, len(workloads))
    bundles = kube.list(HELMBUNDLE, region.namespace, labels=f"{DEPLOYMENT_LABEL}={NAME}")
    numbers = {one["metadata"]["name"]: len(one["spec"]["releases"]) for one in bundles}
    children = {name: (True, f"{number}/{number}") for name, number in numbers.items()}
    if {name: (one["deployed"], one["releases"]) for name, one in status["children"].items()} != children:
        found.append(f"children: {status['children']}")
    health = components(osdpl)
    if health.keys() != workloads or {one["status"] for one in health.values()} != {"Ready"}:
        found.append(f"health: {health}")
    keys = sorted((kube.get(SECRET, storm.secret_name, region.namespace) or {})["data"])
    if status["secrets"][storm.secret_name]["keys"] != keys:
        found.append(f"{storm.secret_name} has {keys}")
    labels = region.get("node", storm.node_name)["metadata"]["labels"]
    roles = [role for role in ROLES if labels.get(role) == ROLE_VALUE]
    node = status["nodes"][storm.node_name]
    if (node["state"], node["roles"]) != ("Ready", roles):
        found.append(f"node: {node}")
    return found


def untrue_summary(osdpl: dict[str, Any], workloads: int) -> list[str]:
    """What conditions and core's fields say that is not so of a region that is as its spec asks for."""
    status, generation = osdpl["status"], osdpl["metadata"]["generation"]
    found = [
        f"{entry['type']} is {entry['status']} of generation {entry['observedGeneration']}, not {generation}"
        for entry in status["conditions"]
        if entry["observedGeneration"] != generation
        or entry["status"] != ("False" if entry["type"] in ABSENT else "True")
    ]
    found += [f"{name} is there" for name in WHILE_TRUE if find(status["conditions"], name)]
    desired = (generation, "Applied", fingerprint(osdpl["spec"]), f"{workloads}/{workloads}")
    reported = (status["observedGeneration"], status["state"], status["fingerprint"], status["healthy"])
    return found if reported == desired else [*found, f"the summary is {reported}, not {desired}"]


@pytest.mark.parametrize(
    ("causes", "pace", "floor"),
    [
        pytest.param(20, 1.0, 2, marks=pytest.mark.timeout(1800)),
        pytest.param(1000, 0.5, 50, marks=[pytest.mark.exhaustive, pytest.mark.timeout(3600)]),
    ],
)
def test_of_many_causes_at_once_none_is_lost_and_no_foreign_entry_is_touched(
    shared_region: Region, tmp_path: Path, causes: int, pace: float, floor: int
) -> None:
    revisions, workloads = shared_region.revisions(), set(components(shared_region.osdpl()))
    path = tmp_path / "versions.json"
    with storm_over(shared_region) as storm, recording(shared_region, path):
        storm.rage(causes, pace)
        wait_until(
            "the status is true",
            lambda: not untrue(storm, workloads),
            SETTLED_WITHIN,
            lambda: "\n".join(untrue(storm, workloads)),
        )
    history = read_history(states(path))
    print(json.dumps(history.figures()))
    assert history.findings[:SHOWN] == []
    # None of these moves without a cause of the container's own. How many causes one pass takes up is a
    # matter of the machine.
    assert {name for name in CONTAINERS if history.moves[name] < floor} == set(), history.figures()
    assert shared_region.revisions() == revisions
    path.unlink()
