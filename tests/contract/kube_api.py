"""What the contract of the port `Kube` is tested with: a kind made for it, and one API of two."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from controller.adapters.kubernetes.client import PykubeClient
from controller.adapters.kubernetes.connection import connect
from controller.errors import ObjectMissing
from controller.ports.kubernetes import Kube, KubeObject, Resource
from tests.contract.conftest import wait_until
from tests.fakes.kube import FakeKube

PROBE = Resource("contract.osctl.dev/v1", "Probe", "probes")
DEFINITION = Resource(
    "apiextensions.k8s.io/v1", "CustomResourceDefinition", "customresourcedefinitions", namespaced=False
)

_SEED = {
    "type": "Ready",
    "status": "Unknown",
    "reason": "Initializing",
    "message": "",
    "lastTransitionTime": "1970-01-01T00:00:00Z",
}
_CONDITION = {
    "type": "object",
    "required": ["type", "status"],
    "properties": {
        key: {"type": "string"} for key in ("type", "status", "reason", "message", "lastTransitionTime")
    },
}
CRD: Mapping[str, Any] = {
    "apiVersion": DEFINITION.api_version,
    "kind": DEFINITION.kind,
    "metadata": {"name": "probes.contract.osctl.dev"},
    "spec": {
        "group": "contract.osctl.dev",
        "scope": "Namespaced",
        "names": {"kind": "Probe", "plural": "probes", "singular": "probe", "listKind": "ProbeList"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {
                                "type": "object",
                                "properties": {
                                    "size": {"type": "integer", "default": 1},
                                    "labels": {"type": "object", "additionalProperties": {"type": "string"}},
                                    "tags": {
                                        "type": "array",
                                        "items": {"type": "string"},
                                        "x-kubernetes-list-type": "set",
                                    },
                                    "plain": {"type": "array", "items": {"type": "string"}},
                                    "values": {
                                        "type": "object",
                                        "x-kubernetes-map-type": "atomic",
                                        "x-kubernetes-preserve-unknown-fields": True,
                                    },
                                },
                            },
                            "status": {
                                "type": "object",
                                "default": {"conditions": [_SEED]},
                                "properties": {
                                    "state": {"type": "string"},
                                    "children": {
                                        "type": "object",
                                        "additionalProperties": {
                                            "type": "object",
                                            "properties": {"ready": {"type": "boolean"}},
                                        },
                                    },
                                    "conditions": {
                                        "type": "array",
                                        "items": _CONDITION,
                                        "x-kubernetes-list-type": "map",
                                        "x-kubernetes-list-map-keys": ["type"],
                                    },
                                },
                            },
                        },
                    }
                },
            }
        ],
    },
}


@dataclass(frozen=True)
class Api:
    """One implementation of `Kube`, a namespace in it, and what makes things happen that take time."""

    kube: Kube
    namespace: str
    eventually: Callable[[Callable[[], Any], str], Any]

    def probe(self, name: str = "one", **parts: Any) -> KubeObject:
        meta = {"name": name, "namespace": self.namespace, **parts.pop("metadata", {})}
        return {"apiVersion": PROBE.api_version, "kind": PROBE.kind, "metadata": meta, **parts}

    def secret(self, name: str = "one", **parts: Any) -> KubeObject:
        meta = {"name": name, "namespace": self.namespace, **parts.pop("metadata", {})}
        return {"apiVersion": "v1", "kind": "Secret", "metadata": meta, **parts}

    def read(self, name: str = "one") -> KubeObject:
        found = self.kube.get(PROBE, name, self.namespace)
        assert found is not None
        return found

    def apply(self, manager: str, name: str = "one", *, force: bool = True, **parts: Any) -> KubeObject:
        return self.kube.apply(self.probe(name, **parts), manager=manager, force=force)

    def apply_status(self, manager: str, **status: Any) -> KubeObject:
        return self.kube.apply(self.probe(status=status), manager=manager, subresource="status")

    def conditions(self) -> dict[str, str]:
        return {entry["type"]: entry["status"] for entry in self.read()["status"]["conditions"]}


@pytest.fixture(params=["fake", pytest.param("real", marks=pytest.mark.cluster)])
def api(request: pytest.FixtureRequest) -> Iterator[Api]:
    """The fake and the real adapter, one after the other."""
    if request.param == "fake":
        fake = FakeKube()
        fake.serve(CRD)

        def at_once(condition: Callable[[], Any], what: str) -> Any:
            fake.collect_garbage()
            answer = condition()
            assert answer, what
            return answer

        yield Api(fake, "contract", at_once)
        return
    sandbox = request.getfixturevalue("sandbox")
    kube = PykubeClient(connect(sandbox.kubeconfig))
    kube.apply(CRD, manager="contract")
    namespace = request.getfixturevalue("namespace")
    wait_until(lambda: _served(kube, namespace), "probes are served")
    yield Api(kube, namespace, wait_until)


def _served(kube: Kube, namespace: str) -> bool:
    """Asked for itself: the API server notes that a definition is established before it goes by it."""
    try:
        kube.list(PROBE, namespace)
    except ObjectMissing:
        return False
    return True
