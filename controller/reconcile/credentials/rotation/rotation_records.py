"""The annotation that holds the progress of a rotation. The status of the region has a copy, in case others
remove or overwrite the annotation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from controller.domain.api.names import ROTATED_ANNOTATION, ROTATION_ANNOTATION
from controller.domain.credentials.clouds_yaml import KeyOfSecret
from controller.domain.credentials.rotation.record import (
    RotationRecord,
    RotationView,
    parse_rotation,
)
from controller.domain.shared.times import is_ahead, seconds_of
from controller.domain.values.templates.template_functions import ACCOUNT_SUFFIX
from controller.reconcile.credentials.store import CredentialStore


def rotation_of(store: CredentialStore, name: str) -> RotationRecord | None:
    """The rotation of a Secret that is under way, as its annotation says; None for none."""
    return parse_rotation(store.notes(name).get(ROTATION_ANNOTATION, ""))


def server_knows(store: CredentialStore, password: KeyOfSecret) -> bool:
    """Whether a rotation has set the Secret's value of the key in a server."""
    record = rotation_of(store, password.name)
    return record is not None and password.key in record.kept_accounts


def with_records(store: CredentialStore, views: Mapping[str, RotationView]) -> dict[str, RotationView]:
    """The views, each with the present annotation. An unreadable annotation is not published."""
    return {
        name: replace(view, record=store.notes(name)[ROTATION_ANNOTATION])
        if rotation_of(store, name) is not None
        else view
        for name, view in views.items()
    }


def has_ended(store: CredentialStore, name: str, record: RotationRecord | None, now: float) -> bool:
    """Whether the rotation that the status knows is over, or has never begun: the status is written later
    than the Secret, which may have come back from before. An end that a clock which was ahead has written
    says nothing of a rotation that began with one that was right: one that goes on without need ends
    again."""
    if record is None:
        return True
    rotated = seconds_of(store.notes(name).get(ROTATED_ANNOTATION))
    ended = rotated >= record.since and (not is_ahead(rotated, now) or is_ahead(record.since, now))
    return ended or bool(record.accounts and store.text(name, ACCOUNT_SUFFIX) == record.suffix_before)
