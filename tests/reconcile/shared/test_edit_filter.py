"""Our own status writes are no news; whatever else changes is."""

from __future__ import annotations

from typing import Any

import pytest

from controller.reconcile.shared.edit_filter import EditFilter


def obj(status: str = "", **meta: Any) -> dict[str, Any]:
    return {"metadata": {"uid": "1", "generation": 1, **meta}, "status": {"phase": status}}


@pytest.fixture
def edits() -> EditFilter:
    edits = EditFilter()
    assert edits.feed(None, obj())
    return edits


def test_a_change_of_the_status_alone_is_no_edit(edits: EditFilter) -> None:
    assert not edits.feed("MODIFIED", obj("Moving", resourceVersion="8", managedFields=[{}]))


@pytest.mark.parametrize(
    "change",
    [
        {"generation": 2},
        {"deletionTimestamp": "2026-01-01T00:00:00Z"},
        {"labels": {"a": "b"}},
        {"annotations": {"a": "b"}},
        {"finalizers": ["a"]},
        {"uid": "2"},
    ],
)
def test_every_other_change_is_one(edits: EditFilter, change: dict[str, Any]) -> None:
    assert edits.feed("MODIFIED", obj(**change))
    assert not edits.feed("MODIFIED", obj("Moving", **change))


def test_a_deletion_is_one_and_so_is_what_comes_after_it(edits: EditFilter) -> None:
    assert edits.feed("DELETED", obj())
    assert edits.feed("ADDED", obj())
