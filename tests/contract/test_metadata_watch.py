"""Watches without contents, on a real API server."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest

from controller.adapters.kubernetes.connection import connect
from controller.adapters.kubernetes.metadata_watch import MetadataWatches
from controller.adapters.system.randomness import SystemRandomness
from controller.ports.kubernetes import CONFIGMAP, SECRET, Kube, Resource
from sandbox.cluster import Sandbox
from tests.contract.conftest import wait_until

pytestmark = pytest.mark.cluster


class Seen:
    """A sink that remembers."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.lists: list[list[str]] = []
        self.events: list[tuple[str, bool]] = []
        self.keys: set[str] = set()

    def listed(self, resource: Resource, namespace: str, metadata: Sequence[Mapping[str, Any]]) -> None:
        with self._lock:
            self.lists.append(sorted(one["name"] for one in metadata))
            self.keys |= {key for one in metadata for key in one}

    def changed(self, resource: Resource, metadata: Mapping[str, Any], *, gone: bool) -> None:
        with self._lock:
            self.events.append((metadata["name"], gone))


@pytest.fixture
def watches(sandbox: Sandbox) -> Iterator[MetadataWatches]:
    made = MetadataWatches(connect(sandbox.kubeconfig), SystemRandomness(), user_agent="test")
    yield made
    made.stop()


def secret(namespace: str, name: str, **labels: str) -> dict[str, Any]:
    meta = {"name": name, "namespace": namespace, "labels": labels}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": meta, "stringData": {"word": "hush-hush"}}


def test_what_there_is_and_what_becomes_of_it_is_reported(
    kube: Kube, watches: MetadataWatches, namespace: str
) -> None:
    kube.create(secret(namespace, "first"))
    kube.create(secret(namespace, "record", owner="helm"))
    seen = Seen()
    watches.follow(SECRET, namespace, seen)
    watches.follow(SECRET, namespace, seen)
    wait_until(lambda: seen.lists, "it has listed")
    assert seen.lists == [["first"]]
    assert {"name", "uid", "resourceVersion"} <= seen.keys
    assert "managedFields" not in seen.keys

    kube.create(secret(namespace, "second"))
    kube.create(secret(namespace, "record2", owner="helm"))
    kube.merge_patch(SECRET, "first", namespace, {"stringData": {"word": "other"}})
    kube.delete(SECRET, "second", namespace)
    wait_until(lambda: len(seen.events) == 3, "three events came")
    assert seen.events == [("second", False), ("first", False), ("second", True)]
    assert len(seen.lists) == 1


def test_what_cannot_be_watched_disturbs_nothing(
    kube: Kube, watches: MetadataWatches, namespace: str
) -> None:
    nowhere, nothing, seen = Resource("nowhere.osctl.dev/v1", "Thing", "things"), Seen(), Seen()
    watches.follow(nowhere, namespace, nothing)
    watches.follow(CONFIGMAP, namespace, seen)
    wait_until(lambda: seen.lists, "the other has listed")
    assert (nothing.lists, nothing.events) == ([], [])
    # Its controller makes one by itself, some time after the namespace.
    assert {name for name, _ in seen.events} <= {"kube-root-ca.crt"}
