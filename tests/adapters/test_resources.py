"""Which resource of the API a kind is."""

from __future__ import annotations

import pytest

from controller.ports import resource_of


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
