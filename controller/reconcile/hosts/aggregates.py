"""Aggregates and availability zones of hosts, as the labels of their Nodes say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from controller.domain.api.conditions import timestamp
from controller.domain.api.region_name import node_note, node_notes
from controller.domain.hosts.nodes import NodeFacts, parse_node
from controller.domain.shared import backoff
from controller.domain.shared.cloud_facts import Aggregate, CloudView
from controller.domain.shared.times import is_ahead, seconds_of
from controller.errors import ApiUnavailable, CloudRefused, CloudUnavailable, KubeError, ObjectMissing
from controller.ports.kubernetes import NODE, Kube, KubeObject
from controller.ports.openstack import Cloud
from controller.ports.system import Clock
from controller.reconcile.hosts import openstack_writes
from controller.reconcile.hosts.observe import NodesSnapshot
from controller.reconcile.hosts.retry_pauses import RetryPauses
from controller.reconcile.shared.action_log import log_action
from controller.reconcile.shared.fair_order import FairOrder
from controller.reconcile.shared.preconditioned_writes import patch_seen, read_again

# On a Node: the aggregate that is made for it just now, and since when.
MAKING_ANNOTATION = "osctl.dev/making-aggregate"
# Seconds. An aggregate may be older than its note by what clocks differ, and younger by what a request takes.
CLOCKS_DIFFER, MADE_WITHIN = 60.0, 120.0


class HostAggregates:
    """Puts hosts into the aggregates that the labels of their Nodes name. Not thread-safe."""

    def __init__(self, kube: Kube, clock: Clock, namespace: str) -> None:
        self._kube = kube
        self._namespace = namespace
        self._clock = clock
        self._order = FairOrder()
        # Nova refuses a zone while the host has servers of another.
        self._pauses = RetryPauses(clock, backoff.LONG_PAUSES)
        self._refused: dict[str, str] = {}

    @property
    def refused(self) -> Mapping[str, str]:
        """By name of the Node, why it is not where its labels say."""
        return dict(self._refused)

    def ensure(
        self, snapshot: NodesSnapshot, names: Sequence[str], cloud: Cloud, view: CloudView, *, most: int
    ) -> None:
        """Places the hosts of these Nodes.

        At most `most` changes, and none after one whose outcome is not known: the others would fare no
        better, and each of them takes its time. Raises KubeError.
        """
        self._refused = {name: why for name, why in self._refused.items() if name in names}
        self._pauses.keep(self._refused.keys())
        changes = 0
        for name in self._order.of(names, str):
            node, host = snapshot.nodes.get(name), snapshot.host(name, view)
            if node is None or not node.is_compute or view.hypervisor(host) is None:
                continue
            if not misplaced(node, host, view):
                self._settled(name)
                continue
            if not self._pauses.over(name):
                continue
            if changes >= most or cloud.late:
                break
            self._order.reached(name)
            try:
                changes += self._place(node, host, cloud, view)
                self._settled(name)
            except CloudUnavailable as error:
                log_action("place-host", host, f"aggregates of {name}", error=error)
                return
            except ApiUnavailable:
                raise
            except (CloudRefused, KubeError) as error:
                changes += 1
                self._pauses.failed(name)
                self._refused[name] = (
                    f"the controller cannot add the host to the aggregates in the labels of the node: {error}"
                )

    def _settled(self, name: str) -> None:
        self._pauses.succeeded(name)
        self._refused.pop(name, None)

    def _place(self, node: NodeFacts, host: str, cloud: Cloud, view: CloudView) -> int:
        """Brings the host in and out, on a Node read right before; gives how many changes that took.

        Raises CloudUnavailable and ApiUnavailable, and what was refused once everything was tried.
        """
        live = self._kube.get(NODE, node.name)
        fresh = parse_node(live, self._namespace) if live is not None else None
        if live is None or fresh is None or not fresh.is_compute:
            return 0
        refused: CloudRefused | KubeError | None = None
        changes, desired = misplaced(fresh, host, view), dict(fresh.aggregates)
        for name, member in changes:
            known = next((one for one in view.aggregates if one.name == name), None)
            note = _noted(live, self._namespace)
            try:
                if known is None or (note.is_of(known) and known.bare):
                    known = self._made(live, name, desired[name], cloud, note, begun=known is not None)
                elif note.name == name:
                    self._take_off(node.name, note)
                openstack_writes.place_host(cloud, known, host, member=member)
            except ApiUnavailable:
                raise
            except (CloudRefused, KubeError) as error:
                # OpenStack refuses the place, or Kubernetes the note on the Node.
                log_action("place-host", host, f"host {host}, aggregate {name}", error=error)
                refused = error
        if refused is not None:
            raise refused
        return len(changes)

    def _made(
        self, live: KubeObject, name: str, zone: str, cloud: Cloud, note: _Making, *, begun: bool
    ) -> Aggregate:
        """The aggregate, made and marked. On the Node it is noted that we make it: were we interrupted
        between the two, it could not be distinguished from one that a person has just made.

        `begun`: whether it is there already, and is ours by that note. Raises as the cloud does; the note
        stays only where the outcome is not known.
        """
        now = self._clock.now()
        old = now - note.since > MADE_WITHIN / 2 or is_ahead(note.since, now)
        if not begun and (note.name != name or old):
            # One for the same that is young enough to hold for this request, too, stays as it is.
            note = self._note(live, f"{name} {timestamp(now)}")
        node = str(live["metadata"]["name"])
        try:
            made = openstack_writes.ensure_aggregate(cloud, name, zone=zone, begun=begun)
        except CloudRefused:
            # It was not made, or may not be marked: the next object of that name may be another's.
            self._take_off(node, note)
            raise
        self._take_off(node, note)
        return made

    def _note(self, live: KubeObject, text: str) -> _Making:
        """What is made for a Node. Raises KubeError: ObjectMissing where that very Node is gone."""
        node = live["metadata"]["name"]
        notes = {node_note(self._namespace, MAKING_ANNOTATION): text}
        written = patch_seen(self._kube, NODE, live, {"metadata": {"annotations": notes}})
        if written is None:
            raise ObjectMissing(f"the Node {node} was deleted or created again")
        making = _parsed(text)
        log_action("annotate", node, f"node {node}: aggregate {making.name} is being created")
        return making

    def _take_off(self, node: str, note: _Making) -> None:
        """What was noted of a Node is over; what another of us has noted since stays. Raises KubeError."""

        def take_off() -> None:
            live = self._kube.get(NODE, node)
            if live is None or not note.name or _noted(live, self._namespace) != note:
                return
            notes = {node_note(self._namespace, MAKING_ANNOTATION): None}
            meta = {"annotations": notes, "resourceVersion": live["metadata"]["resourceVersion"]}
            self._kube.merge_patch(NODE, node, None, {"metadata": meta})
            log_action("annotate", node, f"node {node}: no aggregate is being created")

        read_again(take_off)


@dataclass(frozen=True, slots=True)
class _Making:
    """The note on a Node; `since` in seconds since the epoch."""

    name: str
    since: float

    def valid_at(self, moment: float) -> bool:
        """Whether what came about then may have come of what was noted."""
        return -CLOCKS_DIFFER <= moment - self.since <= MADE_WITHIN

    def is_of(self, aggregate: Aggregate) -> bool:
        return aggregate.name == self.name and self.valid_at(aggregate.created)


def _noted(node: KubeObject, namespace: str) -> _Making:
    return _parsed(node_notes(namespace, node).get(MAKING_ANNOTATION, ""))


def _parsed(text: str) -> _Making:
    name, _, since = text.partition(" ")
    return _Making(name, seconds_of(since))


def misplaced(node: NodeFacts, host: str, view: CloudView) -> list[tuple[str, bool]]:
    """The aggregates, by name, that the host is to come into (True), or to leave of those that we made."""
    desired = dict(node.aggregates)
    inside = {one.name for one in view.aggregates if host in one.hosts}
    ours = {one.name for one in view.aggregates if one.ours}
    return [
        *((name, True) for name in sorted(desired.keys() - inside)),
        *((name, False) for name in sorted((inside & ours) - desired.keys())),
    ]
