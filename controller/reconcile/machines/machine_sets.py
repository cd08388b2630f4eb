"""Mirrors all MachineSets of the machine API in one pass.

Everything is read by a few lists; then each set gets the writes that it needs, one after the other, each on
condition that the object is as it was read. At rest nothing is written.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from controller.domain.api.reasons import Reason
from controller.domain.machines.following import template_name_of
from controller.domain.machines.machine_set import convert_machine_set
from controller.domain.machines.next_write import decide_next_write
from controller.domain.machines.synchronized import say
from controller.domain.machines.writes import SET_LABEL, Part, Snapshot, Target, Verb, Write, set_label
from controller.domain.shared.backoff import SHORT_PAUSES
from controller.errors import ApiUnavailable, Conflict, KubeError, ObjectMissing, is_refusal
from controller.ports.kubernetes import Events, Kube, KubeObject, Resource
from controller.ports.system import Clock
from controller.reconcile.shared.action_log import log_action

log = logging.getLogger(__name__)

SOURCE = Resource("machine.openshift.io/v1beta1", "MachineSet", "machinesets")
MIRROR = Resource("cluster.x-k8s.io/v1beta1", "MachineSet", "machinesets")
TEMPLATE = Resource(
    "infrastructure.cluster.x-k8s.io/v1beta1", "OpenStackMachineTemplate", "openstackmachinetemplates"
)
CLUSTER = Resource("cluster.x-k8s.io/v1beta1", "Cluster", "clusters")
_RESOURCES = {Part.SOURCE: SOURCE, Part.MIRROR: MIRROR, Part.TEMPLATE: TEMPLATE}

# A set that is still not at rest after so many writes is gone on with in the next pass.
MOST_WRITES = 12
# Seconds until the next pass where something was left over.
AGAIN_AFTER = 5.0


class MachineSetsReconciler:
    """Serves every MachineSet of the machine API in `namespace`. One thread at a time.

    `resync`: seconds from one pass to the next where nothing happens.
    """

    def __init__(
        self, *, kube: Kube, clock: Clock, events: Events, namespace: str, target: Target, resync: float
    ) -> None:
        self._kube = kube
        self._clock = clock
        self._events = events
        self._namespace = namespace
        self._target = target
        self._resync = resync
        # By name and generation: how often it was refused in a row, and when it is tried again.
        self._refused: dict[tuple[str, int], tuple[int, float]] = {}

    def reconcile(self) -> float:
        """One pass at all of them; seconds until the next. Raises KubeError where nothing can be read."""
        place = self._target.cluster.namespace
        sources = self._kube.list(SOURCE, self._namespace)
        mirrors = {one["metadata"]["name"]: one for one in self._kube.list(MIRROR, place)}
        templates = self._kube.list(TEMPLATE, place)
        cluster = self._kube.get(CLUSTER, self._target.cluster.name, place)
        used = {name: template_name_of(mirror) for name, mirror in mirrors.items()}
        pauses = [self._resync]
        self._forget_refusals({_key(source) for source in sources})
        for source in sources:
            name = source["metadata"]["name"]
            seen = Snapshot(
                source=source,
                mirror=mirrors.get(name),
                templates=tuple(self._of(source, mirrors.get(name), templates)),
                used_elsewhere=frozenset(template for other, template in used.items() if other != name),
                cluster=cluster,
            )
            pauses.append(self._serve(seen))
        return min(pauses)

    def _of(
        self, source: KubeObject, mirror: KubeObject | None, templates: Iterable[KubeObject]
    ) -> list[KubeObject]:
        """Its templates, and those that have the names of them."""
        converted = convert_machine_set(source, self._target.cluster).template
        names = {converted["metadata"]["name"]} if converted else set()
        if mirror is not None:
            names.add(template_name_of(mirror))
        label = set_label(source["metadata"]["name"])
        return [
            one
            for one in templates
            if one["metadata"]["name"] in names
            or (one["metadata"].get("labels") or {}).get(SET_LABEL) == label
        ]

    def _serve(self, seen: Snapshot) -> float:
        """Writes what is to be written; seconds until it is looked at again. Raises ApiUnavailable."""
        key = _key(seen.source)
        times, due = self._refused.get(key, (0, 0.0))
        if (pause := due - self._clock.monotonic()) > 0:
            return pause
        try:
            for _ in range(MOST_WRITES):
                write = decide_next_write(seen, self._target, self._clock.now())
                if write is None:
                    self._refused.pop(key, None)
                    return self._resync
                seen = after_write(seen, write, self._carry_out(seen, write))
        except (Conflict, ObjectMissing):
            pass  # another writer was first: it is read again
        except ApiUnavailable:
            raise
        except KubeError as error:
            self._tell_refusal(seen, error)
            pause = SHORT_PAUSES.after(times + 1, 0.5)
            self._refused[key] = times + 1, self._clock.monotonic() + pause
            return pause
        return AGAIN_AFTER

    def _forget_refusals(self, there: set[tuple[str, int]]) -> None:
        self._refused = {key: refused for key, refused in self._refused.items() if key in there}

    def _carry_out(self, seen: Snapshot, write: Write) -> KubeObject | None:
        """Does it; what the object is then, None for one that is deleted. Raises KubeError."""
        for event in write.events:
            self._events.emit(
                seen.source, type_=event.reason.event, reason=str(event.reason), message=event.message
            )
        after = self._written(write)
        if write.verb is not Verb.STATUS:
            meta = write.obj["metadata"]
            place = f"{meta.get('namespace')}/{meta['name']}"
            text = f"{write.verb} {write.part} {place}: {write.because}"
            log_action(f"{write.verb}-{write.part}", place, text)
        return after

    def _written(self, write: Write) -> KubeObject | None:
        resource, meta = _RESOURCES[write.part], write.obj["metadata"]
        match write.verb:
            case Verb.CREATE:
                return self._kube.create(write.obj)
            case Verb.REPLACE:
                return self._kube.replace(write.obj)
            case Verb.STATUS:
                return self._kube.replace(write.obj, subresource="status")
            case Verb.DELETE | Verb.DELETE_ALONE:
                alone = write.verb is Verb.DELETE_ALONE
                self._kube.delete(
                    resource,
                    meta["name"],
                    meta["namespace"],
                    uid=meta["uid"],
                    version=meta["resourceVersion"],
                    propagation="Orphan" if alone else "Background",
                )
                return self._kube.get(resource, meta["name"], meta["namespace"])

    def _tell_refusal(self, seen: Snapshot, error: KubeError) -> None:
        """Says on the source what the API server refused; it is tried again in the next pass."""
        name = seen.source["metadata"]["name"]
        log_action("mirror-machine-set", f"{self._namespace}/{name}", f"MachineSet {name}", error=error)
        if not is_refusal(error):
            return
        try:
            there = self._kube.get(SOURCE, name, self._namespace)
            if there is None or there["metadata"]["uid"] != seen.source["metadata"]["uid"]:
                return
            text = f"{error}; retrying"
            write = say(there, reason=Reason.MIRROR_REFUSED, message=text, now=self._clock.now())
            if write is not None:
                self._carry_out(seen, write)
        except KubeError as other:
            log.warning("machine set: %s", other, extra={"object": name, "reason": type(other).__name__})


def _key(source: Mapping[str, Any]) -> tuple[str, int]:
    return str(source["metadata"]["name"]), int(source["metadata"].get("generation") or 0)


def after_write(seen: Snapshot, write: Write, after: Mapping[str, Any] | None) -> Snapshot:
    """What there is to be seen after a write that left this object, or none."""
    if write.part is Part.SOURCE:
        # One that is gone has nothing left to do: it is as its last state said.
        return replace(seen, source=after if after is not None else write.obj)
    if write.part is Part.MIRROR:
        # Released of its last finalizer an object is gone, whatever the answer said.
        gone = after is not None and _is_gone(after)
        return replace(seen, mirror=None if gone else after)
    name = write.obj["metadata"]["name"]
    others = tuple(one for one in seen.templates if one["metadata"]["name"] != name)
    return replace(seen, templates=others if after is None else (*others, after))


def _is_gone(obj: Mapping[str, Any]) -> bool:
    metadata = obj["metadata"]
    return metadata.get("deletionTimestamp") is not None and not metadata.get("finalizers")
