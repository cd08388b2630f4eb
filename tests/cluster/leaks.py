"""What the controllers of a region have generated is nowhere but in Secrets: looked at as each region of a
test is taken down, whatever the test was about.

Known are the values of all Secrets that the controllers made while the region was there, also of those that
were rotated or deleted since.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import json
import re
import threading
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pykube
import requests

from controller.adapters.kubernetes.connection import connect
from controller.domain.api.names import CERTIFICATE_LABEL, MANAGED_BY, MANAGED_BY_US
from controller.domain.values.ceph_needs import CONSUMERS_SECRET
from controller.ports.kubernetes import (
    CONFIGMAP,
    DAEMONSET,
    DEPLOYMENT,
    EVENT,
    HELMBUNDLE,
    JOB,
    NODE,
    OSDPL,
    POD,
    SECRET,
    SERVICE,
    STATEFULSET,
    Kube,
)
from sandbox import processes

# What the controllers write, and what charts do.
OURS = (OSDPL, HELMBUNDLE, EVENT)
OF_CHARTS = (CONFIGMAP, DEPLOYMENT, STATEFULSET, DAEMONSET, JOB, POD, SERVICE)
# Shorter ones may be somewhere by chance.
SHORTEST = 16
# Everyone may know them: the other half of a key, a name that computes and libvirt have for one, and when an
# authority was made.
_PUBLIC = frozenset({"ssh-public-key", "ceph-secret-uuid", "generation"})
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_PRIVATE = "PRIVATE KEY-----"
# Longer than a test's region usually has nothing to say; the server ends a watch then.
_WATCH_SECONDS = 10


class Leaked(AssertionError):
    """A generated value is where someone can read it who may read no Secret."""


def telling(secret: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Of a Secret: what would tell a value of it, wherever it stands, each with the key that it is of."""
    if secret["metadata"]["name"] == CONSUMERS_SECRET:
        return  # digests, for annotations of pods
    labels = secret["metadata"].get("labels") or {}
    for key, encoded in (secret.get("data") or {}).items():
        try:
            text = base64.b64decode(encoded or "", validate=True).decode()
        except (binascii.Error, UnicodeDecodeError):
            text = ""
            if len(encoded) >= SHORTEST:
                yield key, encoded.rstrip("=")
        if _PRIVATE in text:
            lines = [line for line in text.splitlines() if line and "-----" not in line]
            # Of the middle: the first ones are alike in all keys of a kind.
            yield key, lines[len(lines) // 2]
        elif CERTIFICATE_LABEL not in labels and key not in _PUBLIC and _is_one(text):
            yield key, text
            yield key, base64.b64encode(text.encode()).decode().rstrip("=")


def _is_one(text: str) -> bool:
    return len(text) >= SHORTEST and not re.search(r"\s", text) and _UUID.fullmatch(text) is None


def found_in(values: Mapping[str, str], texts: Iterable[tuple[str, str]]) -> list[str]:
    """Which of the values (by what tells them: what they are) are in which of the texts."""
    return sorted(
        {f"{what} in {place}" for place, text in texts for value, what in values.items() if value in text}
    )


class GeneratedValues:
    """Those of one namespace, collected from `start` on by a thread of its own."""

    def __init__(self, kubeconfig: Path, namespace: str) -> None:
        self._api = pykube.HTTPClient(connect(kubeconfig).config)
        self._namespace = namespace
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._values: dict[str, str] = {}

    def start(self) -> None:
        self._thread.start()

    def end(self, kube: Kube) -> Mapping[str, str]:
        """All that there were: what tells each value, and what it is. Raises KubeError."""
        self._over.set()
        for secret in kube.list(SECRET, self._namespace, labels=f"{MANAGED_BY}={MANAGED_BY_US}"):
            self._learn(secret)
        return dict(self._values)

    def _learn(self, secret: Mapping[str, Any]) -> None:
        for key, value in telling(secret):
            self._values[value] = f"{secret['metadata']['name']}/{key}"

    def _watch(self) -> None:
        url = f"{self._api.url}/api/v1/namespaces/{self._namespace}/secrets"
        asked = {"watch": "1", "labelSelector": f"{MANAGED_BY}={MANAGED_BY_US}"}
        while not self._over.wait(0.2):
            with (
                contextlib.suppress(requests.RequestException, ValueError, KeyError),
                self._api.session.get(
                    url,
                    params={**asked, "timeoutSeconds": str(_WATCH_SECONDS)},
                    stream=True,
                    timeout=(5, 2 * _WATCH_SECONDS),
                ) as answer,
            ):
                for line in answer.iter_lines(chunk_size=None):
                    if self._over.is_set():
                        return
                    self._learn(json.loads(line)["object"])


def shown_by_processes(directory: Path) -> Iterator[tuple[str, str]]:
    """Command line and environment of the processes that a directory of controllers marks as its own."""
    for identity in processes.find_owned(directory):
        for name in ("cmdline", "environ"):
            with contextlib.suppress(OSError):  # it has ended
                content = (Path("/proc") / str(identity.pid) / name).read_bytes()
                yield f"{name} of process {identity.pid}", content.decode(errors="replace")


def shown_by_files(directory: Path) -> Iterator[tuple[str, str]]:
    """Logs, and whatever else controllers have left behind."""
    for path in sorted(directory.rglob("*")):
        if path.is_file() and not path.is_symlink():
            yield f"file {path.name}", path.read_bytes().decode(errors="replace")


class ComponentLogs:
    """What components of a control plane say from now on, in `directory`; None for a cluster of others."""

    def __init__(self, directory: Path | None) -> None:
        self._directory = directory
        self._sizes = {path: path.stat().st_size for path in self._files()}

    def shown(self) -> Iterator[tuple[str, str]]:
        """By the name of each file; one that was begun again is read from its beginning."""
        for path in self._files():
            before = self._sizes.get(path, 0)
            with path.open("rb") as log:
                log.seek(before if path.stat().st_size >= before else 0)
                yield f"log {path.name} of the control plane", log.read().decode(errors="replace")

    def _files(self) -> list[Path]:
        return sorted(self._directory.glob("*.log")) if self._directory else []


def shown_by_cluster(kube: Kube, namespace: str, *, charts: bool) -> Iterator[tuple[str, str]]:
    """Objects of the namespace, with `charts` what these make too, and what is written on Secrets. Raises
    KubeError."""
    for kind in (*OURS, *(OF_CHARTS if charts else ())):
        for obj in kube.list(kind, namespace):
            yield f"{kind.kind} {obj['metadata']['name']}", json.dumps(obj)
    for obj in kube.list_metadata(SECRET, namespace):
        yield f"metadata of Secret {obj['metadata']['name']}", json.dumps(obj["metadata"])
    for obj in kube.list_metadata(NODE):
        yield f"metadata of Node {obj['metadata']['name']}", json.dumps(obj["metadata"])
