"""Which objects belong to which release, and how each was when it was last found as it should be."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from controller.domain.api.keys import BundleKey, ReleaseKey
from controller.domain.releases.bundle import DriftIgnore
from controller.domain.releases.drift import difference
from controller.domain.releases.drift.difference import (
    NO_DRIFT,
    Change,
    Corrections,
    Drift,
    Drifted,
    ObjectId,
)


@dataclass(frozen=True)
class Followed:
    """A release whose objects are looked after: its bundle, its deployed revision, what is ignored.

    `asked` is the operator's request for another pass: with a new one they are all compared again.
    """

    bundle: BundleKey
    revision: int
    rules: tuple[DriftIgnore, ...] = ()
    asked: str = ""


@dataclass
class Tracked:
    """What is known of a release's objects. `prints` is empty until its manifest was read.

    A print is the object's state when it was last as it should be, empty when it never was compared.
    `compared` is when each was last compared, `due` when all of them are to be (monotonic seconds);
    `tried` is how those were found that a correction was last tried at, until they are as they should be;
    `error` says why the manifest cannot be had.
    """

    followed: Followed
    due: float
    read: bool = False
    error: str = ""
    prints: dict[ObjectId, str] = field(default_factory=dict)
    compared: dict[ObjectId, float] = field(default_factory=dict)
    found: dict[ObjectId, Drifted] = field(default_factory=dict)
    tried: dict[ObjectId, Drifted] = field(default_factory=dict)


class DriftIndex:
    """Plain memory, without a lock of its own: a few hundred bytes for each object of a release."""

    def __init__(self) -> None:
        self.releases: dict[ReleaseKey, Tracked] = {}
        # Two releases may have one object, where it was gone as the second one was installed.
        self._owners: dict[ObjectId, tuple[ReleaseKey, ...]] = {}
        self._corrections: dict[ObjectId, Corrections] = {}

    def follow(self, key: ReleaseKey, followed: Followed, due: float) -> bool:
        """Takes a release up, again if anything of `followed` has changed; says whether it did."""
        known = self.releases.get(key)
        if known is not None and known.followed == followed:
            return False
        self.leave(key)
        self.releases[key] = Tracked(followed, due)
        return True

    def leave(self, key: ReleaseKey) -> None:
        """Forgets the release's objects, but not how often they were corrected."""
        tracked = self.releases.pop(key, None)
        for one in tracked.prints if tracked else ():
            others = tuple(owner for owner in self._owners.pop(one, ()) if owner != key)
            if others:
                self._owners[one] = others

    def fill(self, key: ReleaseKey, objects: Iterable[ObjectId]) -> None:
        """The release's manifest was read: these are its objects."""
        tracked = self.releases[key]
        tracked.read = True
        tracked.prints = dict.fromkeys(objects, "")
        for one in tracked.prints:
            self._owners[one] = (*(owner for owner in self.owners(one) if owner != key), key)

    def owners(self, object_: ObjectId) -> tuple[ReleaseKey, ...]:
        """The releases that have the object."""
        return self._owners.get(object_, ())

    def of_kind(self, api_version: str, kind: str, namespace: str) -> list[ObjectId]:
        """Every known object of a kind in a namespace."""
        return [
            one
            for one in self._owners
            if (one.api_version, one.kind, one.namespace) == (api_version, kind, namespace)
        ]

    def is_as_known(self, object_: ObjectId, metadata: Mapping[str, Any]) -> bool:
        """Whether an object is still as it was when nothing was wrong with it, for any of its releases."""
        known = self._prints(object_)
        return all(known) and set(known) == {print_of(metadata)}

    def was_compared(self, object_: ObjectId) -> bool:
        """Whether it is known how the object looks when nothing is wrong with it."""
        return any(self._prints(object_))

    def compared(self, object_: ObjectId) -> float | None:
        """When it was last compared, in monotonic seconds; None for never."""
        times = (self.releases[key].compared.get(object_) for key in self.owners(object_))
        return max((time for time in times if time is not None), default=None)

    def _prints(self, object_: ObjectId) -> list[str]:
        return [self.releases[key].prints.get(object_, "") for key in self.owners(object_)]

    def settle(self, key: ReleaseKey, object_: ObjectId, found: Drifted | None, seen: str) -> bool:
        """Notes how an object was found; says whether that is new."""
        tracked = self.releases[key]
        before = tracked.found.pop(object_, None)
        if found is not None:
            tracked.found[object_] = found
        else:
            tracked.tried.pop(object_, None)
            if seen:
                tracked.prints[object_] = _short(seen)
        return before != found

    def corrected(self, object_: ObjectId, now: float, by: Iterable[str]) -> None:
        """An object was corrected."""
        self._corrections.setdefault(object_, Corrections()).add(now, by)

    def drift(self, key: ReleaseKey, now: float) -> Drift:
        """Everything that differs of a release, in a steady order."""
        tracked = self.releases.get(key)
        if tracked is None:
            return NO_DRIFT
        order = {one: place for place, one in enumerate(tracked.prints)}
        found = sorted(tracked.found.items(), key=lambda item: order.get(item[0], 0))
        known = [self._corrections[one] for one, _ in found if one in self._corrections]
        worst = max(known, key=lambda one: len(one.recent(now)), default=Corrections())
        times = worst.recent(now)
        return Drift(
            objects=tuple(one for _, one in found),
            corrections=len(times),
            corrected=times[-1] if times else 0.0,
            rivals=worst.rivals,
            fresh=any(
                one.change != Change.REFUSED and not one.is_like(tracked.tried.get(object_))
                for object_, one in found
            ),
            error=tracked.error,
        )

    def forget_old_corrections(self, now: float) -> None:
        """Lets go of what no decision depends on any more."""
        for one in [one for one, known in self._corrections.items() if not known.recent(now)]:
            del self._corrections[one]


def print_of(metadata: Mapping[str, Any]) -> str:
    """A short print of an object: what `difference.fingerprint` says, in 16 bytes."""
    return _short(difference.fingerprint(metadata))


def _short(fingerprint: str) -> str:
    return hashlib.blake2b(fingerprint.encode(), digest_size=16).hexdigest()
