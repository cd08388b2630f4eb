"""What watches have reported: each content is read once, and nothing that a cut-off watch missed is kept."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from controller.ports.kubernetes import SECRET, KubeObject
from controller.reconcile.shared.object_store import ObjectStore
from tests.fakes.kube import FakeKube
from tests.fakes.world import FakeClock


class Told:
    """A Secret in a FakeKube, and a store that notes each object that it reads."""

    def __init__(self) -> None:
        self.kube, self.clock = FakeKube(), FakeClock()
        self.read: list[str] = []
        self.store = ObjectStore(self.kube, self.clock, "openstack", {SECRET: self._parse})
        meta = {"name": "a", "namespace": "openstack"}
        self.secret = self.kube.create({"apiVersion": "v1", "kind": "Secret", "metadata": meta})

    def _parse(self, obj: Mapping[str, Any]) -> str:
        self.read.append(obj["metadata"]["resourceVersion"])
        return str(obj.get("data"))

    def edited(self) -> KubeObject:
        return self.kube.replace({**self.secret, "data": {"key": "dmFsdWU="}})


def test_an_object_that_comes_again_as_it_was_is_not_read_again() -> None:
    reported = Told()
    assert reported.store.feed(SECRET, None, reported.secret)
    assert not reported.store.feed(SECRET, "MODIFIED", reported.secret)
    assert reported.read == [reported.secret["metadata"]["resourceVersion"]]


def test_an_object_that_has_changed_is_read_again() -> None:
    reported = Told()
    reported.store.feed(SECRET, None, reported.secret)
    assert reported.store.feed(SECRET, "MODIFIED", reported.edited())
    assert len(reported.read) == 2


def test_a_watch_that_begins_again_has_the_store_compared_though_nothing_it_lists_is_new() -> None:
    reported = Told()
    reported.store.feed(SECRET, None, reported.secret)
    meta = {"name": "b", "namespace": "openstack"}
    reported.store.feed(
        SECRET, None, reported.kube.create({"apiVersion": "v1", "kind": "Secret", "metadata": meta})
    )
    assert reported.store.catch_up(SECRET) and len(reported.store.facts(SECRET)) == 2
    reported.kube.delete(SECRET, "b", "openstack")
    reported.store.feed(SECRET, None, reported.secret)
    reported.clock.advance(5)
    assert reported.store.is_complete(not_older_than=600)
    assert len(reported.store.facts(SECRET)) == 1
