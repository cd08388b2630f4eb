"""Reads and writes the Secrets of the region's own certificates. Their content stays in here."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Mapping
from typing import Any

from controller.domain.api.names import (
    CERTIFICATE_LABEL,
    DEPLOYMENT_LABEL,
    MANAGED_BY,
    MANAGED_BY_US,
    SERVICE_LABEL,
)
from controller.ports.kubernetes import OSDPL, SECRET, Kube, KubeObject
from controller.reconcile.shared.action_log import log_action

_TLS = "kubernetes.io/tls"


class CertificateStore:
    """Those of one osdpl with a `label`, as one pass finds them. `foreign`: wanted names that others have."""

    def __init__(self, kube: Kube, osdpl: Mapping[str, Any], label: str = CERTIFICATE_LABEL) -> None:
        self._kube = kube
        self._osdpl = osdpl
        self._label = label
        self.namespace = str(osdpl["metadata"]["namespace"])
        self._objects: dict[str, KubeObject] = {}
        self._others: dict[str, KubeObject] = {}

    def observe(self, names: Iterable[str]) -> dict[str, KubeObject]:
        """Every Secret of ours with certificates. Those of `names` that are not ours are `foreign`."""
        labels = f"{MANAGED_BY}={MANAGED_BY_US},{self._label}"
        found = self._kube.list(SECRET, self.namespace, labels=labels)
        self._objects = {str(one["metadata"]["name"]): one for one in found}
        others = {n: self._kube.get(SECRET, n, self.namespace) for n in names if n not in self._objects}
        self._others = {name: one for name, one in others.items() if one is not None}
        return dict(self._objects)

    @property
    def stored(self) -> Mapping[str, KubeObject]:
        """What was observed, with our own writes since."""
        return self._objects

    @property
    def foreign(self) -> frozenset[str]:
        """Of wanted names those that others have."""
        return frozenset(self._others)

    def take_empty(self, name: str, type_: str) -> bool:
        """Whether the Secret of others has nothing, and the type: it is ours from then on, to be filled."""
        there = self._others.get(name)
        if there is None or there.get("data") or there.get("type") != type_:
            return False
        self._objects[name] = self._others.pop(name)
        return True

    @property
    def names(self) -> frozenset[str]:
        """Of all Secrets of ours with certificates, with those written since."""
        return frozenset(self._objects)

    def write(
        self, name: str, kind: str, texts: Mapping[str, str], type_: str = "", *, service: str = ""
    ) -> bool:
        """Has the Secret hold these texts and no others; whether anything was written. Raises Conflict."""
        before = self._objects.get(name)
        data = {key: base64.b64encode(text.encode()).decode() for key, text in texts.items()}
        labels = {
            MANAGED_BY: MANAGED_BY_US,
            self._label: kind,
            **({SERVICE_LABEL: service} if service else {}),
        }
        labels[DEPLOYMENT_LABEL] = str(self._osdpl["metadata"]["name"])
        if before is None:
            meta: KubeObject = {"name": name, "namespace": self.namespace}
            meta["labels"] = labels
            secret_type = type_ or (_TLS if kind == "leaf" else "Opaque")
            head = {"apiVersion": SECRET.api_version, "kind": SECRET.kind, "type": secret_type}
            written = self._kube.create({**head, "metadata": meta, "data": data})
        else:
            meta = before["metadata"]
            same = {**(meta.get("labels") or {}), **labels} == meta.get("labels")
            # An osdpl that is lost, and comes back, must not take them along: pods work on meanwhile.
            owners = [one for one in meta.get("ownerReferences") or [] if one.get("kind") != OSDPL.kind]
            if before.get("data") == data and same and (meta.get("ownerReferences") or []) == owners:
                return False
            meta = {**meta, "labels": {**(meta.get("labels") or {}), **labels}, "ownerReferences": owners}
            written = self._kube.replace({**before, "metadata": meta, "data": data})
        self._objects[name] = written
        action = "complete" if before else "create"
        log_action(action, f"{self.namespace}/{name}", f"Secret {name}: {kind} updated")
        return True

    def remove(self, name: str) -> None:
        """Deletes the Secret that was observed. Raises Conflict when another has taken its name."""
        self._kube.delete(SECRET, name, self.namespace, uid=str(self._objects[name]["metadata"]["uid"]))
        del self._objects[name]
        log_action(
            "delete",
            f"{self.namespace}/{name}",
            f"Secret {name}: deleted, because nothing uses it any more",
        )


def texts_of(secret: Mapping[str, Any] | None) -> dict[str, str]:
    """The texts of a Secret; what is none counts as empty."""
    return {key: _decoded(text) for key, text in ((secret or {}).get("data") or {}).items()}


def _decoded(encoded: str) -> str:
    try:
        return base64.b64decode(encoded or "", validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return ""
