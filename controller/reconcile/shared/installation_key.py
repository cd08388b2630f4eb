"""The installation's own key, with which digests are made that anyone may read."""

from __future__ import annotations

import base64
import logging
import threading
from contextlib import suppress

from controller.domain.api.names import DIGEST_KEY_SECRET, MANAGED_BY, MANAGED_BY_US
from controller.errors import Conflict, KubeError, is_refusal
from controller.ports.kubernetes import SECRET, Kube, KubeObject
from controller.ports.system import Clock, Randomness
from controller.reconcile.shared.action_log import log_action
from controller.reconcile.shared.preconditioned_writes import read_again

log = logging.getLogger(__name__)

ENTRY = "key"
OCTETS = 32
LOOK_SECONDS = 60.0


class InstallationKey:
    """Made once per installation, read once per process. A lost key costs one upgrade of each release.

    A Secret that has lost only its entry gets a new one, because otherwise nothing could be compared.
    """

    def __init__(self, kube: Kube, randomness: Randomness, namespace: str) -> None:
        self._kube = kube
        self._randomness = randomness
        self._namespace = namespace
        self._key = b""
        self._lock = threading.Lock()

    def read(self) -> bytes:
        """The key, 32 octets; makes the Secret, or its entry, when there is none. Raises KubeError."""
        with self._lock:
            if not self._key:
                self._key = read_again(self._stored_or_made)
            return self._key

    def put_back(self) -> None:
        """Writes the Secret or its entry again where that is gone, with the key that this process knows.

        Another key would have every release upgraded once. Raises KubeError.
        """
        with self._lock:
            if not self._key:
                return
            with suppress(Conflict):  # another process has been faster
                secret = self._kube.get(SECRET, DIGEST_KEY_SECRET, self._namespace)
                if secret is None:
                    self._create(self._key)
                    self._log("create", "was deleted, and is restored with the same key")
                elif not _entry(secret):
                    self._complete(secret, self._key)
                    self._log("patch", f'had no entry "{ENTRY}", and has the same key again')

    def _stored_or_made(self) -> bytes:
        """Raises Conflict if another process has written in between."""
        secret = self._kube.get(SECRET, DIGEST_KEY_SECRET, self._namespace)
        stored = _entry(secret)
        if stored:
            return stored
        key = self._randomness.octets(OCTETS)
        if secret is None:
            self._create(key)
            self._log("create", "created, with the key of digests")
        else:
            self._complete(secret, key)
            why = f'had no entry "{ENTRY}", and has a new key: each release may be upgraded once'
            extra = {"object": DIGEST_KEY_SECRET, "reason": "NewKey"}
            log.warning(f"Secret {DIGEST_KEY_SECRET}: {why}", extra=extra)
            self._log("patch", why)
        return key

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

    def _complete(self, secret: KubeObject, key: bytes) -> None:
        """Writes the entry into the Secret that was read; its other content stays."""
        meta = {"resourceVersion": secret["metadata"]["resourceVersion"]}
        patch = {"metadata": meta, "data": {ENTRY: base64.b64encode(key).decode()}}
        try:
            after = self._kube.merge_patch(SECRET, DIGEST_KEY_SECRET, self._namespace, patch)
        except KubeError as error:
            if not is_refusal(error):
                raise
            raise type(error)(
                f'Secret "{DIGEST_KEY_SECRET}" has no entry "{ENTRY}", and it cannot be written ({error}); '
                "delete the Secret, so that it is created again"
            ) from None
        if after is None:
            raise Conflict(f"Secret {DIGEST_KEY_SECRET} is gone")

    def _log(self, action: str, what: str) -> None:
        log_action(action, f"{self._namespace}/{DIGEST_KEY_SECRET}", f"Secret {DIGEST_KEY_SECRET}: {what}")


def _entry(secret: KubeObject | None) -> bytes:
    """The stored key; nothing if the entry is missing, empty, or not base64. Any other length is a key."""
    try:
        return base64.b64decode(((secret or {}).get("data") or {}).get(ENTRY) or "", validate=True)
    except ValueError:
        return b""


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
