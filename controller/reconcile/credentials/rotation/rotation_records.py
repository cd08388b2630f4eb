"""The annotation in which a rotation remembers how far it is: where somebody took it away, or wrote over it,
the status of the region has it, too."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from controller.domain.api.names import ROTATED_ANNOTATION, ROTATION_ANNOTATION
from controller.domain.credentials.clouds_yaml import KeyOfSecret
from controller.domain.credentials.rotation.record import (
    Phase,
    RotationRecord,
    RotationView,
    parse_rotation,
    recorded_rotation,
)
from controller.domain.shared.times import is_ahead, seconds_of
from controller.domain.values.template_functions import ACCOUNT_SUFFIX
from controller.reconcile.credentials.refused_writes import refusal_of
from controller.reconcile.credentials.store import CredentialStore

UNREADABLE = (
    f"its annotation {ROTATION_ANNOTATION} cannot be read, and status.secrets does not have it either: put "
    f"back what it was, or take it away with `kubectl annotate secret NAME {ROTATION_ANNOTATION}-`; then "
    "nothing is done about accounts of before any more, and those that nobody uses are yours to delete"
)


def rotation_of(store: CredentialStore, name: str) -> RotationRecord | None:
    """The rotation of a Secret that is under way, as its annotation says; None for none."""
    return parse_rotation(store.notes(name).get(ROTATION_ANNOTATION, ""))


def server_knows(store: CredentialStore, password: KeyOfSecret) -> bool:
    """Whether a rotation has told a server of what the Secret has under the key."""
    record = rotation_of(store, password.name)
    return record is not None and password.key in record.kept_accounts


def recall_rotations(
    osdpl: Mapping[str, Any], store: CredentialStore, held: str, now: float
) -> dict[str, RotationView]:
    """Puts annotations back that were lost or cannot be read; what is to be told of those that it cannot.

    `store` has observed; `held`: why nothing may be changed now. Raises Conflict, KubeError.
    """
    views = {}
    for name in sorted(store.stored()):
        text = store.notes(name).get(ROTATION_ANNOTATION)
        recorded = recorded_rotation(osdpl, name)
        record = parse_rotation(recorded)
        if rotation_of(store, name) is not None or (text is None and _has_ended(store, name, record, now)):
            continue
        if record is None:
            views[name] = RotationView(Phase.ROLLING, UNREADABLE)
            continue
        back = partial(store.rewrite, name, {ROTATION_ANNOTATION: recorded}, done="its rotation goes on")
        waits = held or store.write_obstacle(name) or refusal_of(back)
        if waits:
            views[name] = RotationView(Phase.ROLLING, waits, record.since, recorded)
    return views


def with_records(store: CredentialStore, views: Mapping[str, RotationView]) -> dict[str, RotationView]:
    """The views, each with the annotation as it is by now; one that nobody can read is not published."""
    return {
        name: replace(view, record=store.notes(name)[ROTATION_ANNOTATION])
        if rotation_of(store, name) is not None
        else view
        for name, view in views.items()
    }


def unknown(recalled: Mapping[str, RotationView]) -> list[str]:
    """The Secrets whose rotation nobody knows any more: a person has to look at them."""
    return [name for name, view in recalled.items() if view.message == UNREADABLE]


def _has_ended(store: CredentialStore, name: str, record: RotationRecord | None, now: float) -> bool:
    """Whether the rotation that the status knows is over, or has never begun: the status is written later
    than the Secret, which may have come back from before. An end that a clock which was ahead has written
    says nothing of a rotation that began with one that was right: one that goes on without need ends
    again."""
    if record is None:
        return True
    rotated = seconds_of(store.notes(name).get(ROTATED_ANNOTATION))
    ended = rotated >= record.since and (not is_ahead(rotated, now) or is_ahead(record.since, now))
    return ended or bool(record.accounts and store.text(name, ACCOUNT_SUFFIX) == record.suffix_before)
