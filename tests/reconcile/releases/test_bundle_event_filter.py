"""A bundle is looked at for what others change in it, not for what its own status says."""

from __future__ import annotations

from typing import Any

import pytest

from controller.reconcile.releases.bundle_finalizer import BUNDLE_FINALIZER
from controller.reconcile.releases.events.bundle_event_filter import BundleEventFilter


def bundle(generation: int = 1, **metadata: Any) -> dict[str, Any]:
    meta = {"namespace": "openstack", "name": "identity", "uid": "a", "generation": generation}
    meta |= {"finalizers": [BUNDLE_FINALIZER.name], **metadata}
    return {"metadata": meta}


@pytest.fixture
def changes() -> BundleEventFilter:
    changes = BundleEventFilter()
    assert changes.concerns_reconcile(None, bundle())
    return changes


def test_a_written_status_is_no_news(changes: BundleEventFilter) -> None:
    obj = {**bundle(resourceVersion="2"), "status": {"observedGeneration": 1}}
    assert not changes.concerns_reconcile("MODIFIED", obj)
    assert not changes.concerns_reconcile(None, obj)


def test_our_own_finalizer_is_no_news_when_it_comes() -> None:
    changes = BundleEventFilter()
    assert changes.concerns_reconcile("ADDED", bundle(finalizers=[]))
    assert not changes.concerns_reconcile("MODIFIED", bundle())


@pytest.mark.parametrize(
    "obj",
    [
        bundle(2),
        bundle(annotations={"osctl.dev/force": "now"}),
        bundle(deletionTimestamp="2026-01-01T00:00:00Z"),
        bundle(finalizers=[]),
        bundle(uid="b"),
    ],
    ids=["spec", "annotation", "deletion", "finalizer", "made again"],
)
def test_whatever_else_changes_is_news_once(changes: BundleEventFilter, obj: dict[str, Any]) -> None:
    assert changes.concerns_reconcile("MODIFIED", obj)
    assert not changes.concerns_reconcile("MODIFIED", obj)


def test_a_bundle_that_went_and_came_is_news(changes: BundleEventFilter) -> None:
    assert changes.concerns_reconcile("DELETED", bundle())
    assert changes.concerns_reconcile("ADDED", bundle())
