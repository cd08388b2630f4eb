"""An API server in memory: `FakeKube` implements `controller.ports.kubernetes.Kube`.

It keeps what reconcilers rely on: resourceVersions and conflicts, server-side apply with ownership of
fields, the status subresource, generation, uids, finalizers and owner references. It passes
`tests/contract/test_kube.py`, as the real adapter does. What runs by itself in a cluster runs here when a
test says so: `collect_garbage()`.

Tests steer it through `before_write` and `after_write` (functions called with each `Request`; they may
raise, or write themselves to play a second writer), and count with `requests`.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from controller.domain.values.chart_values import copied
from controller.errors import Conflict, ObjectMissing, ObjectRefused
from controller.ports.kubernetes import KubeObject, KubeObjects, Resource
from controller.ports.system import Clock
from tests.fakes import schema as shapes
from tests.fakes.objects import (
    SYSTEM_FIELDS,
    WITH_STATUS,
    WITHOUT_GENERATION,
    Identity,
    check_immutable,
    check_patched,
    check_version,
    convert_secret,
    copy_key,
    desired,
    identity_of,
    merge_patched,
    ownable,
    settable,
    space_of,
)
from tests.fakes.ownership import Owners
from tests.fakes.selectors import matches_fields, matches_labels
from tests.fakes.world import FakeClock

UPDATE_MANAGER = "update"


@dataclass(frozen=True)
class Request:
    """One call, as an audit log would tell it. `changed` is known only after the write."""

    verb: str
    kind: str
    namespace: str
    name: str
    subresource: str = ""
    manager: str = ""
    dry_run: bool = False
    changed: bool = False


@dataclass
class _Stored:
    obj: KubeObject
    owners: Owners


def _shared(obj: KubeObject) -> KubeObject:
    """Metadata are one's own: a pass notes there which version it has written."""
    return {**obj, "metadata": {**obj["metadata"]}} if "metadata" in obj else {**obj}


def _nothing(request: Request) -> None:
    """The default of the hooks."""


class FakeKube:
    """`shares`: what is read shares its parts with what is stored, which no one may change then: a sixth of
    the time of a long search goes into copies."""

    def __init__(self, clock: Clock | None = None, *, shares: bool = False) -> None:
        self._clock = clock or FakeClock()
        self._read: Callable[[KubeObject], KubeObject] = _shared if shares else copied
        self._by_kind: dict[tuple[str, str], list[Identity]] = {}
        self._indexed: tuple[int, int, int] = (-1, -1, -1)
        # How often an object was made or went.
        self._made = 0
        self._objects: dict[Identity, _Stored] = {}
        self._schemas: dict[str, shapes.Schema] = {}
        self._with_status = set(WITH_STATUS)
        # That of an empty store, as in etcd: the first object has the next one.
        self._revision = 1
        self._lock = threading.RLock()
        self.requests: list[Request] = []
        # apiVersion and kind of what has no definition any more.
        self.lost_kinds: set[tuple[str, str]] = set()
        self.logs: dict[tuple[str, str, str], str] = {}
        self.previous_logs: dict[tuple[str, str, str], str] = {}
        self.new_uid: Callable[[], str] = lambda: str(uuid.uuid4())
        self.before_write: Callable[[Request], None] = _nothing
        self.after_write: Callable[[Request], None] = _nothing

    # -- for tests

    def serve(self, crd: Mapping[str, Any]) -> None:
        """From now on the kind of this CRD manifest has its defaults, list types and declared fields."""
        kind = crd["spec"]["names"]["kind"]
        self._schemas[kind] = shapes.of_crd(crd)
        if any("status" in version.get("subresources", {}) for version in crd["spec"]["versions"]):
            self._with_status.add(kind)

    @property
    def writes(self) -> list[Request]:
        """Every write asked for, dry runs aside, whether or not it changed anything."""
        return [r for r in self.requests if r.verb not in ("get", "list") and not r.dry_run]

    @property
    def changes(self) -> list[Request]:
        """The writes that changed an object."""
        return [request for request in self.writes if request.changed]

    @property
    def version(self) -> int:
        """The resourceVersion of the last change."""
        return self._revision

    def changed_since(self, version: int, resource: Resource, namespace: str | None = None) -> KubeObjects:
        """What a watch tells that goes on from there, deletions aside; not counted as a request."""
        with self._lock:
            return [
                copied(obj)
                for obj in self._select(resource, namespace, "", "")
                if int(obj["metadata"]["resourceVersion"]) > version
            ]

    def forget_requests(self) -> None:
        self.requests.clear()

    def objects(self, kind: str = "") -> KubeObjects:
        """Everything stored, of one kind or all, without counting as a request."""
        return [
            copied(stored.obj)
            for identity, stored in sorted(self._objects.items())
            if kind in ("", identity[1])
        ]

    def stored(self, resource: Resource) -> KubeObjects:
        """Those of a kind as reads give them, without counting as a request."""
        return [self._read(obj) for obj in self._select(resource, None, "", "")]

    def snapshot(self) -> tuple[Mapping[Identity, Any], int]:
        """What etcd holds, for `restore`."""
        return {one: _Stored(held.obj, held.owners) for one, held in self._objects.items()}, self._revision

    def restore(self, snapshot: tuple[Mapping[Identity, Any], int]) -> None:
        """The store goes back."""
        objects, self._revision = snapshot
        self._objects = {one: _Stored(held.obj, held.owners) for one, held in objects.items()}
        self._made += 1

    def owned_paths(self, obj: Mapping[str, Any], manager: str, subresource: str = "") -> set[Any]:
        return self._objects[identity_of(obj)].owners.of(manager, subresource)

    def collect_garbage(self) -> None:
        """Deletes what is owned only by objects that are gone, until nothing more is."""
        with self._lock:
            collected = True
            while collected:
                collected = any(self._collect_once(identity) for identity in list(self._objects))

    # -- the port

    def get(self, resource: Resource, name: str, namespace: str | None = None) -> KubeObject | None:
        with self._lock:
            space = space_of(resource, namespace)
            self.requests.append(Request("get", resource.kind, space, name))
            stored = self._objects.get((resource.api_version, resource.kind, space, name))
            return self._read(stored.obj) if stored else None

    def list(
        self, resource: Resource, namespace: str | None = None, *, labels: str = "", fields: str = ""
    ) -> KubeObjects:
        with self._lock:
            self.requests.append(Request("list", resource.kind, namespace or "", ""))
            return [self._read(obj) for obj in self._select(resource, namespace, labels, fields)]

    def list_metadata(
        self, resource: Resource, namespace: str | None = None, *, labels: str = "", fields: str = ""
    ) -> KubeObjects:
        with self._lock:
            self.requests.append(Request("list", resource.kind, namespace or "", ""))
            return [
                {
                    "apiVersion": "meta.k8s.io/v1",
                    "kind": "PartialObjectMetadata",
                    "metadata": self._read(obj["metadata"]),
                }
                for obj in self._select(resource, namespace, labels, fields)
            ]

    def is_served(self, api_version: str, kind: str) -> bool:
        with self._lock:
            self.requests.append(Request("get", "APIResourceList", "", api_version))
            return (api_version, kind) not in self.lost_kinds

    def apply(
        self,
        obj: Mapping[str, Any],
        *,
        manager: str,
        subresource: str = "",
        force: bool = True,
        dry_run: bool = False,
    ) -> KubeObject:
        request = _request("apply", obj, subresource=subresource, manager=manager, dry_run=dry_run)
        with self._lock, _Write(self, request) as write:
            schema = self._schema(obj)
            shapes.check_declared(obj, schema)
            wanted = settable(obj, subresource, self._has_status(obj))
            stored = self._objects.get(identity_of(obj))
            if stored is None:
                if obj["metadata"].get("uid"):
                    raise Conflict(f"{obj['kind']} {obj['metadata']['name']} of that uid is missing")
                if subresource:
                    raise ObjectMissing(f"{obj['kind']} {obj['metadata']['name']} is gone")
                return write.create(wanted, Owners(), manager)
            check_patched(stored.obj, obj, subresource)
            if not force:
                clashes = stored.owners.conflicts(manager, subresource, stored.obj, ownable(wanted), schema)
                if clashes:
                    raise Conflict("owned by others: " + "; ".join(clashes))
            owners = stored.owners.clone()
            after = owners.apply(manager, subresource, stored.obj, ownable(wanted), schema)
            return write.store(stored, after, owners)

    def create(self, obj: Mapping[str, Any]) -> KubeObject:
        request = _request("create", obj)
        with self._lock, _Write(self, request) as write:
            shapes.check_declared(obj, self._schema(obj))
            if identity_of(obj) in self._objects:
                raise Conflict(f"{obj['kind']} {obj['metadata']['name']} already exists")
            return write.create(settable(obj, "", self._has_status(obj)), Owners(), "")

    def replace(self, obj: Mapping[str, Any], *, subresource: str = "") -> KubeObject:
        request = _request("replace", obj, subresource=subresource)
        with self._lock, _Write(self, request) as write:
            shapes.check_declared(obj, self._schema(obj))
            stored = self._objects.get(identity_of(obj))
            if stored is None:
                raise ObjectMissing(f"{obj['kind']} {obj['metadata']['name']} is gone")
            if not obj["metadata"].get("resourceVersion"):
                raise ObjectRefused("metadata.resourceVersion: must be specified for an update")
            check_version(stored.obj, obj)
            return write.update(stored, dict(obj), subresource)

    def merge_patch(
        self,
        resource: Resource,
        name: str,
        namespace: str | None,
        patch: Mapping[str, Any],
        *,
        subresource: str = "",
    ) -> KubeObject | None:
        space = space_of(resource, namespace)
        request = Request("patch", resource.kind, space, name, subresource)
        with self._lock, _Write(self, request) as write:
            stored = self._objects.get((resource.api_version, resource.kind, space, name))
            if stored is None:
                return None
            check_patched(stored.obj, patch, subresource)
            after = merge_patched(stored.obj, patch)
            shapes.check_declared(after, self._schema(stored.obj))
            return write.update(stored, after, subresource)

    def delete(
        self,
        resource: Resource,
        name: str,
        namespace: str | None = None,
        *,
        uid: str = "",
        version: str = "",
        propagation: str = "Background",
        grace: int | None = None,
    ) -> bool:
        space = space_of(resource, namespace)
        request = Request("delete", resource.kind, space, name)
        with self._lock, _Write(self, request) as write:
            stored = self._objects.get((resource.api_version, resource.kind, space, name))
            if stored is None:
                return False
            if uid and uid != stored.obj["metadata"]["uid"]:
                raise Conflict(f"{resource.kind} {name} is another object (uid)")
            if version and version != stored.obj["metadata"]["resourceVersion"]:
                raise Conflict(f"{resource.kind} {name} was written to since (resourceVersion)")
            if propagation == "Orphan":
                self._orphan(stored.obj["metadata"]["uid"])
            write.delete(stored)
            return True

    def pod_log(
        self,
        name: str,
        namespace: str,
        *,
        container: str = "",
        tail_lines: int = 20,
        previous: bool = False,
    ) -> str:
        logs = self.previous_logs if previous else self.logs
        lines = logs.get((namespace, name, container), "").splitlines()
        return "\n".join(lines[-tail_lines:])

    # -- inside

    def _schema(self, obj: Mapping[str, Any]) -> shapes.Schema:
        return self._schemas.get(obj["kind"], shapes.OBJECT)

    def _has_status(self, obj: Mapping[str, Any]) -> bool:
        return obj["kind"] in self._with_status

    def _without_status(self, obj: Mapping[str, Any]) -> KubeObject:
        if self._has_status(obj):
            return {key: copied(part) for key, part in obj.items() if key != "status"}
        return copied(dict(obj))

    def _select(
        self, resource: Resource, namespace: str | None, labels: str, fields: str
    ) -> Iterator[KubeObject]:
        api, kind, space = resource.api_version, resource.kind, namespace if resource.namespaced else ""
        selects = bool(labels or fields)
        found = [o for o in self._of_kind(api, kind) if not space or o[2] == space]
        for stored in [self._objects[identity] for identity in found]:
            if not selects or (matches_labels(stored.obj, labels) and matches_fields(stored.obj, fields)):
                yield stored.obj

    def _of_kind(self, api: str, kind: str) -> list[Identity]:
        """In order; gathered again only where anything was made or deleted since."""
        now = (id(self._objects), len(self._objects), self._made)
        if self._indexed != now:
            self._indexed, self._by_kind = now, {}
            for identity in sorted(self._objects):
                self._by_kind.setdefault(identity[:2], []).append(identity)
        return self._by_kind.get((api, kind), [])

    def _next_version(self) -> str:
        self._revision += 1
        return str(self._revision)

    def _forget(self, identity: Identity) -> None:
        del self._objects[identity]
        self._made += 1

    def _time(self) -> str:
        return datetime.fromtimestamp(self._clock.now(), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

    def _orphan(self, owner: str) -> None:
        for stored in self._objects.values():
            meta = stored.obj["metadata"]
            if "ownerReferences" in meta:
                left = [one for one in meta["ownerReferences"] if one["uid"] != owner]
                rest = {key: part for key, part in meta.items() if key != "ownerReferences"}
                rest |= {"ownerReferences": left} if left else {}
                stored.obj = {**stored.obj, "metadata": {**rest, "resourceVersion": self._next_version()}}

    def _collect_once(self, identity: Identity) -> bool:
        stored = self._objects.get(identity)
        if stored is None or stored.obj["metadata"].get("deletionTimestamp"):
            return False
        references = stored.obj["metadata"].get("ownerReferences", [])
        if not references:
            return False
        living = {other.obj["metadata"]["uid"] for other in self._objects.values()}
        if any(reference["uid"] in living for reference in references):
            return False
        _Write(self, _request("collect", stored.obj)).delete(stored)
        return True


class _Write:
    """One write under way: calls the hooks around it and books what it did."""

    def __init__(self, kube: FakeKube, request: Request) -> None:
        self._kube = kube
        self._request = request
        self._changed = False

    def __enter__(self) -> _Write:
        self._kube.before_write(self._request)
        return self

    def __exit__(self, failure: type[BaseException] | None, *_: object) -> None:
        r = self._request
        done = Request(
            r.verb, r.kind, r.namespace, r.name, r.subresource, r.manager, r.dry_run, self._changed
        )
        self._kube.requests.append(done)
        if failure is None:
            self._kube.after_write(done)

    def create(self, obj: KubeObject, owners: Owners, manager: str) -> KubeObject:
        kube = self._kube
        fresh: KubeObject = shapes.with_defaults(kube._without_status(obj), kube._schema(obj))
        convert_secret(fresh)
        meta = fresh["metadata"]
        meta.pop("resourceVersion", None)
        meta["uid"] = kube.new_uid()
        meta["creationTimestamp"] = kube._time()
        if fresh["kind"] not in WITHOUT_GENERATION:
            meta["generation"] = 1
        schema, own = kube._schema(obj), ownable(kube._without_status(obj))
        if manager:
            owners.apply(manager, "", {}, own, schema)
        else:
            owners.update(UPDATE_MANAGER, "", {}, own, schema)
        if self._request.dry_run:
            return fresh
        meta["resourceVersion"] = kube._next_version()
        kube._objects[identity_of(fresh)] = _Stored(fresh, owners)
        kube._made += 1
        self._changed = True
        return kube._read(fresh)

    def update(self, stored: _Stored, wanted: KubeObject, subresource: str) -> KubeObject:
        """An ordinary write of `wanted`, whatever the subresource does not cover left as it is."""
        before = stored.obj
        after = {**before, "metadata": {**before["metadata"]}}
        if subresource == "status":
            copy_key(wanted, after, "status")
        else:
            kept = ("status",) if self._kube._has_status(before) else ()
            for key in {*after, *wanted} - {*kept, "metadata", "apiVersion", "kind"}:
                copy_key(wanted, after, key)
            system = {key: before["metadata"][key] for key in SYSTEM_FIELDS if key in before["metadata"]}
            free = {key: part for key, part in wanted.get("metadata", {}).items() if key not in SYSTEM_FIELDS}
            after["metadata"] = {**copied(free), **system}
        owners = stored.owners.clone()
        schema = self._kube._schema(before)
        owners.update(UPDATE_MANAGER, subresource, ownable(before), ownable(after), schema)
        return self.store(stored, after, owners)

    def store(self, stored: _Stored, after: KubeObject, owners: Owners) -> KubeObject:
        kube, before = self._kube, stored.obj
        after = shapes.with_defaults(after, kube._schema(after))
        convert_secret(after)
        check_immutable(before, after)
        if after == before and owners == stored.owners:
            return kube._read(before)
        if before["kind"] not in WITHOUT_GENERATION and desired(before) != desired(after):
            generation = before["metadata"]["generation"] + 1
            after = {**after, "metadata": {**after["metadata"], "generation": generation}}
        if self._request.dry_run:
            return after
        after = {**after, "metadata": {**after["metadata"], "resourceVersion": kube._next_version()}}
        self._changed = True
        stored.obj, stored.owners = after, owners
        if after["metadata"].get("deletionTimestamp") and not after["metadata"].get("finalizers"):
            kube._forget(identity_of(after))
        return kube._read(after)

    def delete(self, stored: _Stored) -> None:
        meta = stored.obj["metadata"]
        if not meta.get("finalizers"):
            self._kube._forget(identity_of(stored.obj))
            self._changed = True
        elif not meta.get("deletionTimestamp"):
            meta = {**meta, "deletionTimestamp": self._kube._time()}
            meta["resourceVersion"] = self._kube._next_version()
            if "generation" in meta:
                meta["generation"] += 1
            stored.obj = {**stored.obj, "metadata": meta}
            self._changed = True


def _request(
    verb: str, obj: Mapping[str, Any], *, subresource: str = "", manager: str = "", dry_run: bool = False
) -> Request:
    _, kind, space, name = identity_of(obj)
    return Request(verb, kind, space, name, subresource, manager, dry_run)
