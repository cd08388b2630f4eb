"""An API server in memory: `FakeKube` implements `controller.ports.Kube`.

It keeps what reconcilers rely on: resourceVersions and conflicts, server-side apply with ownership of
fields, the status subresource, generation, uids, finalizers and owner references. It passes
`tests/contract/test_kube.py`, as the real adapter does. What runs by itself in a cluster runs here when a
test says so: `collect_garbage()`.

Tests steer it through `before_write` and `after_write` (functions called with each `Request`; they may
raise, or write themselves to play a second writer), and count with `requests`.
"""

from __future__ import annotations

import base64
import binascii
import copy
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from controller.errors import Conflict, ObjectMissing, ObjectRefused
from controller.ports import Clock, KubeObject, KubeObjects, Resource
from tests.fakes import schema as shapes
from tests.fakes.ownership import Owners
from tests.fakes.selectors import matches_fields, matches_labels
from tests.fakes.world import FakeClock

Identity = tuple[str, str, str, str]  # api version, kind, namespace, name

WITH_STATUS = {
    "OpenStackDeployment",
    "HelmBundle",
    "NodeMaintenance",
    "OpenStackServer",
    "Deployment",
    "StatefulSet",
    "DaemonSet",
    "Job",
    "Pod",
    "PersistentVolumeClaim",
    "Node",
}
WITHOUT_GENERATION = {"Secret", "ConfigMap", "Event", "Node", "Namespace", "PersistentVolumeClaim", "Lease"}
CLUSTER_SCOPED = {"Node", "Namespace", "NodeMaintenance", "CustomResourceDefinition", "ClusterRole"}
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


def _nothing(request: Request) -> None:
    """The default of the hooks."""


class FakeKube:
    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or FakeClock()
        self._objects: dict[Identity, _Stored] = {}
        self._schemas: dict[str, shapes.Schema] = {}
        self._revision = 0
        self._lock = threading.RLock()
        self.requests: list[Request] = []
        self.logs: dict[tuple[str, str, str], str] = {}
        self.before_write: Callable[[Request], None] = _nothing
        self.after_write: Callable[[Request], None] = _nothing

    # -- for tests

    def serve(self, crd: Mapping[str, Any]) -> None:
        """From now on the kind of this CRD manifest has its defaults, list types and declared fields."""
        self._schemas[crd["spec"]["names"]["kind"]] = shapes.of_crd(crd)

    @property
    def writes(self) -> list[Request]:
        """Every write asked for, dry runs aside, whether or not it changed anything."""
        return [r for r in self.requests if r.verb not in ("get", "list") and not r.dry_run]

    @property
    def changes(self) -> list[Request]:
        """The writes that changed an object."""
        return [request for request in self.writes if request.changed]

    def forget_requests(self) -> None:
        self.requests.clear()

    def objects(self, kind: str = "") -> KubeObjects:
        """Everything stored, of one kind or all, without counting as a request."""
        return [
            copy.deepcopy(stored.obj)
            for identity, stored in sorted(self._objects.items())
            if kind in ("", identity[1])
        ]

    def owned_paths(self, obj: Mapping[str, Any], manager: str, subresource: str = "") -> set[Any]:
        return self._objects[_identity(obj)].owners.of(manager, subresource)

    def collect_garbage(self) -> None:
        """Deletes what is owned only by objects that are gone, until nothing more is."""
        with self._lock:
            collected = True
            while collected:
                collected = any(self._collect_once(identity) for identity in list(self._objects))

    # -- the port

    def get(self, resource: Resource, name: str, namespace: str | None = None) -> KubeObject | None:
        with self._lock:
            space = _space(resource, namespace)
            self.requests.append(Request("get", resource.kind, space, name))
            stored = self._objects.get((resource.api_version, resource.kind, space, name))
            return copy.deepcopy(stored.obj) if stored else None

    def list(
        self, resource: Resource, namespace: str | None = None, *, labels: str = "", fields: str = ""
    ) -> KubeObjects:
        with self._lock:
            self.requests.append(Request("list", resource.kind, namespace or "", ""))
            return [copy.deepcopy(obj) for obj in self._select(resource, namespace, labels, fields)]

    def list_metadata(
        self, resource: Resource, namespace: str | None = None, *, labels: str = "", fields: str = ""
    ) -> KubeObjects:
        with self._lock:
            self.requests.append(Request("list", resource.kind, namespace or "", ""))
            return [
                {
                    "apiVersion": "meta.k8s.io/v1",
                    "kind": "PartialObjectMetadata",
                    "metadata": copy.deepcopy(obj["metadata"]),
                }
                for obj in self._select(resource, namespace, labels, fields)
            ]

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
        with self._lock, self._writing(request) as write:
            schema = self._schema(obj)
            shapes.check_declared(obj, schema)
            wanted = _settable(obj, subresource)
            stored = self._objects.get(_identity(obj))
            if stored is None:
                if subresource:
                    raise ObjectMissing(f"{obj['kind']} {obj['metadata']['name']} is gone")
                return write.create(wanted, Owners(), manager)
            _check_version(stored.obj, obj)
            if not force:
                clashes = stored.owners.conflicts(manager, subresource, stored.obj, wanted, schema)
                if clashes:
                    raise Conflict("owned by others: " + "; ".join(clashes))
            owners = stored.owners.clone()
            after = owners.apply(manager, subresource, stored.obj, wanted, schema)
            return write.store(stored, after, owners)

    def create(self, obj: Mapping[str, Any]) -> KubeObject:
        request = _request("create", obj)
        with self._lock, self._writing(request) as write:
            shapes.check_declared(obj, self._schema(obj))
            if _identity(obj) in self._objects:
                raise Conflict(f"{obj['kind']} {obj['metadata']['name']} already exists")
            return write.create(_settable(obj, ""), Owners(), "")

    def replace(self, obj: Mapping[str, Any], *, subresource: str = "") -> KubeObject:
        request = _request("replace", obj, subresource=subresource)
        with self._lock, self._writing(request) as write:
            shapes.check_declared(obj, self._schema(obj))
            stored = self._objects.get(_identity(obj))
            if stored is None:
                raise ObjectMissing(f"{obj['kind']} {obj['metadata']['name']} is gone")
            if not obj["metadata"].get("resourceVersion"):
                raise ObjectRefused("metadata.resourceVersion: must be specified for an update")
            _check_version(stored.obj, obj)
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
        space = _space(resource, namespace)
        request = Request("patch", resource.kind, space, name, subresource)
        with self._lock, self._writing(request) as write:
            stored = self._objects.get((resource.api_version, resource.kind, space, name))
            if stored is None:
                return None
            _check_version(stored.obj, patch)
            after = _merge_patched(stored.obj, patch)
            shapes.check_declared(after, self._schema(stored.obj))
            return write.update(stored, after, subresource)

    def delete(
        self,
        resource: Resource,
        name: str,
        namespace: str | None = None,
        *,
        uid: str = "",
        propagation: str = "Background",
    ) -> bool:
        space = _space(resource, namespace)
        request = Request("delete", resource.kind, space, name)
        with self._lock, self._writing(request) as write:
            stored = self._objects.get((resource.api_version, resource.kind, space, name))
            if stored is None:
                return False
            if uid and uid != stored.obj["metadata"]["uid"]:
                raise Conflict(f"{resource.kind} {name} is another object (uid)")
            if propagation == "Orphan":
                self._orphan(stored.obj["metadata"]["uid"])
            write.delete(stored)
            return True

    def pod_log(self, name: str, namespace: str, *, container: str = "", tail_lines: int = 20) -> str:
        lines = self.logs.get((namespace, name, container), "").splitlines()
        return "\n".join(lines[-tail_lines:])

    # -- inside

    def _schema(self, obj: Mapping[str, Any]) -> shapes.Schema:
        return self._schemas.get(obj["kind"], shapes.OBJECT)

    def _select(
        self, resource: Resource, namespace: str | None, labels: str, fields: str
    ) -> Iterator[KubeObject]:
        for identity, stored in sorted(self._objects.items()):
            if identity[:2] != (resource.api_version, resource.kind):
                continue
            if namespace and resource.namespaced and identity[2] != namespace:
                continue
            if matches_labels(stored.obj, labels) and matches_fields(stored.obj, fields):
                yield stored.obj

    def _next_version(self) -> str:
        self._revision += 1
        return str(self._revision)

    def _time(self) -> str:
        return datetime.fromtimestamp(self._clock.now(), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

    def _writing(self, request: Request) -> _Write:
        return _Write(self, request)

    def _orphan(self, owner: str) -> None:
        for stored in self._objects.values():
            meta = stored.obj["metadata"]
            if "ownerReferences" in meta:
                meta["ownerReferences"] = [r for r in meta["ownerReferences"] if r["uid"] != owner]
                if not meta["ownerReferences"]:
                    del meta["ownerReferences"]
                meta["resourceVersion"] = self._next_version()

    def _collect_once(self, identity: Identity) -> bool:
        stored = self._objects.get(identity)
        if stored is None or stored.obj["metadata"].get("deletionTimestamp"):
            return False
        references = stored.obj["metadata"].get("ownerReferences", [])
        living = {other.obj["metadata"]["uid"] for other in self._objects.values()}
        if not references or any(reference["uid"] in living for reference in references):
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
        fresh: KubeObject = shapes.with_defaults(_without_status(obj), kube._schema(obj))
        _convert_secret(fresh)
        meta = fresh["metadata"]
        meta.pop("resourceVersion", None)
        meta["uid"] = str(uuid.uuid4())
        meta["creationTimestamp"] = kube._time()
        if fresh["kind"] not in WITHOUT_GENERATION:
            meta["generation"] = 1
        own = {key: part for key, part in _without_status(obj).items() if key not in ("apiVersion", "kind")}
        schema = kube._schema(obj)
        if manager:
            owners.apply(manager, "", {}, _ownable(own), schema)
        else:
            owners.update(UPDATE_MANAGER, "", {}, _ownable(own), schema)
        if self._request.dry_run:
            return fresh
        meta["resourceVersion"] = kube._next_version()
        kube._objects[_identity(fresh)] = _Stored(fresh, owners)
        self._changed = True
        return copy.deepcopy(fresh)

    def update(self, stored: _Stored, wanted: KubeObject, subresource: str) -> KubeObject:
        """An ordinary write of `wanted`, whatever the subresource does not cover left as it is."""
        before = stored.obj
        after = copy.deepcopy(before)
        if subresource == "status":
            _copy_key(wanted, after, "status")
        else:
            kept = ("status",) if before["kind"] in WITH_STATUS else ()
            for key in {*after, *wanted} - {*kept, "metadata", "apiVersion", "kind"}:
                _copy_key(wanted, after, key)
            system = {key: before["metadata"][key] for key in _SYSTEM if key in before["metadata"]}
            free = {key: part for key, part in wanted.get("metadata", {}).items() if key not in _SYSTEM}
            after["metadata"] = {**copy.deepcopy(free), **system}
        owners = stored.owners.clone()
        schema = self._kube._schema(before)
        owners.update(UPDATE_MANAGER, subresource, _ownable(before), _ownable(after), schema)
        return self.store(stored, after, owners)

    def store(self, stored: _Stored, after: KubeObject, owners: Owners) -> KubeObject:
        kube, before = self._kube, stored.obj
        after = shapes.with_defaults(after, kube._schema(after))
        _convert_secret(after)
        _check_immutable(before, after)
        if after == before and owners == stored.owners:
            return copy.deepcopy(before)
        if before["kind"] not in WITHOUT_GENERATION and _desired(before) != _desired(after):
            after["metadata"]["generation"] = before["metadata"]["generation"] + 1
        if self._request.dry_run:
            return after
        after["metadata"]["resourceVersion"] = kube._next_version()
        self._changed = True
        stored.obj, stored.owners = after, owners
        if after["metadata"].get("deletionTimestamp") and not after["metadata"].get("finalizers"):
            del kube._objects[_identity(after)]
        return copy.deepcopy(after)

    def delete(self, stored: _Stored) -> None:
        meta = stored.obj["metadata"]
        if not meta.get("finalizers"):
            del self._kube._objects[_identity(stored.obj)]
            self._changed = True
        elif not meta.get("deletionTimestamp"):
            meta["deletionTimestamp"] = self._kube._time()
            meta["resourceVersion"] = self._kube._next_version()
            if "generation" in meta:
                meta["generation"] += 1
            self._changed = True


_SYSTEM = (
    "name",
    "namespace",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
)


def _space(resource: Resource, namespace: str | None) -> str:
    return (namespace or "default") if resource.namespaced else ""


def _identity(obj: Mapping[str, Any]) -> Identity:
    meta = obj["metadata"]
    space = "" if obj["kind"] in CLUSTER_SCOPED else meta.get("namespace") or "default"
    return (obj["apiVersion"], obj["kind"], space, meta["name"])


def _request(
    verb: str, obj: Mapping[str, Any], *, subresource: str = "", manager: str = "", dry_run: bool = False
) -> Request:
    _, kind, space, name = _identity(obj)
    return Request(verb, kind, space, name, subresource, manager, dry_run)


def _settable(obj: Mapping[str, Any], subresource: str) -> KubeObject:
    """What a writer may set through this endpoint, plus the identity."""
    meta = {key: part for key, part in obj["metadata"].items() if key not in _SYSTEM or key in ("name",)}
    if obj["kind"] not in CLUSTER_SCOPED:
        meta["namespace"] = obj["metadata"].get("namespace") or "default"
    wanted = {"apiVersion": obj["apiVersion"], "kind": obj["kind"], "metadata": copy.deepcopy(meta)}
    if subresource == "status":
        wanted["metadata"] = {key: part for key, part in meta.items() if key in ("name", "namespace")}
        if "status" in obj:
            wanted["status"] = copy.deepcopy(obj["status"])
        return wanted
    for key, part in obj.items():
        if key not in wanted and not (key == "status" and obj["kind"] in WITH_STATUS):
            wanted[key] = copy.deepcopy(part)
    return wanted


def _ownable(obj: Mapping[str, Any]) -> KubeObject:
    """Without what the server itself keeps."""
    meta = {key: part for key, part in obj.get("metadata", {}).items() if key not in _SYSTEM}
    return {**{k: v for k, v in obj.items() if k not in ("apiVersion", "kind")}, "metadata": meta}


def _without_status(obj: Mapping[str, Any]) -> KubeObject:
    if obj["kind"] in WITH_STATUS:
        return {key: copy.deepcopy(part) for key, part in obj.items() if key != "status"}
    return copy.deepcopy(dict(obj))


def _desired(obj: Mapping[str, Any]) -> KubeObject:
    return {key: part for key, part in obj.items() if key not in ("metadata", "status")}


def _copy_key(source: Mapping[str, Any], target: KubeObject, key: str) -> None:
    if key in source:
        target[key] = copy.deepcopy(source[key])
    else:
        target.pop(key, None)


def _check_version(stored: Mapping[str, Any], obj: Mapping[str, Any]) -> None:
    meta = obj.get("metadata", {})
    if (
        meta.get("resourceVersion", stored["metadata"]["resourceVersion"])
        != stored["metadata"]["resourceVersion"]
    ):
        raise Conflict(f"{stored['kind']} {stored['metadata']['name']} has been modified")
    if meta.get("uid", stored["metadata"]["uid"]) != stored["metadata"]["uid"]:
        raise Conflict(f"{stored['kind']} {stored['metadata']['name']} is another object (uid)")


def _merge_patched(target: Any, patch: Any) -> Any:
    if not isinstance(patch, Mapping):
        return copy.deepcopy(patch)
    result = copy.deepcopy(dict(target)) if isinstance(target, Mapping) else {}
    for key, part in patch.items():
        if part is None:
            result.pop(key, None)
        else:
            result[key] = _merge_patched(result.get(key), part)
    return result


def _convert_secret(obj: KubeObject) -> None:
    """As the API server does: `stringData` becomes `data`, `data` must be base64, the type is never empty."""
    if obj["kind"] != "Secret":
        return
    plain = obj.pop("stringData", None)
    if plain:
        obj.setdefault("data", {}).update(
            {key: base64.b64encode(text.encode()).decode() for key, text in plain.items()}
        )
    obj.setdefault("type", "Opaque")
    for key, text in obj.get("data", {}).items():
        try:
            base64.b64decode(text, validate=True)
        except (binascii.Error, TypeError, ValueError):
            raise ObjectRefused(f"data.{key}: illegal base64 data") from None


def _check_immutable(before: Mapping[str, Any], after: Mapping[str, Any]) -> None:
    if before["kind"] not in ("Secret", "ConfigMap"):
        return
    if before.get("type") != after.get("type"):
        raise ObjectRefused("type: field is immutable")
    if before.get("immutable") and _desired(before) != _desired(after):
        raise ObjectRefused("data: field is immutable when `immutable` is set")
