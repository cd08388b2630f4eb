"""The key that seals the private keys of the region's authority, in the controller's own namespace.

Whoever may read Secrets of the region's namespace, as charts may, has the certificates of the authority
there and cannot sign with it. A key that is lost costs the region its authority: another one becomes trusted
beside it, and signs then.
"""

from __future__ import annotations

import base64
import binascii
import threading

from controller.domain.api.names import MANAGED_BY, MANAGED_BY_US, SEALING_KEY_SECRET, field_manager
from controller.domain.credentials.sealing.encrypted_keys import SEALING_OCTETS, opened, sealed
from controller.domain.credentials.x509.read import AuthorityUnusable
from controller.errors import KubeError, is_refusal
from controller.ports.kubernetes import SECRET, Kube
from controller.ports.system import Randomness
from controller.reconcile.shared.action_log import log_action

ENTRY = "key"
MANAGER = field_manager("secrets")
REFUSED = (
    'Secret "{name}" in namespace {namespace}, which decrypts keys of the authority, cannot be read '
    "or created: {error}; helm upgrade of the controller's chart grants the right"
)


class SealingKey:
    """Made once for a region, read once by a process. It lies in `namespace`, the controller's own; `region`
    is the namespace of the region."""

    def __init__(self, kube: Kube, randomness: Randomness, namespace: str, region: str) -> None:
        self._kube = kube
        self._randomness = randomness
        self._namespace = namespace
        self._name = SEALING_KEY_SECRET.format(region=region)
        self._place = f"{region}/osctl-authority"
        self._key = b""
        self._lock = threading.Lock()

    def seal(self, text: str) -> str:
        """The text as it is stored. Raises AuthorityUnusable, and KubeError where the API server is away."""
        return sealed(text, self._read(), self._place) if text else ""

    def open(self, text: str) -> str:
        """The text that is stored so, empty where another key has sealed it. Raises as `seal`."""
        return opened(text, self._read(), self._place)

    def _read(self) -> bytes:
        with self._lock:
            if not self._key:
                try:
                    self._key = self._stored() or self._made()
                except KubeError as error:
                    if not is_refusal(error):
                        raise
                    text = REFUSED.format(name=self._name, namespace=self._namespace, error=error)
                    raise AuthorityUnusable(text) from None
            return self._key

    def _stored(self) -> bytes:
        secret = self._kube.get(SECRET, self._name, self._namespace)
        if secret is None:
            return b""
        try:
            key = base64.b64decode((secret.get("data") or {}).get(ENTRY) or "", validate=True)
        except binascii.Error:
            key = b""
        if len(key) != SEALING_OCTETS:
            raise AuthorityUnusable(
                f'Secret "{self._name}" in namespace {self._namespace} has no key in its entry '
                f'"{ENTRY}": restore it from a backup, or delete it to get another authority'
            )
        return key

    def _made(self) -> bytes:
        key = self._randomness.octets(SEALING_OCTETS)
        secret = {
            "apiVersion": SECRET.api_version,
            "kind": SECRET.kind,
            "metadata": {
                "name": self._name,
                "namespace": self._namespace,
                "labels": {MANAGED_BY: MANAGED_BY_US},
            },
            "type": "Opaque",
            "data": {ENTRY: base64.b64encode(key).decode()},
        }
        # Not `create`, for which no Role knows a name. One that has come meanwhile is not overwritten.
        self._kube.apply(secret, manager=MANAGER, force=False)
        place = f"{self._namespace}/{self._name}"
        log_action("create", place, f"Secret {self._name}: created, it encrypts the keys of the authority")
        return self._stored()
