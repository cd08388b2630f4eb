"""The few requests of a boot to its API server, on one connection: kubectl would pause between them."""

from __future__ import annotations

import http.client
import json
import ssl
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from sandbox.errors import ComponentFailed

FIELD_MANAGER = "sandbox"
_PLURALS = {
    "Node": "/api/v1/nodes",
    "Namespace": "/api/v1/namespaces",
    "PersistentVolume": "/api/v1/persistentvolumes",
    "StorageClass": "/apis/storage.k8s.io/v1/storageclasses",
    "EndpointSlice": "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices",
}


class ApiConnection:
    """One connection to the API server on 127.0.0.1, as one of its clients. A context manager."""

    def __init__(self, port: int, pki: Path, timeout: float = 30.0, client: str = "admin") -> None:
        context = ssl.create_default_context(cafile=str(pki / "ca.crt"))
        context.load_cert_chain(pki / f"{client}.crt", pki / f"{client}.key")
        self._connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=timeout, context=context)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connection.close()

    def apply(self, item: Mapping[str, Any]) -> None:
        """Server-side apply of an object of one of `_PLURALS`. Raises ComponentFailed when it is refused."""
        path = f"{_PLURALS[item['kind']]}/{item['metadata']['name']}?fieldManager={FIELD_MANAGER}&force=true"
        self._request("PATCH", path, json.dumps(item), {"Content-Type": "application/apply-patch+yaml"})

    def create(self, item: Mapping[str, Any]) -> None:
        """A new object of one of `_PLURALS`. Raises ComponentFailed when it is refused, or there already."""
        path = f"{_PLURALS[item['kind']]}?fieldManager={FIELD_MANAGER}"
        self._request("POST", path, json.dumps(item), {"Content-Type": "application/json"})

    def delete(self, path: str) -> None:
        """Deletes what is at `path`, if anything is. Raises ComponentFailed when it is refused."""
        self._request("DELETE", path, None, {})

    def get(self, path: str) -> dict[str, Any] | None:
        """What is at `path`, None where nothing is (404). Raises ComponentFailed on any other refusal."""
        return self._request("GET", path, None, {})

    def _request(
        self, method: str, path: str, body: str | None, headers: dict[str, str]
    ) -> dict[str, Any] | None:
        try:
            self._connection.request(method, path, body, headers)
            response = self._connection.getresponse()
            content = response.read()
        except (OSError, http.client.HTTPException) as error:
            raise ComponentFailed(f"kube-apiserver does not answer {method} {path}: {error}") from error
        if response.status == 404:
            return None
        if response.status >= 300:
            raise ComponentFailed(f"{method} {path}: {response.status} {content.decode(errors='replace')}")
        answer: dict[str, Any] = json.loads(content)
        return answer
