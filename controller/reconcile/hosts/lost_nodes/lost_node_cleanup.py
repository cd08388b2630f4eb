"""Clears away what a lost node leaves in Kubernetes: its own evacuation, and pods that do not end."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from controller.domain.hosts.host_facts import is_automatic
from controller.domain.hosts.node_pods import stuck_pods
from controller.domain.hosts.nodes import machine_facts
from controller.domain.shared import backoff
from controller.domain.shared.cloud_facts import CloudView
from controller.errors import ApiUnavailable, KubeError, is_refusal
from controller.ports.kubernetes import COMPUTE_MAINTENANCE, NODE, POD, Kube
from controller.ports.system import Clock
from controller.reconcile.hosts.observe import NodesSnapshot
from controller.reconcile.hosts.retry_pauses import RetryPauses
from controller.reconcile.shared.action_log import log_action


@dataclass(frozen=True)
class _Due:
    """What is to be deleted for a Node: that very object."""

    node: str
    resource: Any
    name: str
    uid: str
    namespace: str | None = None
    grace: int | None = None

    @property
    def words(self) -> str:
        return f"the {self.resource.kind} {self.name}"


class LostNodeCleanup:
    """Deletes evacuations that are no longer needed, and pods that are stuck on a fenced node.

    Not thread-safe. `namespace` is the region's.
    """

    def __init__(self, kube: Kube, clock: Clock, namespace: str) -> None:
        self._kube = kube
        self._clock = clock
        self._namespace = namespace
        self._pauses = RetryPauses(clock, backoff.SHORT_PAUSES)
        self._refused: dict[str, str] = {}

    def ensure_cleaned(self, snapshot: NodesSnapshot, view: CloudView) -> dict[str, str]:
        """Deletes what is due; by name of the Node, what the API server refuses of it.

        One that is refused holds up no other. Raises KubeError where the API server does not answer.
        """
        due = {one.uid: one for one in (*self._evacuations(snapshot, view), *self._stuck(snapshot, view))}
        self._pauses.keep(due.keys())
        self._refused = {uid: why for uid, why in self._refused.items() if uid in due}
        for uid, one in due.items():
            if self._pauses.over(uid):
                self._delete(one)
        refusals: dict[str, str] = {}
        for uid, why in self._refused.items():
            node = due[uid].node
            refusals[node] = f"{refusals[node]}; {why}" if node in refusals else why
        return refusals

    def _delete(self, one: _Due) -> None:
        try:
            self._kube.delete(one.resource, one.name, one.namespace, uid=one.uid, grace=one.grace)
        except ApiUnavailable:
            raise
        except KubeError as error:
            log_action("delete", one.name, one.words, error=error)
            if is_refusal(error):
                self._pauses.failed(one.uid)
                self._refused[one.uid] = f"{one.words} cannot be deleted: {error}"
        else:
            log_action("delete", one.name, f"{one.words}: deleted, because its node is back or gone")
            self._pauses.succeeded(one.uid)
            self._refused.pop(one.uid, None)

    def _evacuations(self, snapshot: NodesSnapshot, view: CloudView) -> Iterator[_Due]:
        """A node that is back needs its own evacuation no more."""
        for name, maintenances in snapshot.maintenances.items():
            for one in maintenances:
                meta = one["metadata"]
                done = is_automatic(one) and not meta.get("deletionTimestamp")
                if done and self._needs_none(name, snapshot, view):
                    yield _Due(name, COMPUTE_MAINTENANCE, meta["name"], meta["uid"])

    def _needs_none(self, name: str, snapshot: NodesSnapshot, view: CloudView) -> bool:
        """Whether the node is ready (also under another name) or gone: then it is not known to be off."""
        if snapshot.ready_as(name, view):
            return True
        node = snapshot.nodes.get(name)
        if node is not None:
            return node.is_ready
        return self._kube.get(NODE, name) is None

    def _stuck(self, snapshot: NodesSnapshot, view: CloudView) -> Iterator[_Due]:
        """What hangs on a node that is known to be off is freed."""
        now = self._clock.now()
        for name, node in snapshot.nodes.items():
            stuck = stuck_pods(snapshot.pods, name, now) if node.is_fenced else ()
            if stuck and self._is_off(name, snapshot, view):
                for pod in stuck:
                    yield _Due(name, POD, pod.name, pod.uid, self._namespace, grace=0)

    def _is_off(self, name: str, snapshot: NodesSnapshot, view: CloudView) -> bool:
        """Whether that is certain of the machine, by its Nodes as they are now: a watch may be late."""
        host = snapshot.host(name, view)
        if not host:
            # Its compute may report under one of several names.
            return False
        listed = [machine_facts(one, self._namespace) for one in self._kube.list(NODE)]
        node = next((one for one in listed if one.name == name), None)
        others = snapshot.same_machine(name, view).among(listed)
        service = view.service(host)
        reports = service is not None and service.up
        return (
            node is not None
            and node.is_fenced
            and not any(one.is_ready for one in others)
            and not (reports or node.runs(service, others))
        )
