"""An API server that serves our definitions, and what it says of an object."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pykube
import pytest

from controller.adapters.kubernetes.connection import connect
from sandbox.cluster import Sandbox
from sandbox.errors import SandboxError
from tests.api.definitions import CRDS, DEFINITIONS, PLURALS
from tests.cluster.region import wait_until


@dataclass(frozen=True)
class Verdict:
    """What the server said of an object: `stored` is what it would keep, `message` why it refused."""

    status: int
    message: str
    stored: Mapping[str, Any]

    @property
    def accepted(self) -> bool:
        return self.status < 300


@dataclass(frozen=True)
class Api:
    """The API server as plain HTTP: strict about fields, and by default only asked, not changed."""

    client: pykube.HTTPClient
    namespace: str

    def create(self, obj: Mapping[str, Any], *, dry_run: bool = True) -> Verdict:
        """POST in the test's namespace, whatever the object says."""
        params = {"fieldValidation": "Strict", **({"dryRun": "All"} if dry_run else {})}
        return self._answer(self.client.post(**self._url(obj), params=params, data=self._here(obj)))

    def patch(self, obj: Mapping[str, Any], change: Any, *, subresource: str = "") -> Verdict:
        """JSON merge patch of a stored object, or a JSON patch when `change` is a list."""
        kind = "json-patch" if isinstance(change, list) else "merge-patch"
        return self._answer(
            self.client.patch(
                **self._url(obj, obj["metadata"]["name"], subresource),
                params={"fieldValidation": "Strict"},
                headers={"Content-Type": f"application/{kind}+json"},
                data=json.dumps(change),
            )
        )

    def apply(self, obj: Mapping[str, Any], *, manager: str, subresource: str = "") -> Verdict:
        """Server-side apply."""
        return self._answer(
            self.client.patch(
                **self._url(obj, obj["metadata"]["name"], subresource),
                params={"fieldManager": manager, "force": "true"},
                headers={"Content-Type": "application/apply-patch+yaml"},
                data=self._here(obj),
            )
        )

    def _here(self, obj: Mapping[str, Any]) -> str:
        place = {"namespace": self.namespace} if self._namespaced(obj) else {}
        return json.dumps({**obj, "metadata": {**obj.get("metadata", {}), **place}})

    def _url(self, obj: Mapping[str, Any], name: str = "", subresource: str = "") -> dict[str, str]:
        path = "/".join(part for part in (PLURALS[obj["kind"]], name, subresource) if part)
        namespace = self.namespace if self._namespaced(obj) else None
        return {"version": obj["apiVersion"], "namespace": namespace, "url": path}

    @staticmethod
    def _namespaced(obj: Mapping[str, Any]) -> bool:
        return bool(DEFINITIONS[obj["kind"]]["spec"]["scope"] == "Namespaced")

    @staticmethod
    def _answer(answer: Any) -> Verdict:
        body = answer.json()
        return Verdict(answer.status_code, body.get("message", ""), body)


@pytest.fixture(scope="session")
def served(sandbox: Sandbox) -> Sandbox:
    """The shared sandbox with our definitions installed as the files have them."""
    sandbox.kubectl("apply", "--server-side", "--force-conflicts", "-f", str(CRDS))
    sandbox.kubectl("wait", "--for=condition=Established", "--timeout=500s", "-f", str(CRDS))
    # What an API server tells of its kinds follows some time after, each by a way of its own.
    wait_until("the kinds are known", lambda: _known(sandbox), 120)
    return sandbox


def _known(sandbox: Sandbox) -> bool:
    try:
        for kind in ("openstackdeployments", "helmbundles", "computemaintenances", "openstackservers"):
            sandbox.kubectl("get", kind, "--all-namespaces")
            sandbox.kubectl("explain", f"{kind}.spec")
        sandbox.kubectl("get", "openstack", "--all-namespaces")
    except SandboxError:
        return False
    return True


@pytest.fixture(scope="session")
def asked(served: Sandbox) -> Api:
    """For tests that only ask: with dry runs alone no namespace of their own is needed."""
    return Api(pykube.HTTPClient(connect(served.kubeconfig).config, timeout=120), "default")


@pytest.fixture
def api(served: Sandbox, namespace: str) -> Api:
    return Api(pykube.HTTPClient(connect(served.kubeconfig).config, timeout=120), namespace)
