"""The cluster: an API server, kubelets, and Kubernetes' own controllers, as far as they matter.

Only this writes the status of Nodes, as kubelets and the node lifecycle controller do: a silent node becomes
Unknown, and what its kubelet said last stays.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Any

from controller.domain.api.conditions import timestamp
from controller.domain.api.names import DRAIN_LOCK_LABEL
from controller.ports.kubernetes import NODE, OSDPL, POD, SECRET, KubeObject, Resource
from tests.fakes.kube import FakeKube
from tests.fakes.objects import Identity
from tests.reconcile.watched import DEFINITIONS, NAME
from tests.world.clocks import Time, WrongClock
from tests.world.truth import Machine, Truth

NAMESPACE = "openstack"
COMPUTE = "openstack-compute-node"
# node-monitor-grace-period, and nodeStatusReportFrequency of kubelets.
GRACE, REPORT_EVERY = 40.0, 300.0
# As long does Kubernetes wait before it asks for the end of pods on a node that is lost.
EVICTED_AFTER = 300.0
CONFIGURATIONS = {
    "rbd:vms": "[libvirt]\nimages_type = rbd\nimages_rbd_pool = vms\n",
    "qcow2": "[libvirt]\nimages_type = qcow2\n",
}


@dataclass
class NodeState:
    """A Node as it is kept here. `ready`: of its condition; `contact`: the last word of its kubelet."""

    name: str
    uid: str
    machine: str
    ready: str
    boot: str
    contact: float
    lost: float = 0.0
    pod: tuple[bool, int] | None = None


class ApiServer(FakeKube):
    """A FakeKube that keeps no audit log, and tells cheaply what it has."""

    def has(self, resource: Resource, name: str, namespace: str = "") -> bool:
        return (resource.api_version, resource.kind, namespace, name) in self._objects

    def version(self, resource: Resource, name: str, namespace: str = "") -> str:
        """The resourceVersion; empty for what is not there."""
        stored = self._objects.get((resource.api_version, resource.kind, namespace, name))
        return str(stored.obj["metadata"]["resourceVersion"]) if stored else ""

    def versions(self, resource: Resource) -> dict[Identity, str]:
        """Of all objects of a resource."""
        kind = (resource.api_version, resource.kind)
        return {
            key: str(stored.obj["metadata"]["resourceVersion"])
            for key, stored in self._objects.items()
            if key[:2] == kind
        }

    def raw(self, identity: Identity) -> KubeObject:
        """Not to be changed."""
        return self._objects[identity].obj


class Cluster:
    """A FakeKube, and who else than we lives in it."""

    def __init__(self, truth: Truth, time: Time) -> None:
        self.truth = truth
        self.time = time
        self.clock = WrongClock(time)
        self.kube = ApiServer(clock=self.clock)
        for definition in DEFINITIONS:
            self.kube.serve(definition)
        self.nodes: dict[str, NodeState] = {}
        # By Node, there or not: the machine that joined as it last.
        self.joined: dict[str, str] = {}
        self.configured = "rbd:vms"
        self._heartbeats = 0

    # -- the beginning

    def install(self, features: dict[str, Any]) -> None:
        """A region, and what it needs."""
        meta = {"name": NAME, "namespace": NAMESPACE}
        spec = {"openstackVersion": "2026.1", "preset": "core", "size": "single"}
        spec |= {"publicDomainName": "a.example", "features": features}
        head = {"apiVersion": OSDPL.api_version, "kind": OSDPL.kind}
        self.kube.create({**head, "metadata": meta, "spec": spec})
        self._secret("openstack-clouds", {"clouds.yaml": "clouds: {}"})
        self.configure(self.configured)

    def _secret(self, name: str, data: dict[str, str]) -> None:
        entry = {"manager": "helm", "operation": "Apply", "time": timestamp(self.clock.now())}
        meta = {"name": name, "namespace": NAMESPACE, "managedFields": [entry]}
        coded = {key: base64.b64encode(text.encode()).decode() for key, text in data.items()}
        live = self.kube.get(SECRET, name, NAMESPACE)
        if live is None:
            self.kube.create({"apiVersion": "v1", "kind": "Secret", "metadata": meta, "data": coded})
        else:
            meta = {**live["metadata"], "managedFields": [entry]}
            self.kube.replace({**live, "metadata": meta, "data": coded})

    def configure(self, place: str) -> None:
        """The nova.conf of all computes, for pods that start from now on."""
        self.configured = place
        self._secret("nova-compute-default", {"nova.conf": CONFIGURATIONS[place]})

    def edit_region(self, patch: dict[str, Any]) -> None:
        self.kube.merge_patch(OSDPL, NAME, NAMESPACE, {"spec": patch})

    # -- kubelets

    def tick(self) -> None:
        for machine in self.truth.present():
            self._kubelet(machine)
        self._lose_nodes()
        self._member()

    def _kubelet(self, machine: Machine) -> None:
        now = self.time.seconds
        if not machine.powered or now - machine.started < 45.0 or not machine.cluster_link:
            return
        if machine.contacted is None:
            machine.contacted = now
        self.joined[machine.node] = machine.key
        known = self.nodes.get(machine.node)
        if known is None:
            known = self._join(machine)
        elif known.machine != machine.key:
            # Another machine has joined as this Node: what it says is its own from here on.
            known.machine, known.ready = machine.key, ""
        said = "False" if machine.unwell else "True"
        due = now - machine.posted >= REPORT_EVERY
        known.contact = now
        if due or (known.ready, known.boot) != (said, machine.boot):
            machine.posted = now
            self._say(known, said, machine)
        self.run_pods(machine, known)

    def _join(self, machine: Machine) -> NodeState:
        labels = {COMPUTE: "enabled", "kubernetes.io/hostname": machine.host, "example.org/rack": "r1"}
        meta = {"name": machine.node, "labels": labels, "annotations": {"example.org/owner": "somebody"}}
        live = self.kube.create({"apiVersion": "v1", "kind": "Node", "metadata": meta, "spec": {}})
        known = NodeState(machine.node, live["metadata"]["uid"], machine.key, "", "", self.time.seconds)
        self.nodes[machine.node] = known
        return known

    def _say(self, node: NodeState, ready: str, machine: Machine | None) -> None:
        """The condition Ready, as a kubelet writes it by its own clock, or Kubernetes of a silent one."""
        live = self.kube.get(NODE, node.name)
        assert live is not None
        before = live.get("status") or {}
        condition = dict(next(iter(before.get("conditions") or ()), {"type": "Ready"}))
        clock = self.clock.now() + (machine.clock if machine is not None else 0.0)
        if condition.get("status") != ready:
            condition |= {"status": ready, "lastTransitionTime": timestamp(clock)}
        if machine is not None:
            self._heartbeats += 1
            condition["lastHeartbeatTime"] = timestamp(clock)
            node.boot = machine.boot
        status = {"conditions": [condition], "nodeInfo": {"bootID": node.boot}}
        node.ready = ready
        self.kube.replace({**live, "status": status}, subresource="status")

    def _lose_nodes(self) -> None:
        now = self.time.seconds
        for node in self.nodes.values():
            if node.ready != "Unknown" and now - node.contact > GRACE:
                self._say(node, "Unknown", None)
                node.lost, node.pod = now, None
                for pod in self._pods_on(node.name):
                    self._tell_ready(pod, False)

    def remove_node(self, name: str) -> None:
        """`kubectl delete node`, and its pods are collected."""
        self.kube.delete(NODE, name)
        del self.nodes[name]
        for pod in self._pods_on(name):
            self.kube.delete(POD, pod["metadata"]["name"], NAMESPACE)

    # -- pods

    def delete(
        self,
        resource: Resource,
        name: str,
        namespace: str | None,
        *,
        uid: str = "",
        version: str = "",
        grace: int | None = None,
    ) -> bool:
        """As the API server does: a pod goes once its kubelet has ended it, or at once without a grace."""
        if resource == POD and grace == 0 and self.kube.has(POD, name, namespace or ""):
            self.kube.merge_patch(POD, name, namespace, {"metadata": {"finalizers": None}})
        return self.kube.delete(resource, name, namespace, uid=uid, version=version, grace=grace)

    def _pods_on(self, node: str) -> list[KubeObject]:
        """Those of the region that are on a node, besides what no one here may touch."""
        on = (one for one in self.kube.objects("Pod") if one["spec"].get("nodeName") == node)
        return [one for one in on if one["metadata"]["name"] not in ("somebodys", "db-0")]

    def run_pods(self, machine: Machine, node: NodeState) -> None:
        """Its DaemonSet's pod is there and says whether it runs; locks run."""
        name = f"nova-compute-{node.name}"
        if not self.kube.has(POD, name, NAMESPACE):
            self._make_pod(name, node.name)
            node.pod = None
            machine.mounted = self.configured
            machine.compute = False
        if node.pod == (machine.compute, machine.boots):
            return
        node.pod = (machine.compute, machine.boots)
        told = {"name": "nova-compute", "restartCount": machine.boots, "state": {"running": {}}}
        live = self.kube.get(POD, name, NAMESPACE)
        assert live is not None
        self._tell_ready(live, machine.compute, told if machine.compute else None)

    def _make_pod(self, name: str, node: str) -> KubeObject:
        mount = {"name": "etc", "mountPath": "/etc/nova/nova.conf", "subPath": "nova.conf"}
        spec = {
            "nodeName": node,
            "containers": [{"name": "nova-compute", "volumeMounts": [mount]}],
            "volumes": [{"name": "etc", "secret": {"secretName": "nova-compute-default"}}],
        }
        owner = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "nova-compute", "uid": "1"}
        meta = {
            "name": name,
            "namespace": NAMESPACE,
            "labels": {"application": "nova", "component": "compute"},
            "ownerReferences": [{**owner, "controller": True}],
        }
        return self.kube.create({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec})

    def _tell_ready(self, pod: KubeObject, ready: bool, running: dict[str, Any] | None = None) -> None:
        before = pod.get("status") or {}
        status = {**before, "conditions": [{"type": "Ready", "status": str(ready)}]}
        if running is not None:
            status["containerStatuses"] = [running]
        if status != before:
            self.kube.replace({**pod, "status": status}, subresource="status")

    def add_member(self, node: str) -> None:
        """A pod of a StatefulSet with a claim: it must not run twice."""
        spec = {"nodeName": node, "containers": [{"name": "db"}]}
        owner = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "db", "uid": "2", "controller": True}
        meta = {"name": "db-0", "namespace": NAMESPACE, "ownerReferences": [owner]}
        # It is there until its kubelet has ended it.
        meta["finalizers"] = ["example.org/kubelet"]
        self.kube.create({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec})
        self.kube.merge_patch(POD, "db-0", NAMESPACE, {"status": {"phase": "Running"}}, subresource="status")

    def _member(self) -> None:
        """Kubernetes asks for the end of a pod on a lost node; its kubelet ends it once it can."""
        if not self.kube.has(POD, "db-0", NAMESPACE):
            lives = sorted(one.name for one in self.nodes.values() if one.ready == "True")
            if lives:
                self.add_member(lives[0])
            return
        live = self.kube.raw(("v1", "Pod", NAMESPACE, "db-0"))
        node = self.nodes.get(live["spec"]["nodeName"])
        going = bool(live["metadata"].get("deletionTimestamp"))
        if not going and (
            node is None or (node.ready == "Unknown" and self.time.seconds - node.lost > EVICTED_AFTER)
        ):
            self.kube.delete(POD, "db-0", NAMESPACE)
        elif going and (node is None or node.ready == "True"):
            self.kube.merge_patch(POD, "db-0", NAMESPACE, {"metadata": {"finalizers": None}})

    def run_locks(self) -> None:
        """Kubelets run the pods that hold back drains."""
        for pod in self.kube.list(POD, NAMESPACE, labels=DRAIN_LOCK_LABEL):
            machine = self.truth.with_node(pod["spec"]["nodeName"])
            lives = machine is not None and machine.powered and machine.cluster_link
            if lives and (pod.get("status") or {}).get("phase") != "Running":
                self.kube.replace({**pod, "status": {"phase": "Running"}}, subresource="status")

    def node(self, name: str) -> KubeObject | None:
        return self.kube.get(NODE, name)
