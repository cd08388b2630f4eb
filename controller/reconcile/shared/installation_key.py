"""The installation's own key, with which digests are made that anyone may read."""

from __future__ import annotations

import base64
import logging
import threading
from contextlib import suppress

from controller.domain.api.names import DIGEST_KEY_SECRET, MANAGED_BY, MANAGED_BY_US
from controller.errors import Conflict, KubeError, is_refusal
from controller.ports.kubernetes import SECRET, Kube
from controller.ports.system import Clock, Randomness
from controller.reconcile.shared.action_log import log_action

log = logging.getLogger(__name__)

ENTRY = "key"
OCTETS = 32
LOOK_SECONDS = 60.0


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

    def put_back(self) -> None:
        """Makes the Secret again where it is gone, with the key that this process knows: another one would
        have every release upgraded once. Raises KubeError."""
        with self._lock:
            if not self._key or self._kube.get(SECRET, DIGEST_KEY_SECRET, self._namespace) is not None:
                return
            with suppress(Conflict):  # another process has been faster
                self._create(self._key)
                text = f"Secret {DIGEST_KEY_SECRET}: was deleted, and is restored with the same key"
                log_action("create", f"{self._namespace}/{DIGEST_KEY_SECRET}", text)

    def _stored(self) -> bytes:
        secret = self._kube.get(SECRET, DIGEST_KEY_SECRET, self._namespace)
        return base64.b64decode(((secret or {}).get("data") or {}).get(ENTRY) or "")

    def _create(self, key: bytes) -> None:
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
        self._kube.create(secret)

    def _made(self) -> bytes:
        key = self._randomness.octets(OCTETS)
        try:
            self._create(key)
        except Conflict:
            stored = self._stored()
            if not stored:
                raise KubeError(
                    f'Secret "{DIGEST_KEY_SECRET}" has no entry "{ENTRY}"; delete it, so that it is '
                    "created again"
                ) from None
            return stored
        text = f"Secret {DIGEST_KEY_SECRET}: created, with the key of digests"
        log_action("create", f"{self._namespace}/{DIGEST_KEY_SECRET}", text)
        return key


class KeptInstallationKey:
    """The key, for a process that sees to it that its Secret stays: it looks once in `LOOK_SECONDS`."""

    def __init__(self, key: InstallationKey, clock: Clock) -> None:
        self._key = key
        self._clock = clock
        self._looked: float | None = None

    def read(self) -> bytes:
        """As `InstallationKey.read`. A refusal to put it back holds nothing up: the key is known."""
        now = self._clock.monotonic()
        if self._looked is None or now >= self._looked + LOOK_SECONDS:
            try:
                self._key.put_back()
            except KubeError as error:
                if not is_refusal(error):
                    raise
                text = f"Secret {DIGEST_KEY_SECRET} cannot be written: check quotas, policies and rights"
                log.warning(text, extra={"object": DIGEST_KEY_SECRET, "reason": type(error).__name__})
            self._looked = now
        return self._key.read()
