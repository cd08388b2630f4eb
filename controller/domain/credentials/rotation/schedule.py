"""The schedule of automatic rotation: `spec.features.credentialRotation`. Pure; times are UTC."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from controller.domain.api.region_spec import CredentialRotationFeature
from controller.domain.shared.durations import parse_duration

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_DAY = 86400
# The day of the epoch, January 1, 1970.
_FIRST_WEEKDAY = WEEKDAYS.index("Thursday")


@dataclass(frozen=True)
class Window:
    """The time of the day in which rotations begin: `start` in seconds of the day, for `length` seconds, on
    the `days` of the week, 0 for Monday. It may end on the next day."""

    start: int
    length: int
    days: frozenset[int]

    def occurrences(self, moment: float) -> Iterator[tuple[float, float]]:
        """Beginning and end of each that ends after a moment, in order."""
        day = int(moment // _DAY) - 1
        while True:
            begin = day * _DAY + self.start
            if begin + self.length > moment and (day + _FIRST_WEEKDAY) % len(WEEKDAYS) in self.days:
                yield begin, begin + self.length
            day += 1


@dataclass(frozen=True)
class RotationSchedule:
    """Rotates credentials older than `every` seconds, in the `window`, or at any time without one."""

    every: int
    window: Window | None = None

    def next(self, last: float, now: float) -> float:
        """The next rotation of a credential from `last`: not after `now` if it is due.

        It is constant during a window, and between two. All times are in seconds since the epoch.
        """
        due = last + self.every
        if self.window is None:
            return due
        begin, _ = next(self.window.occurrences(max(due, now)))
        return max(due, begin)


@dataclass(frozen=True)
class RotationTimes:
    """In seconds since the epoch. `last`: None where it was never rotated; `next`: None where no schedule
    rotates it. `is_due`: it is to begin now."""

    last: float | None = None
    next: float | None = None
    is_due: bool = False


def rotation_schedule(feature: CredentialRotationFeature) -> RotationSchedule | None:
    """The schedule of a spec; None if there is none, or an invalid one, which the API server refuses."""
    days = feature.every.removesuffix("d")
    if not (days.isdecimal() and days.isascii()) or not int(days):
        return None
    if not feature.start:
        return RotationSchedule(int(days) * _DAY)
    try:
        hour, minute = (int(part) for part in feature.start.split(":"))
        length = parse_duration(feature.duration)
    except ValueError:
        return None
    named = frozenset(WEEKDAYS.index(day) for day in feature.days if day in WEEKDAYS)
    window = Window(hour * 3600 + minute * 60, length, named or frozenset(range(len(WEEKDAYS))))
    return RotationSchedule(int(days) * _DAY, window) if length > 0 else None
