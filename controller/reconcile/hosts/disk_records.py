"""Remembers what each host was last seen to keep the disks of its servers in.

The rules are in `controller.domain.hosts.host_disks`.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from controller.domain.api.names import MANAGED_BY, MANAGED_BY_US
from controller.domain.hosts.host_disks import HostDisks, SeenDisks, observe_disks, parse_backend, read_disks
from controller.domain.hosts.node_pods import RunningCompute, parse_node_pod
from controller.domain.shared.cloud_facts import CloudView
from controller.domain.shared.times import seconds_of
from controller.errors import ApiUnavailable, Conflict, KubeError
from controller.ports.kubernetes import CONFIGMAP, POD, SECRET, Kube, KubeObject
from controller.ports.system import Clock
from controller.reconcile.hosts.observe import NodesSnapshot
from controller.reconcile.shared.action_log import log_action
from controller.reconcile.shared.fair_order import FairOrder
from controller.reconcile.shared.own_record import own_record

NAME = "osctl-host-disks"
FILE = "nova.conf"
# A configuration, of which each DaemonSet has one, is read so often, in seconds, and so many in one pass;
# but at once for a nova-compute that has just started.
READ_EVERY, READ_AT_ONCE = 10.0, 5
# As helm-toolkit and the charts of our own label them.
COMPUTE_PODS = "application=nova,component=compute"

_Source = tuple[str, str]


@dataclass(frozen=True, slots=True)
class _Configuration:
    """`written`: when it was last changed, 0.0 where that is not known."""

    backend: str
    written: float


class DiskRecords:
    """Records where each host keeps disks: a ConfigMap of the region with an entry for each host.

    Not thread-safe.
    """

    def __init__(self, kube: Kube, clock: Clock, namespace: str) -> None:
        self._kube = kube
        self._clock = clock
        self._namespace = namespace
        self._read_at: dict[_Source, float] = {}
        self._order = FairOrder()

    def read(self) -> dict[str, HostDisks]:
        """By host. Raises KubeError."""
        return _records(own_record(self._kube, NAME, self._namespace))

    def begun_since(self, hosts: Mapping[str, str]) -> tuple[str, ...]:
        """Those of these hosts, given by name of their Node, whose nova-compute began after the last look at
        what it runs with. Raises KubeError."""
        records = self.read()
        pods = map(parse_node_pod, self._kube.list(POD, self._namespace, labels=COMPUTE_PODS))
        running = [(hosts[one.node], one.compute) for one in pods if one is not None and one.node in hosts]
        return tuple(
            sorted(
                host
                for host, compute in running
                if compute is not None and (host not in records or records[host].run != compute.run)
            )
        )

    def reconcile(self, snapshot: NodesSnapshot, view: CloudView) -> None:
        """Writes down what has changed; a refusal is logged, and nothing is known again.

        Raises ApiUnavailable.
        """
        try:
            self._reconcile(snapshot, view)
        except ApiUnavailable:
            raise
        except KubeError as error:
            text = f"ConfigMap {NAME}: the disk storage of hosts is not recorded"
            log_action("record", f"{self._namespace}/{NAME}", text, error=error)

    def _reconcile(self, snapshot: NodesSnapshot, view: CloudView) -> None:
        computes = (name for name in snapshot.nodes if snapshot.is_compute(name))
        hosts = {name: host for name in computes if (host := snapshot.host(name, view))}
        running = _running(snapshot, hosts)
        live = own_record(self._kube, NAME, self._namespace)
        before = _records(live)
        found = self._configurations(running, before)
        now = self._clock.now()
        due: dict[str, str | None] = {}
        for host, compute in running.items():
            configuration = found.get((compute.kind, compute.source))
            if configuration is None:
                continue
            hypervisor = view.hypervisor(host)
            seen = SeenDisks(
                backend=configuration.backend,
                run=compute.run,
                fresh=0.0 < configuration.written <= compute.made,
            )
            servers = hypervisor.servers if hypervisor is not None else None
            after = observe_disks(before.get(host), seen, servers, now)
            if after != before.get(host):
                due[host] = after.written()
        for host in _left(snapshot, hosts, view) - running.keys():
            if host in before and not before[host].away:
                due[host] = replace(before[host], away=True).written()
        known = {one.host for one in view.services} | set(hosts.values())
        due |= {host: None for host in before if host not in known}
        if due:
            self._write(live, due)

    def _configurations(
        self, running: Mapping[str, RunningCompute], before: Mapping[str, HostDisks]
    ) -> dict[_Source, _Configuration]:
        """Those that are read in this pass."""
        now = self._clock.monotonic()
        sources = {(one.kind, one.source) for one in running.values()}
        begun = {
            (one.kind, one.source)
            for host, one in running.items()
            if host not in before or before[host].run != one.run
        }
        self._read_at = {source: at for source, at in self._read_at.items() if source in sources}
        due = [one for one in sources - begun if now - self._read_at.get(one, -READ_EVERY) >= READ_EVERY]
        chosen = self._order.of(due, lambda one: one)[:READ_AT_ONCE]
        for source in chosen:
            self._order.reached(source)
        self._read_at |= dict.fromkeys([*begun, *chosen], now)
        return {source: self._configuration(*source) for source in (*begun, *chosen)}

    def _configuration(self, kind: str, name: str) -> _Configuration:
        """What cannot be read is a configuration that is not clear, too."""
        resource = {"Secret": SECRET, "ConfigMap": CONFIGMAP}.get(kind)
        live = self._kube.get(resource, name, self._namespace) if resource is not None and name else None
        text = _text(live) if live is not None else ""
        if live is None or not text:
            return _Configuration("", 0.0)
        return _Configuration(parse_backend(text), _written(live))

    def _write(self, live: KubeObject | None, due: Mapping[str, str | None]) -> None:
        place = f"{self._namespace}/{NAME}"
        text = f"ConfigMap {NAME}: the disk storage of {', '.join(sorted(due))}"
        if live is not None:
            meta = {"resourceVersion": live["metadata"]["resourceVersion"]}
            self._kube.merge_patch(CONFIGMAP, NAME, self._namespace, {"metadata": meta, "data": dict(due)})
            log_action("record", place, text)
            return
        meta = {"name": NAME, "namespace": self._namespace, "labels": {MANAGED_BY: MANAGED_BY_US}}
        data = {host: text for host, text in due.items() if text is not None}
        head = {"apiVersion": CONFIGMAP.api_version, "kind": CONFIGMAP.kind}
        try:
            self._kube.create({**head, "metadata": meta, "data": data})
        except Conflict as error:
            log_action("record", place, f"{text}; retried at the next reconciliation", error=error)
        else:
            log_action("record", place, text)


def _records(live: KubeObject | None) -> dict[str, HostDisks]:
    given = ((live or {}).get("data") or {}).items()
    return {host: record for host, text in given if (record := read_disks(text)) is not None}


def _running(snapshot: NodesSnapshot, hosts: Mapping[str, str]) -> dict[str, RunningCompute]:
    """By host; none of a node that has several, as while one takes over from another."""
    found: dict[str, list[RunningCompute]] = {}
    for pod in snapshot.pods:
        if pod.compute is not None and pod.node in hosts:
            found.setdefault(hosts[pod.node], []).append(pod.compute)
    return {host: computes[0] for host, computes in found.items() if len(computes) == 1}


def _left(snapshot: NodesSnapshot, hosts: Mapping[str, str], view: CloudView) -> set[str]:
    """Hosts of computes that may be given servers: on a ready Node, and with a service that counts as up."""
    up = {one.host for one in view.services if one.up}
    return up & {host for name, host in hosts.items() if snapshot.nodes[name].is_ready}


def _text(live: KubeObject) -> str:
    text = str((live.get("data") or {}).get(FILE) or "")
    if live["kind"] != SECRET.kind:
        return text
    try:
        return base64.b64decode(text, validate=True).decode()
    except (binascii.Error, ValueError):
        return ""


def _written(live: KubeObject) -> float:
    """When it was last written, by the API server's own notes."""
    times = [seconds_of(one.get("time")) for one in _entries(live) if not one.get("subresource")]
    return max(times) if times and all(times) else 0.0


def _entries(live: KubeObject) -> Iterable[Mapping[str, str]]:
    return live["metadata"].get("managedFields") or ()
