"""Definitions of other products' kinds that releases make: as much as an API server needs to keep them."""

from __future__ import annotations

import json
from typing import Any

from sandbox.cluster import Sandbox
from sandbox.profiles import node_object, parse_profile

_KINDS = (
    ("gateway.networking.k8s.io", "v1", "Gateway"),
    ("gateway.networking.k8s.io", "v1", "HTTPRoute"),
    ("gateway.networking.k8s.io", "v1", "BackendTLSPolicy"),
    ("cert-manager.io", "v1", "Certificate"),
)


def definitions() -> list[dict[str, Any]]:
    """CustomResourceDefinitions that take any spec."""
    return [_definition(*one) for one in _KINDS]


def _definition(group: str, version: str, kind: str) -> dict[str, Any]:
    plural = f"{kind.lower()[:-1]}ies" if kind.endswith("Policy") else f"{kind.lower()}s"
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": f"{plural}.{group}",
            # The API server keeps names of its own groups for what Kubernetes has agreed on.
            "annotations": {"api-approved.kubernetes.io": "unapproved, for tests"},
        },
        "spec": {
            "group": group,
            "names": {"kind": kind, "plural": plural, "singular": kind.lower(), "listKind": f"{kind}List"},
            "scope": "Namespaced",
            "versions": [
                {"name": version, "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
            ],
        },
    }


def prepare(sandbox: Sandbox) -> None:
    """Kinds of other products, and nodes enough for three replicas of everything; one has a volume group."""
    nodes = [node_object(shape, "small") for shape in parse_profile("small")]
    nodes[0]["metadata"]["labels"]["openstack-volume-node"] = "enabled"
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": [*definitions(), *nodes]})
    sandbox.kubectl("apply", "-f", "-", input=text)
    names = [f"crd/{one['metadata']['name']}" for one in definitions()]
    sandbox.kubectl("wait", "--for=condition=Established", "--timeout=120s", *names)
