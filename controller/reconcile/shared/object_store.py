"""What watches have reported, kept as small facts: complete before it is used, and right after deletions.

A watch alone does not say when its first list is over, nor what vanished while it was cut off. So the
store compares itself with a list of metadata: at the start, after a watch has begun again, and from time
to time.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any

from controller.ports.kubernetes import Kube, Resource
from controller.ports.system import Clock

# A first list that still comes in is not compared at each pass, but at the latest after so many seconds.
QUIET, IMPATIENT = 0.5, 5.0
# Seconds until an incomplete store is checked again.
CATCHING_UP = 0.3

Parse = Callable[[Mapping[str, Any]], Hashable | None]


@dataclass(frozen=True, slots=True)
class _Record:
    """One object as last seen; `facts` is None for one that does not concern us."""

    version: int
    facts: Hashable | None


@dataclass
class _Kind:
    parse: Parse
    records: dict[str, _Record] = field(default_factory=dict)  # by uid
    complete: bool = False
    compared: float | None = None  # monotonic, as `fed`
    fed: float = 0.0
    suspect: bool = False


class ObjectStore:
    """The facts of all objects of some resources in one namespace (None: cluster-scoped resources).

    Safe from any thread. `parsers` turns an object of each resource into facts, or None.
    """

    def __init__(
        self, kube: Kube, clock: Clock, namespace: str | None, parsers: Mapping[Resource, Parse]
    ) -> None:
        self._kube = kube
        self._clock = clock
        self._namespace = namespace
        self._lock = threading.Lock()
        self._kinds = {resource: _Kind(parse) for resource, parse in parsers.items()}

    @property
    def resources(self) -> tuple[Resource, ...]:
        """The resources whose objects are held."""
        return tuple(self._kinds)

    def feed(self, resource: Resource, event: str | None, obj: Mapping[str, Any]) -> bool:
        """Stores one event of a watch. Gives whether the event brought a change.

        `event` is ADDED, MODIFIED, DELETED, or None for an object of a list that a watch begins with.
        """
        kind = self._kinds[resource]
        meta = obj["metadata"]
        uid, version = str(meta["uid"]), _version(meta)
        if event != "DELETED" and self._is_seen(kind, event, uid, version):
            return False
        facts = None if event == "DELETED" else kind.parse(obj)
        with self._lock:
            before = kind.records.get(uid)
            kind.fed = self._clock.monotonic()
            if event == "DELETED":
                kind.records.pop(uid, None)
            elif before is not None and 0 < version < before.version:
                return False
            else:
                kind.records[uid] = _Record(version, facts)
            # A list after the first one: the watch was cut off, and deletions went unseen.
            kind.suspect = kind.suspect or (event is None and kind.complete)
            return (before.facts if before else None) != facts

    def _is_seen(self, kind: _Kind, event: str | None, uid: str, version: int) -> bool:
        """Whether the object is held just as it comes: of one version there is one content."""
        with self._lock:
            known = kind.records.get(uid)
            if known is None or known.version != version or not version:
                return False
            kind.fed = self._clock.monotonic()
            kind.suspect = kind.suspect or (event is None and kind.complete)
            return True

    def facts(self, resource: Resource) -> list[Any]:
        """The facts of all objects of the resource, without order."""
        with self._lock:
            return [one.facts for one in self._kinds[resource].records.values() if one.facts is not None]

    def is_complete(self, *, not_older_than: float) -> bool:
        """Whether every resource is held completely; compares with the API server what must be.

        That is what was never compared, what is suspect, and what was compared more than
        `not_older_than` seconds ago. Only the former make the answer False. Raises KubeError.
        """
        now = self._clock.monotonic()
        for resource, kind in self._kinds.items():
            age = now - kind.compared if kind.compared is not None else IMPATIENT
            coming_in = now - kind.fed < QUIET and age < IMPATIENT
            if age > not_older_than or ((not kind.complete or kind.suspect) and not coming_in):
                self.catch_up(resource)
        return all(kind.complete for kind in self._kinds.values())

    def catch_up(self, resource: Resource) -> bool:
        """Compares with the API server; whether everything that it has now has been seen, as new as that.

        Forgets what it does not have any more. Raises KubeError.
        """
        kind = self._kinds[resource]
        with self._lock:
            known = set(kind.records)
            kind.suspect = False
        metas = [obj["metadata"] for obj in self._kube.list_metadata(resource, self._namespace)]
        present = {str(meta["uid"]): _version(meta) for meta in metas}
        with self._lock:
            # Only what was known before the list was asked for: what came since may be newer than it.
            for uid in known - present.keys():
                kind.records.pop(uid, None)
            seen = all(
                uid in kind.records and kind.records[uid].version >= version
                for uid, version in present.items()
            )
            kind.compared = self._clock.monotonic()
            kind.complete = kind.complete or seen
        return seen


def _version(meta: Mapping[str, Any]) -> int:
    """resourceVersions of one resource are numbers that grow (KEP-5504; etcd's revision)."""
    text = str(meta.get("resourceVersion") or "")
    return int(text) if text.isdigit() else 0
