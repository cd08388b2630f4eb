"""Objects of the region's namespace whose content comes from elsewhere: written where they differ.

They are known by their labels, and go with the region, once nothing of it runs: no osdpl owns them, since
one that is lost, and comes back, must not take them along. One of the same name that others made is never
written.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial
from typing import Any

from controller.domain.api.names import (
    DEPLOYMENT_LABEL,
    EXCHANGE_LABEL,
    MANAGED_BY,
    MANAGED_BY_US,
    REGION_LABEL,
)
from controller.domain.credentials.ceph.offer import NO_TEXT
from controller.errors import Forbidden, KubeError, is_refusal
from controller.ports.kubernetes import CONFIGMAP, OSDPL, SECRET, Kube, KubeObject, Resource
from controller.reconcile.credentials.refused_writes import REFUSED, refusal_of
from controller.reconcile.shared.action_log import log_action

PARTNER = "ceph"


class ExchangedObjects:
    """Those of one region, as one pass finds them. Their content stays in here.

    `shared`: another namespace than the region's, in which they lie. Nothing there can have the region as its
    owner, and other regions may have objects there too.
    """

    def __init__(self, kube: Kube, osdpl: KubeObject, shared: str = "") -> None:
        self._kube = kube
        self._osdpl = osdpl
        self._shared = bool(shared)
        self._namespace = shared or str(osdpl["metadata"]["namespace"])
        self._secrets: dict[str, KubeObject] = {}

    def observe(self) -> None:
        """Reads the Secrets that carry our labels. Raises KubeError."""
        labels = ",".join(f"{name}={value}" for name, value in self._labels().items())
        found = self._kube.list(SECRET, self._namespace, labels=labels)
        # If both namespaces are the same, the texts for the partner are here, too.
        here = [secret for secret in found if REGION_LABEL not in secret["metadata"]["labels"]]
        self._secrets = {str(secret["metadata"]["name"]): secret for secret in here}

    def texts(self, name: str) -> dict[str, str]:
        """What a Secret of ours holds; nothing where there is none."""
        return texts_of(self._secrets.get(name) or {})

    def ensure(self, resource: Resource, name: str, texts: Mapping[str, str], *, type_: str = "") -> str:
        """Makes an object what it is to be; says why it cannot, empty where it could. Raises KubeError."""
        there = self._secrets.get(name) if resource is SECRET else None
        there = there or self._kube.get(resource, name, self._namespace)
        body = self._body(resource, name, texts, type_)
        if there is None:
            written = self._written(lambda: self._kube.create(body))
        elif not self._is_ours(there):
            return self._way_to_hand_over(resource, name)
        elif "deletionTimestamp" in there["metadata"]:
            return "the object is being deleted, and waits for a finalizer"
        elif (there.get("data") or {}) == body["data"]:
            return ""
        else:
            written = self._written(lambda: self._kube.replace({**there, "data": body["data"]}))
        if written is None:
            return f"{REFUSED}; an immutable object may be deleted"
        if resource is SECRET:
            self._secrets[name] = written
        place = f"{self._namespace}/{name}"
        log_action("exchange", place, f"{resource.kind} {place}: updated")
        return ""

    def ensure_spec(
        self, resource: Resource, name: str, spec_for: Callable[[Mapping[str, Any]], Mapping[str, Any]]
    ) -> KubeObject | None:
        """Makes an object whose spec has the fields that `spec_for` gives for the spec that is there, an
        empty one where there is none; where others made it, it is left and given back.

        Raises Conflict, Forbidden, ObjectMissing, ObjectRefused and other KubeErrors.
        """
        there = self._kube.get(resource, name, self._namespace)
        place = f"{self._namespace}/{name}"
        if there is None:
            meta = {"name": name, "namespace": self._namespace, "labels": self._labels()}
            body = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": meta}
            self._kube.create({**body, "spec": dict(spec_for({}))})
            log_action("exchange", place, f"{resource.kind} {place}: created")
        elif not self._is_ours(there):
            return there
        elif not _has(there.get("spec") or {}, spec := spec_for(there.get("spec") or {})):
            version = there["metadata"]["resourceVersion"]
            patch = {"metadata": {"resourceVersion": version}, "spec": dict(spec)}
            self._kube.merge_patch(resource, name, self._namespace, patch)
            log_action("exchange", place, f"{resource.kind} {place}: updated")
        return None

    def keep_only(self, names: Collection[str]) -> dict[str, str]:
        """Deletes the other Secrets of ours; by name, why one cannot be. Raises Conflict, KubeError."""
        refused = {}
        for name in self._secrets.keys() - set(names):
            meta = self._secrets.pop(name)["metadata"]
            if "deletionTimestamp" not in meta:
                delete = partial(self._kube.delete, SECRET, name, self._namespace, uid=str(meta["uid"]))
                if text := refusal_of(delete):
                    refused[name] = text
                    continue
                place = f"{self._namespace}/{name}"
                log_action("delete", place, f"Secret {place}: deleted, because nothing uses it any more")
        return refused

    def owned(self) -> list[tuple[Resource, Mapping[str, Any]]]:
        """The metadata of those that the region owns. Raises KubeError."""
        return [
            (resource, meta)
            for resource, meta in self._there()
            if any(one.get("kind") == OSDPL.kind for one in meta.get("ownerReferences") or [])
        ]

    def remove(self) -> None:
        """Deletes all of them, with the region. Raises Conflict, KubeError."""
        for resource, meta in self._there():
            if "deletionTimestamp" not in meta:
                self._kube.delete(resource, meta["name"], self._namespace, uid=str(meta["uid"]))
                place = f"{self._namespace}/{meta['name']}"
                log_action("delete", place, f"{resource.kind} {place}: deleted, because its region is gone")

    def _there(self) -> Iterator[tuple[Resource, Mapping[str, Any]]]:
        """Metadata of all existing objects, except for the texts for the partner."""
        labels = ",".join(f"{name}={value}" for name, value in self._labels().items())
        for resource in (CONFIGMAP, SECRET):
            for found in self._kube.list_metadata(resource, self._namespace, labels=labels):
                if REGION_LABEL not in found["metadata"]["labels"]:
                    yield resource, found["metadata"]

    def _written(self, write: Any) -> KubeObject | None:
        try:
            found: KubeObject = write()
        except KubeError as error:
            # A right on a partner's objects may be missing, which another problem reports.
            if not is_refusal(error) or (self._shared and isinstance(error, Forbidden)):
                raise
            # Its text may quote the object.
            return None
        return found

    def _labels(self) -> dict[str, str]:
        return {
            MANAGED_BY: MANAGED_BY_US,
            DEPLOYMENT_LABEL: str(self._osdpl["metadata"]["name"]),
            EXCHANGE_LABEL: PARTNER,
            **({REGION_LABEL: str(self._osdpl["metadata"]["namespace"])} if self._shared else {}),
        }

    def _is_ours(self, obj: KubeObject) -> bool:
        labels = obj["metadata"].get("labels") or {}
        return all(labels.get(name) == value for name, value in self._labels().items())

    def _way_to_hand_over(self, resource: Resource, name: str) -> str:
        labels = " ".join(f"{label}={value}" for label, value in self._labels().items())
        return (
            "the object does not belong to the controller, so the controller does not change it; "
            "delete it, or hand it over: "
            f"kubectl -n {self._namespace} label --overwrite {resource.kind.lower()} {name} {labels}"
        )

    def _body(self, resource: Resource, name: str, texts: Mapping[str, str], type_: str) -> KubeObject:
        body: KubeObject = {
            "apiVersion": resource.api_version,
            "kind": resource.kind,
            "metadata": {
                "name": name,
                "namespace": self._namespace,
                "labels": self._labels(),
            },
            "data": dict(texts),
        }
        if resource is SECRET:
            encoded = {key: base64.b64encode(text.encode()).decode() for key, text in texts.items()}
            body |= {"type": type_ or "Opaque", "data": encoded}
        return body


def texts_of(obj: Mapping[str, Any]) -> dict[str, str]:
    """The content of a Secret or ConfigMap as texts; what is no text in a Secret is NO_TEXT."""
    data = obj.get("data") or {}
    if obj.get("kind") == CONFIGMAP.kind:
        return {key: str(text or "") for key, text in data.items()}
    texts = {}
    for key, encoded in data.items():
        try:
            texts[key] = base64.b64decode(encoded or "", validate=True).decode()
        except (binascii.Error, UnicodeDecodeError):
            texts[key] = NO_TEXT
    return texts


def _has(there: Any, wanted: Any) -> bool:
    """Whether all that is wanted is there; what the definition's defaults add is no difference."""
    if isinstance(wanted, Mapping) and isinstance(there, Mapping):
        return all(key in there and _has(there[key], value) for key, value in wanted.items())
    return bool(there == wanted)
