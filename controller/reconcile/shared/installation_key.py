"""The installation's own key, with which digests are made that anyone may read."""

from __future__ import annotations

import base64
import threading

from controller.domain.api.names import DIGEST_KEY_SECRET, MANAGED_BY, MANAGED_BY_US
from controller.errors import Conflict, KubeError
from controller.ports.kubernetes import SECRET, Kube
from controller.ports.system import Randomness
from controller.reconcile.shared.action_log import log_action

ENTRY = "key"
OCTETS = 32


class InstallationKey:
    """Made once per installation, read once per process. A lost key costs one upgrade of each release."""

    def __init__(self, kube: Kube, randomness: Randomness, namespace: str) -> None:
        self._kube = kube
        self._randomness = randomness
        self._namespace = namespace
        self._key = b""
        self._lock = threading.Lock()

    def read(self) -> bytes:
        """The key, 32 octets; makes the Secret when there is none. Raises KubeError."""
        with self._lock:
            if not self._key:
                self._key = self._stored() or self._made()
            return self._key

    def _stored(self) -> bytes:
        secret = self._kube.get(SECRET, DIGEST_KEY_SECRET, self._namespace)
        return base64.b64decode(((secret or {}).get("data") or {}).get(ENTRY) or "")

    def _made(self) -> bytes:
        key = self._randomness.octets(OCTETS)
        secret = {
            "apiVersion": SECRET.api_version,
            "kind": SECRET.kind,
            "metadata": {
                "name": DIGEST_KEY_SECRET,
                "namespace": self._namespace,
                "labels": {MANAGED_BY: MANAGED_BY_US},
            },
            "type": "Opaque",
            "data": {ENTRY: base64.b64encode(key).decode()},
        }
        try:
            self._kube.create(secret)
        except Conflict:
            stored = self._stored()
            if not stored:
                raise KubeError(
                    f'Secret "{DIGEST_KEY_SECRET}" has no entry "{ENTRY}"; delete it to have it made again'
                ) from None
            return stored
        text = f"Secret {DIGEST_KEY_SECRET}: made, with the key of digests"
        log_action("create", f"{self._namespace}/{DIGEST_KEY_SECRET}", text)
        return key
