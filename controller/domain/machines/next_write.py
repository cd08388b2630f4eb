"""The next step for one set: one write at a time, decided from a snapshot, so that a process may be killed
after each."""

from __future__ import annotations

from controller.domain.machines.authority import (
    Authority,
    asked_authority,
    authority,
    begin_hand_over,
    go_on_with_hand_over,
)
from controller.domain.machines.deletion import is_being_deleted, next_of_deletion
from controller.domain.machines.following import next_of_following
from controller.domain.machines.mirroring import next_of_first_mirror, next_of_mirroring
from controller.domain.machines.writes import Snapshot, Target, Write


def decide_next_write(seen: Snapshot, target: Target, now: float) -> Write | None:
    """The next write for a set; None if there is nothing to do, or another controller must act first.

    While no API is in charge, nothing is written; during a hand-over, only its own steps. `now` is in seconds
    since the epoch.
    """
    who = authority(seen.source)
    if who is None:
        return None
    if who is Authority.MIGRATING:
        return go_on_with_hand_over(seen, now)
    if is_being_deleted(seen):
        return next_of_deletion(seen, who)
    if who is Authority.MACHINE_API:
        write = next_of_mirroring(seen, target, now)
    else:
        write = next_of_first_mirror(seen, target, now) or next_of_following(seen, target, now)
    if write is not None or asked_authority(seen.source) is who:
        return write
    return begin_hand_over(seen)
