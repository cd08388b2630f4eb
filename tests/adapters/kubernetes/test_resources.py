"""Which resource of the API a kind is."""

from __future__ import annotations

import pytest

from controller.ports.kubernetes import resource_of


@pytest.mark.parametrize(
    ("kind", "plural"),
    [
        ("Deployment", "deployments"),
        ("NetworkPolicy", "networkpolicies"),
        ("Gateway", "gateways"),
        ("Ingress", "ingresses"),
        ("IngressClass", "ingressclasses"),
        ("StorageClass", "storageclasses"),
        ("Endpoints", "endpoints"),
        ("PodDisruptionBudget", "poddisruptionbudgets"),
        ("HTTPRoute", "httproutes"),
    ],
)
def test_the_plural_is_that_of_the_api(kind: str, plural: str) -> None:
    assert resource_of({"apiVersion": "v1", "kind": kind}).plural == plural


CLUSTER_SCOPED = {
    "v1": ("Namespace", "Node", "PersistentVolume"),
    "admissionregistration.k8s.io/v1": (
        "MutatingWebhookConfiguration",
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding",
        "ValidatingWebhookConfiguration",
    ),
    "admissionregistration.k8s.io/v1beta1": ("MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding"),
    "apiextensions.k8s.io/v1": ("CustomResourceDefinition",),
    "apiregistration.k8s.io/v1": ("APIService",),
    "certificates.k8s.io/v1": ("CertificateSigningRequest",),
    "flowcontrol.apiserver.k8s.io/v1": ("FlowSchema", "PriorityLevelConfiguration"),
    "networking.k8s.io/v1": ("IPAddress", "IngressClass", "ServiceCIDR"),
    "node.k8s.io/v1": ("RuntimeClass",),
    "osctl.dev/v1alpha1": ("ComputeMaintenance",),
    "rbac.authorization.k8s.io/v1": ("ClusterRole", "ClusterRoleBinding"),
    "resource.k8s.io/v1": ("DeviceClass", "ResourceSlice"),
    "scheduling.k8s.io/v1": ("PriorityClass",),
    "storage.k8s.io/v1": (
        "CSIDriver",
        "CSINode",
        "StorageClass",
        "VolumeAttachment",
        "VolumeAttributesClass",
    ),
}
NAMESPACED = {
    "v1": ("ConfigMap", "PersistentVolumeClaim"),
    "networking.k8s.io/v1": ("Ingress",),
    "resource.k8s.io/v1": ("ResourceClaim",),
    "storage.k8s.io/v1": ("CSIStorageCapacity",),
    # A custom resource that only has the name of a kind of Kubernetes.
    "example.org/v1": ("StorageClass", "Node"),
}


@pytest.mark.parametrize(
    ("api_version", "kind"), [(group, kind) for group, kinds in CLUSTER_SCOPED.items() for kind in kinds]
)
def test_what_lies_in_no_namespace_is_known(api_version: str, kind: str) -> None:
    assert not resource_of({"apiVersion": api_version, "kind": kind}).namespaced


@pytest.mark.parametrize(
    ("api_version", "kind"), [(group, kind) for group, kinds in NAMESPACED.items() for kind in kinds]
)
def test_everything_else_lies_in_one(api_version: str, kind: str) -> None:
    assert resource_of({"apiVersion": api_version, "kind": kind}).namespaced
