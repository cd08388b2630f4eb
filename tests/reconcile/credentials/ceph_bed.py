"""A region with an exchange, and a Ceph cluster in another namespace of an API server in memory."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

from controller.domain.values.ceph_needs import CONSUMERS_SECRET
from controller.ports.kubernetes import CONFIGMAP, SECRET, KubeObject, Resource
from tests.domain.credentials.ceph.samples import (
    DOCUMENT,
    ROOK_CLIENTS,
    ROOK_CLUSTER,
    ROOK_MONITORS,
    everything,
)
from tests.reconcile.credentials.test_secrets import NS, Bed

ROOK = "rook-ceph"


class CephBed(Bed):
    """`put_rook` and `put_offer` are what Ceph's side does; `data` is what the region has come to have."""

    def __init__(self, *, source: str = "Rook", **spec: Any) -> None:
        super().__init__(**spec)
        self.ceph = everything(source=source, namespace=ROOK)

    def put_rook(self) -> None:
        self.put(SECRET, "rook-ceph-mon", ROOK_CLUSTER)
        self.put(CONFIGMAP, "rook-ceph-mon-endpoints", ROOK_MONITORS)
        for user, texts in ROOK_CLIENTS.items():
            self.put(SECRET, f"rook-ceph-client-{user}", texts)

    def put_offer(self, document: str = DOCUMENT) -> None:
        self.put(SECRET, "openstack-ceph", {"ceph.yaml": document})

    def put(self, resource: Resource, name: str, texts: Mapping[str, str], namespace: str = ROOK) -> None:
        """Creates or writes again, as its owner does."""
        data = dict(texts)
        if resource is SECRET:
            data = {key: base64.b64encode(text.encode()).decode() for key, text in texts.items()}
        there = self.kube.get(resource, name, namespace)
        meta = (there or {}).get("metadata") or {"name": name, "namespace": namespace}
        body = {"apiVersion": "v1", "kind": resource.kind, "metadata": meta, "data": data}
        if there:
            self.kube.replace({**there, "data": data})
        else:
            self.kube.create(body)

    def drop(self, resource: Resource, name: str) -> None:
        self.kube.delete(resource, name, ROOK)

    def conf(self) -> str:
        found = self.kube.get(CONFIGMAP, "ceph-etc", NS)
        return str((found or {}).get("data", {}).get("ceph.conf", ""))

    def digests(self) -> dict[str, str]:
        return self.texts(CONSUMERS_SECRET)

    def data(self) -> dict[str, Any]:
        """Content of all that the exchange made in the region's namespace, by name."""
        objects: list[KubeObject] = [*self.kube.objects("Secret"), *self.kube.objects("ConfigMap")]
        here = [
            one["metadata"] | {"data": one["data"]} for one in objects if one["metadata"]["namespace"] == NS
        ]
        return {one["name"]: one["data"] for one in here if "osctl.dev/exchange" in (one.get("labels") or {})}
