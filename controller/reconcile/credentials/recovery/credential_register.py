"""Which credentials a region has had, beside its status: a ConfigMap of names that outlives its osdpl.

What is there under its name and is not the controller's is left as it is, and counts for nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from controller.domain.api.names import CREDENTIAL_REGISTER, DEPLOYMENT_LABEL, MANAGED_BY, MANAGED_BY_US
from controller.domain.credentials.credential_plan import CredentialProblem
from controller.domain.credentials.recovery.credential_traces import NotedCredentials
from controller.domain.shared.plurals import count
from controller.ports.kubernetes import CONFIGMAP, Kube, KubeObject
from controller.reconcile.shared.action_log import log_action

TAKEN = (
    "another program owns a ConfigMap of this name; rename or delete it. The region records its "
    "credentials there, in case its OpenStackDeployment is lost"
)


# No Secret has such a name.
_INCOMPLETE = "_incomplete"


@dataclass
class CredentialRegister:
    """Of one region, as one pass finds it; `live` once it was read."""

    kube: Kube
    namespace: str
    region: str
    live: KubeObject | None = None

    def read(self) -> NotedCredentials | None:
        """What is noted; None where there is no register. Raises KubeError."""
        self.live = self.kube.get(CONFIGMAP, CREDENTIAL_REGISTER, self.namespace)
        if self.live is None or not self._is_ours():
            return None
        data = self.live.get("data") or {}
        keys = {name: tuple(str(text).split()) for name, text in data.items() if name != _INCOMPLETE}
        return NotedCredentials(keys, complete=_INCOMPLETE not in data)

    def write(self, noted: NotedCredentials) -> list[CredentialProblem]:
        """Notes this, and nothing else, on condition that it is as it was read; what stands in the way.
        Raises Conflict, KubeError."""
        if self.live is not None and not self._is_ours():
            return [CredentialProblem(CREDENTIAL_REGISTER, TAKEN, kind="ConfigMap")]
        data = {name: " ".join(sorted(those)) for name, those in sorted(noted.keys.items()) if those}
        if not data and self.live is None:
            return []
        data |= {} if noted.complete else {_INCOMPLETE: "true"}
        if self.live is None:
            labels = {MANAGED_BY: MANAGED_BY_US, DEPLOYMENT_LABEL: self.region}
            meta = {"name": CREDENTIAL_REGISTER, "namespace": self.namespace, "labels": labels}
            head = {"apiVersion": CONFIGMAP.api_version, "kind": CONFIGMAP.kind}
            self.live = self.kube.create({**head, "metadata": meta, "data": data})
        elif (self.live.get("data") or {}) != data:
            self.live = self.kube.replace({**self.live, "data": data})
        else:
            return []
        text = f"ConfigMap {CREDENTIAL_REGISTER}: {count(len(noted.keys), 'Secret')} with credentials noted"
        log_action("record", f"{self.namespace}/{CREDENTIAL_REGISTER}", text)
        return []

    def remove(self) -> None:
        """With the region, and its credentials. Raises Conflict, KubeError."""
        if self.read() is None or self.live is None:
            return
        meta = self.live["metadata"]
        version = str(meta["resourceVersion"])
        self.kube.delete(
            CONFIGMAP, CREDENTIAL_REGISTER, self.namespace, uid=str(meta["uid"]), version=version
        )
        text = f"ConfigMap {CREDENTIAL_REGISTER}: deleted, with the credentials"
        log_action("delete", f"{self.namespace}/{CREDENTIAL_REGISTER}", text)

    def _is_ours(self) -> bool:
        labels = ((self.live or {}).get("metadata") or {}).get("labels") or {}
        return bool(labels.get(MANAGED_BY) == MANAGED_BY_US)
