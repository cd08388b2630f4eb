"""Writes on Nodes what is to be remembered of them: see `controller.domain.hosts.nodes.due_notes`."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from controller.domain.api.region_name import node_note
from controller.domain.hosts.nodes import NodeFacts, due_notes, parse_node
from controller.domain.hosts.not_ready_since import went_on
from controller.errors import Conflict, KubeError, ObjectMissing
from controller.ports.kubernetes import NODE, Kube, KubeObject
from controller.ports.system import Clock
from controller.reconcile.shared.action_log import log_action


class NodeAnnotations:
    """Writes annotations of Nodes for the installation that serves this namespace."""

    def __init__(self, kube: Kube, clock: Clock, namespace: str) -> None:
        self._kube = kube
        self._namespace = namespace
        self._clock = clock
        # How nodes that are not ready were seen last, and when.
        self._seen: dict[str, tuple[str, float]] = {}

    def bring_up_to_date(self, nodes: Iterable[NodeFacts], planned: Collection[str]) -> None:
        """`planned`: names of nodes in maintenance."""
        seen, now = {}, self._clock.now()
        for node in nodes:
            if due_notes(node, now, planned=node.name in planned):
                self._renew(node.name, planned=node.name in planned)
            if not node.is_ready:
                seen[node.name] = (node.condition, now)
        self._seen = seen

    def _renew(self, name: str, *, planned: bool) -> None:
        # Decided again on the Node as it is: what another writer has written meanwhile stays.
        live = self._kube.get(NODE, name)
        node = parse_node(live, self._namespace) if live is not None else None
        node = self._same_absence(node) if node is not None and not node.is_ready else node
        notes = due_notes(node, self._clock.now(), planned=planned) if node is not None else {}
        if live is not None and notes:
            self.write(live, notes)

    def _same_absence(self, node: NodeFacts) -> NodeFacts:
        """With the beginning of the absence that was noted, where it was seen that this is still the same."""
        condition, at = self._seen.get(node.name, ("", 0.0))
        last_seen = at if condition and f" {condition}" in node.absence else 0.0
        start = went_on(node.absence, node.condition, node.boot, last_seen)
        return replace(node, since=start) if start else node

    def write(self, live: KubeObject, notes: Mapping[str, str | None]) -> bool:
        """Annotates the Node as it was read; whether it is still so."""
        meta = live["metadata"]
        written = {node_note(self._namespace, name): text for name, text in notes.items()}
        patch = {"annotations": written, "resourceVersion": meta["resourceVersion"]}
        try:
            self._kube.merge_patch(NODE, meta["name"], None, {"metadata": patch})
        except (Conflict, ObjectMissing):
            return False
        except KubeError as error:
            log_action("annotate", meta["name"], f"node {meta['name']}: not annotated", error=error)
            return False
        text = ", ".join(f"{name} {'set' if value else 'removed'}" for name, value in notes.items())
        log_action("annotate", meta["name"], f"node {meta['name']}: {text}")
        return True
