"""What watches have told: each content is read once, and nothing that a cut-off watch missed is kept."""

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
    told = Told()
    assert told.store.feed(SECRET, None, told.secret)
    assert not told.store.feed(SECRET, "MODIFIED", told.secret)
    assert told.read == [told.secret["metadata"]["resourceVersion"]]


def test_an_object_that_has_changed_is_read_again() -> None:
    told = Told()
    told.store.feed(SECRET, None, told.secret)
    assert told.store.feed(SECRET, "MODIFIED", told.edited())
    assert len(told.read) == 2


def test_a_watch_that_begins_again_has_the_store_compared_though_nothing_it_lists_is_new() -> None:
    told = Told()
    told.store.feed(SECRET, None, told.secret)
    meta = {"name": "b", "namespace": "openstack"}
    told.store.feed(SECRET, None, told.kube.create({"apiVersion": "v1", "kind": "Secret", "metadata": meta}))
    assert told.store.catch_up(SECRET) and len(told.store.facts(SECRET)) == 2
    told.kube.delete(SECRET, "b", "openstack")
    told.store.feed(SECRET, None, told.secret)
    told.clock.advance(5)
    assert told.store.is_complete(not_older_than=600)
    assert len(told.store.facts(SECRET)) == 1
