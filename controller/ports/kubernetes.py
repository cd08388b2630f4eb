"""What the reconcilers need of the world, as protocols that adapters implement.

Kubernetes objects and chart values are raw mappings; everything else that crosses a port is a frozen
dataclass. Every call has a deadline of its own and raises errors of `controller.errors` only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

KubeObject = dict[str, Any]
#: At module scope because inside a class with a method `list` that name is the method.
KubeObjects = list[KubeObject]


@dataclass(frozen=True)
class Resource:
    """A resource of the API: how its URL is made. `namespaced` False for cluster-scoped ones."""

    api_version: str
    kind: str
    plural: str
    namespaced: bool = True


SECRET = Resource("v1", "Secret", "secrets")
CONFIGMAP = Resource("v1", "ConfigMap", "configmaps")
POD = Resource("v1", "Pod", "pods")
PVC = Resource("v1", "PersistentVolumeClaim", "persistentvolumeclaims")
PV = Resource("v1", "PersistentVolume", "persistentvolumes", namespaced=False)
EVENT = Resource("v1", "Event", "events")
SERVICE = Resource("v1", "Service", "services")
NODE = Resource("v1", "Node", "nodes", namespaced=False)
SERVICE_ACCOUNT = Resource("v1", "ServiceAccount", "serviceaccounts")
RESOURCE_QUOTA = Resource("v1", "ResourceQuota", "resourcequotas")
STORAGE_CLASS = Resource("storage.k8s.io/v1", "StorageClass", "storageclasses", namespaced=False)
NAMESPACE = Resource("v1", "Namespace", "namespaces", namespaced=False)
DEPLOYMENT = Resource("apps/v1", "Deployment", "deployments")
STATEFULSET = Resource("apps/v1", "StatefulSet", "statefulsets")
DAEMONSET = Resource("apps/v1", "DaemonSet", "daemonsets")
JOB = Resource("batch/v1", "Job", "jobs")
LEASE = Resource("coordination.k8s.io/v1", "Lease", "leases")
OSDPL = Resource("osctl.dev/v1alpha1", "OpenStackDeployment", "openstackdeployments")
COMPUTE_MAINTENANCE = Resource(
    "osctl.dev/v1alpha1", "ComputeMaintenance", "computemaintenances", namespaced=False
)
PDB = Resource("policy/v1", "PodDisruptionBudget", "poddisruptionbudgets")
CRONJOB = Resource("batch/v1", "CronJob", "cronjobs")
HELMBUNDLE = Resource("osctl.dev/v1alpha1", "HelmBundle", "helmbundles")
RESTORE = Resource("osctl.dev/v1alpha1", "RegionRestore", "regionrestores")
SERVER = Resource("osctl.dev/v1alpha1", "OpenStackServer", "openstackservers")


#: The kinds of Kubernetes 1.36 and of this product without a namespace, by API group. Kinds that are only
#: requests, such as SubjectAccessReview, are not included.
_CLUSTER_SCOPED: Mapping[str, frozenset[str]] = {
    group: frozenset(kinds.split())
    for group, kinds in {
        "": "ComponentStatus Namespace Node PersistentVolume",
        "admissionregistration.k8s.io": "MutatingAdmissionPolicy MutatingAdmissionPolicyBinding "
        "MutatingWebhookConfiguration ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding "
        "ValidatingWebhookConfiguration",
        "apiextensions.k8s.io": "CustomResourceDefinition",
        "apiregistration.k8s.io": "APIService",
        "certificates.k8s.io": "CertificateSigningRequest ClusterTrustBundle",
        "flowcontrol.apiserver.k8s.io": "FlowSchema PriorityLevelConfiguration",
        "internal.apiserver.k8s.io": "StorageVersion",
        "networking.k8s.io": "IPAddress IngressClass ServiceCIDR",
        "node.k8s.io": "RuntimeClass",
        "osctl.dev": "ComputeMaintenance",
        "rbac.authorization.k8s.io": "ClusterRole ClusterRoleBinding",
        "resource.k8s.io": "DeviceClass DeviceTaintRule ResourcePoolStatusRequest ResourceSlice",
        "scheduling.k8s.io": "PriorityClass",
        "storage.k8s.io": "CSIDriver CSINode StorageClass VolumeAttachment VolumeAttributesClass",
        "storagemigration.k8s.io": "StorageVersionMigration",
    }.items()
}


def resource_of(obj: Mapping[str, Any]) -> Resource:
    """The API's resource of an object of a manifest, for the kinds that Kubernetes itself brings.

    The plural is the English one. This is right for all of them, except for the kind without a plural.
    Kubernetes' own UnsafeGuessKindToResource is wrong for `gateways`.
    """
    kind = str(obj["kind"])
    lower = kind.lower()
    if kind == "Endpoints":
        plural = lower
    elif lower.endswith("y") and lower[-2:-1] not in "aeiou":
        plural = f"{lower[:-1]}ies"
    else:
        plural = f"{lower}es" if lower.endswith(("s", "x", "ch")) else f"{lower}s"
    version = str(obj["apiVersion"])
    group = version.rpartition("/")[0]
    return Resource(version, kind, plural, namespaced=kind not in _CLUSTER_SCOPED.get(group, ()))


class Kube(Protocol):
    """The Kubernetes API. Retries 429 and 5xx itself, with jitter, inside the call's deadline."""

    def get(self, resource: Resource, name: str, namespace: str | None = None) -> KubeObject | None:
        """The object, or None when it does not exist."""
        ...

    def list(
        self, resource: Resource, namespace: str | None = None, *, labels: str = "", fields: str = ""
    ) -> KubeObjects:
        """All objects that match the selectors, read in pages."""
        ...

    def list_metadata(
        self, resource: Resource, namespace: str | None = None, *, labels: str = "", fields: str = ""
    ) -> KubeObjects:
        """As `list`, but only `metadata` of each (PartialObjectMetadata): cheap for big Secrets."""
        ...

    def is_served(self, api_version: str, kind: str) -> bool:
        """Whether the API server has this kind of objects in this version; otherwise there are none."""
        ...

    def apply(
        self,
        obj: Mapping[str, Any],
        *,
        manager: str,
        subresource: str = "",
        force: bool = True,
        dry_run: bool = False,
    ) -> KubeObject:
        """Server-side apply under `manager`. Raises ObjectRefused where the server refuses for good."""
        ...

    def create(self, obj: Mapping[str, Any]) -> KubeObject:
        """POST with fieldValidation=Strict. Raises Conflict when the object exists already."""
        ...

    def replace(self, obj: Mapping[str, Any], *, subresource: str = "") -> KubeObject:
        """PUT; the object carries the resourceVersion it was read at. Raises Conflict if that moved."""
        ...

    def merge_patch(
        self,
        resource: Resource,
        name: str,
        namespace: str | None,
        patch: Mapping[str, Any],
        *,
        subresource: str = "",
    ) -> KubeObject | None:
        """JSON merge patch, None when the object is gone. With metadata.resourceVersion: conditional."""
        ...

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
        """Asks for deletion; False when already gone. With `uid`, only that very object: where another has
        taken its name, that is a Conflict; with `version`, only as long as nothing was written to it since
        that resourceVersion. `grace` in seconds: 0 removes a pod whose node is gone."""
        ...

    def pod_log(
        self,
        name: str,
        namespace: str,
        *,
        container: str = "",
        tail_lines: int = 20,
        previous: bool = False,
    ) -> str:
        """Last lines of a container's log, empty when there is none; `previous`: of the run before this one.

        The request is sent once, and takes only seconds: the kubelet of a lost node does not answer.
        """
        ...


class WatchSink(Protocol):
    """Takes what a watch reports. Called on the watch's own thread, and must not wait."""

    def listed(self, resource: Resource, namespace: str, metadata: Sequence[Mapping[str, Any]]) -> None:
        """Everything that there is at this moment: what is not among it is gone."""
        ...

    def changed(self, resource: Resource, metadata: Mapping[str, Any], *, gone: bool) -> None:
        """One object was made, changed or deleted."""
        ...


class MetadataWatch(Protocol):
    """Watches objects without their contents: memory and traffic stay small, and no Secret is read."""

    def follow(self, resource: Resource, namespace: str, sink: WatchSink) -> None:
        """Begins to watch this resource in this namespace for the life of the process, if not yet done.

        Returns immediately. If the right or the resource is missing, the watch is tried again with long
        pauses. Helm's own records are left out.
        """
        ...


class Events(Protocol):
    """Kubernetes Events, deduplicated. `message` is already redacted."""

    def emit(
        self, obj: Mapping[str, Any], *, type_: str, reason: str, message: str, logged: bool = False
    ) -> None:
        """Records it on `obj`, and in the log, unless what it reports is `logged` already."""
        ...
