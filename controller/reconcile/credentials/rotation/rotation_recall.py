"""Puts back the annotations in which rotations remember how far they are, where these were taken away."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from controller.domain.api.names import ROTATION_ANNOTATION
from controller.domain.credentials.credential_plan import CredentialProblem
from controller.domain.credentials.rotation.record import (
    Phase,
    RotationRecord,
    RotationView,
    parse_rotation,
    recorded_rotation,
)
from controller.ports.system import Clock
from controller.reconcile.credentials.refused_writes import refusal_of
from controller.reconcile.credentials.region_pass import RegionPass
from controller.reconcile.credentials.rotation.rotation_records import has_ended, rotation_of
from controller.reconcile.credentials.steps import CredentialStep, Published

UNREADABLE = (
    f"the controller cannot read the annotation {ROTATION_ANNOTATION}, and status.secrets has no copy: "
    "restore the annotation, or remove it with `kubectl annotate secret NAME "
    f"{ROTATION_ANNOTATION}-`. After a removal, the controller ignores former accounts, and you must "
    "delete the unused accounts"
)


@dataclass(frozen=True)
class RecalledRotations:
    """What is to be published of those whose annotation is not back yet, by the name of the Secret."""

    views: Mapping[str, RotationView] = field(default_factory=dict)


@dataclass(frozen=True)
class _Lost:
    """An annotation that is lost: its Secret, and how the status has it; no `record` where it does not."""

    name: str
    text: str
    record: RotationRecord | None
    waits: str = ""


class RotationRecall(CredentialStep[Sequence[_Lost], Sequence[_Lost]]):
    """`Step.ROTATION_RECORDS`."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def observe(self, work: RegionPass, before: Published) -> Sequence[_Lost] | None:
        """The annotations that were lost, or cannot be read."""
        found, store, now = [], work.store, self._clock.now()
        for name in sorted(store.stored()):
            text, recorded = store.notes(name).get(ROTATION_ANNOTATION), recorded_rotation(work.osdpl, name)
            record = parse_rotation(recorded)
            ended = text is None and has_ended(store, name, record, now)
            if rotation_of(store, name) is None and not ended:
                found.append(_Lost(name, recorded, record))
        return found or None

    def decide(self, work: RegionPass, observed: Sequence[_Lost]) -> Sequence[_Lost]:
        """Those, with why each cannot be written now."""
        return [
            _Lost(one.name, one.text, one.record, work.held or work.store.write_obstacle(one.name))
            for one in observed
        ]

    def apply(self, work: RegionPass, decided: Sequence[_Lost]) -> Published:
        """What cannot be put back, a person has to look at."""
        views = {}
        for one in decided:
            if one.record is None:
                views[one.name] = RotationView(Phase.ROLLING, UNREADABLE)
                continue
            notes = {ROTATION_ANNOTATION: one.text}
            back = partial(work.store.rewrite, one.name, notes, done="the rotation continues")
            waits = one.waits or refusal_of(back)
            if waits:
                views[one.name] = RotationView(Phase.ROLLING, waits, one.record.since, one.text)
        unknown = [name for name, view in views.items() if view.message == UNREADABLE]
        problems = tuple(CredentialProblem(name, UNREADABLE) for name in unknown)
        return Published(problems, facts=(RecalledRotations(views),))
