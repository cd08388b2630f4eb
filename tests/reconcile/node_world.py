"""Nodes in a FakeKube and hosts in a FakeCloud, cared for by the real reconcilers, on a fake clock."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from itertools import count
from typing import Any

from containers.node import REGION_PARSERS
from controller.domain.api.conditions import timestamp
from controller.domain.api.names import DRAIN_LOCK_LABEL, REPORT_ANNOTATION
from controller.domain.api.region_name import RegionName, node_notes
from controller.domain.hosts.fencing_confirmation import Confirmation, given_as, machine_of
from controller.errors import CloudUnavailable
from controller.ports.kubernetes import COMPUTE_MAINTENANCE, NODE, OSDPL, POD, SECRET, KubeObject
from controller.reconcile.hosts.compute_hosts import HostPorts, HostSettings, HostsReconciler
from controller.reconcile.hosts.drain_locks.pods import DrainLocks
from controller.reconcile.hosts.last_host_findings import LastHostFindings
from controller.reconcile.hosts.nodes_status import NodesReconciler, node_parsers
from controller.reconcile.maintenance.compute_maintenance import MaintenancesReconciler
from controller.reconcile.maintenance.maintained_hosts import MaintainedHosts
from controller.reconcile.shared.cloud_access import CloudAccess
from controller.reconcile.shared.object_store import ObjectStore
from tests.fakes.cloud import FakeCloud, FakeClouds, FakeFencing
from tests.fakes.kube import FakeKube
from tests.fakes.world import FakeClock
from tests.reconcile.health.test_health import SilentEvents
from tests.reconcile.watched import DEFINITIONS, NAME

NAMESPACE = "openstack"
COMPUTE = "openstack-compute-node"
# For what tells one word from another.
SERIAL = count(1)


class NodeWorld:
    """`reconcile()` is one pass of everything, as a process just started would do it with `fresh=True`.

    `quiet`: seconds for which a compute is watched before its servers are evacuated.
    `beside`: another region, which has the same Nodes; this one is in `namespace` then.
    """

    def __init__(
        self,
        *hosts: str,
        beside: NodeWorld | None = None,
        namespace: str = NAMESPACE,
        quiet: float = 0.0,
        **features: Any,
    ) -> None:
        self.quiet = quiet
        self.namespace = namespace
        self.name = RegionName(namespace, NAME)
        self.meta = {"name": NAME, "namespace": namespace}
        self.clock = beside.clock if beside else FakeClock(start=1_780_000_000.0)
        self.kube = beside.kube if beside else FakeKube(clock=self.clock)
        for definition in () if beside else DEFINITIONS:
            self.kube.serve(definition)
        self.cloud = FakeCloud(*hosts)
        self.cloud.clock = self.clock
        self.clouds = FakeClouds(self.cloud)
        self.fencing = FakeFencing()
        self.events = SilentEvents()
        self.lock_phase, self.lock_reason = "Running", ""
        spec = {
            "openstackVersion": "2026.1",
            "preset": "core",
            "size": "single",
            "publicDomainName": "a.example",
        }
        self.kube.create(
            {
                "apiVersion": OSDPL.api_version,
                "kind": OSDPL.kind,
                "metadata": self.meta,
                "spec": {**spec, "features": features},
            }
        )
        self.give_credentials()
        for host in () if beside else hosts:
            self.add_node(host)
        self.restart()

    # -- Kubernetes

    def give_credentials(self, content: bytes = b"clouds: {}") -> None:
        data = {"clouds.yaml": base64.b64encode(content).decode()}
        meta = {"name": "openstack-clouds", "namespace": self.namespace}
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": meta, "data": data}
        live = self.kube.get(SECRET, "openstack-clouds", self.namespace)
        if live is None:
            self.kube.create(secret)
        else:
            self.kube.replace({**live, "data": data})

    def add_node(self, name: str, *, compute: bool = True, **labels: str) -> None:
        roles = {COMPUTE: "enabled"} if compute else {"openstack-control-plane": "enabled"}
        labels = {**roles, "kubernetes.io/hostname": name, **labels}
        meta = {"name": name, "labels": labels}
        self.kube.create({"apiVersion": "v1", "kind": "Node", "metadata": meta, "spec": {}})
        self.set_ready(name, True)

    def set_ready(self, name: str, ready: bool) -> None:
        """As a machine that is lost at once: Kubernetes hears nothing of it any more."""
        self.set_condition(name, "True" if ready else "Unknown")

    def give_address(self, name: str, address: str) -> None:
        """Its InternalIP."""
        addresses = [{"type": "InternalIP", "address": address}, {"type": "Hostname", "address": name}]
        status = {**(self.node(name).get("status") or {}), "addresses": addresses}
        self.kube.replace({**self.node(name), "status": status}, subresource="status")

    def set_condition(self, name: str, ready: str, *, boot: str | None = None) -> None:
        """`ready`: True, False (its kubelet says so) or Unknown; `boot`: id of another boot of it."""
        before = self.node(name).get("status") or {}
        known = next(iter(before.get("conditions") or ()), {}).get("lastHeartbeatTime", "")
        spoken = f"{timestamp(self.clock.now())[:-1]}.{next(SERIAL)}Z"
        condition = {
            "type": "Ready",
            "status": ready,
            "lastTransitionTime": timestamp(self.clock.now()),
            # Whoever calls a silent node Unknown leaves what its kubelet said last.
            "lastHeartbeatTime": known if ready == "Unknown" else spoken,
        }
        if boot is None:
            boot = (before.get("nodeInfo") or {}).get("bootID", "")
        status = {**before, "conditions": [condition], "nodeInfo": {"bootID": boot}}
        self.kube.replace({**self.node(name), "status": status}, subresource="status")

    def node(self, name: str) -> KubeObject:
        found = self.kube.get(NODE, name)
        assert found is not None
        return found

    def edit_node(self, name: str, patch: Mapping[str, Any]) -> None:
        self.kube.merge_patch(NODE, name, None, patch)

    def cordon(self, name: str, cordoned: bool = True) -> None:
        self.edit_node(name, {"spec": {"unschedulable": cordoned or None}})

    def notes(self, name: str) -> dict[str, str]:
        """Our annotations of a Node, without the prefix."""
        given = node_notes(self.namespace, self.node(name))
        return {key.partition("/")[2]: value for key, value in given.items()}

    def annotate(self, name: str, **notes: str) -> None:
        notes = {f"{self.namespace}.osctl.dev/{key.replace('_', '-')}": value for key, value in notes.items()}
        self.edit_node(name, {"metadata": {"annotations": notes}})

    def fence(self, name: str, *, noted: bool = True) -> None:
        """As `osctl node fenced`, which looks; it waits until it is noted what its compute reported last."""
        if noted:
            self._note_report(name)
        report = self.notes(name).get("last-compute-report", "")
        self.annotate(name, fenced=Confirmation(machine_of(self.node(name)), report=report).written())

    def maintain(self, name: str, node: str, **spec: Any) -> None:
        """`fenced=True`: a confirmation as osctl gives it for the Node as it is."""
        if spec.get("fenced") is True:
            self._note_report(node)
            spec["fenced"] = self.confirmed(node)
        meta = {"name": name}
        body = {"apiVersion": COMPUTE_MAINTENANCE.api_version, "kind": COMPUTE_MAINTENANCE.kind}
        self.kube.create(
            {**body, "metadata": meta, "spec": {"region": self.name.written(), "nodeName": node, **spec}}
        )

    def _note_report(self, name: str) -> None:
        live = self.kube.get(NODE, name)
        if live is not None and REPORT_ANNOTATION not in node_notes(self.namespace, live):
            self.reconcile(1)

    def confirmed(self, node: str) -> dict[str, str]:
        """For spec.fenced; each is another one."""
        live = self.kube.get(NODE, node)
        report = node_notes(self.namespace, live).get(REPORT_ANNOTATION, "") if live is not None else ""
        if live is None:
            # As osctl does where there is no Node: what the status of a maintenance says.
            here = [one for one in self.kube.list(COMPUTE_MAINTENANCE) if one["spec"]["nodeName"] == node]
            report = next(filter(None, ((one.get("status") or {}).get("lastReport") for one in here)), "")
        return given_as(machine_of(live), timestamp(self.clock.now() + next(SERIAL)), report)

    def maintenance(self, name: str) -> dict[str, Any]:
        found = self.kube.get(COMPUTE_MAINTENANCE, name)
        return (found or {}).get("status") or {}

    def status(self, node: str) -> dict[str, Any]:
        osdpl = self.kube.get(OSDPL, NAME, self.namespace)
        assert osdpl is not None
        found: dict[str, Any] = ((osdpl.get("status") or {}).get("nodes") or {}).get(node) or {}
        return found

    def region_status(self) -> dict[str, Any]:
        found = self.kube.get(OSDPL, NAME, self.namespace)
        return dict((found or {}).get("status") or {})

    def condition(self, type_: str) -> dict[str, Any]:
        osdpl = self.kube.get(OSDPL, NAME, self.namespace)
        assert osdpl is not None
        return next(one for one in osdpl["status"]["conditions"] if one["type"] == type_)

    # -- our process

    def restart(self) -> None:
        """A new process, that knows nothing but what stands in Kubernetes and OpenStack."""
        kube, clock = self.kube, self.clock
        self.known_version = 0  # up to which version the watches have reported
        self.nodes = ObjectStore(kube, clock, None, node_parsers(self.namespace))
        self.region = ObjectStore(kube, clock, self.namespace, REGION_PARSERS)
        access = CloudAccess(kube, self.clouds, clock, self.namespace)
        findings = self.findings = LastHostFindings()
        self.reporter = NodesReconciler(
            kube=kube, clock=clock, events=self.events, store=self.nodes, resync=300, findings=findings
        )
        self.hosts = HostsReconciler(
            HostPorts(kube=kube, clock=clock, events=self.events, access=access, fencing=self.fencing),
            HostSettings(namespace=self.namespace, resync=300),
            nodes=self.nodes,
            region=self.region,
            locks=DrainLocks(kube, self.namespace, "image"),
            findings=findings,
        )
        self.maintenances = MaintenancesReconciler(
            kube=kube,
            clock=clock,
            events=self.events,
            access=access,
            hosts=MaintainedHosts(kube, self.nodes, self.namespace, resync=300),
            namespace=self.namespace,
            findings=findings,
            quiet=self.quiet,
        )

    def reconcile(self, times: int = 1, *, after: float = 3.0, cloud_moves: bool = True) -> None:
        for _ in range(times):
            self.clock.advance(after)
            if cloud_moves:
                self.cloud.pass_time()
            self.run_locks()
            self.watch()
            self.hosts.reconcile()
            self.maintenances.reconcile()
            self.reporter.reconcile((self.namespace, NAME))

    def run_locks(self) -> None:
        """What the kubelets make of the pods that hold back drains: as `lock_phase` says."""
        for pod in self.kube.list(POD, self.namespace, labels=DRAIN_LOCK_LABEL):
            if (pod.get("status") or {}).get("phase") != self.lock_phase:
                status = {"phase": self.lock_phase, "reason": self.lock_reason}
                self.kube.replace({**pod, "status": status}, subresource="status")

    def watch(self) -> None:
        """Watches that tell everything at once."""
        reported, self.known_version = self.known_version, self.kube.version
        for store in (self.nodes, self.region):
            space = self.namespace if store is self.region else None
            for resource in store.resources:
                for obj in self.kube.changed_since(reported, resource, space):
                    store.feed(resource, "MODIFIED", obj)
                store.catch_up(resource)


def fail(error: str = "503") -> Any:
    """For `FakeCloud.before`: nothing answers."""

    def failing(name: str, subject: str) -> None:
        raise CloudUnavailable(error)

    return failing
