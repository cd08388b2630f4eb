"""An operator's requests to a bundle by annotation: a pass now, an upgrade now, a rollback, a suspension.

They are annotations because core writes a region's bundles, and would revert an edit of their spec. A request
is served once. Its text distinguishes it from the next one, so each has a time or another new word. Helm's
revision carries the digest of the served text, so that it is known after a restart.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from controller.domain.api.names import (
    FORCE_ANNOTATION,
    FORCE_RELEASE_PREFIX,
    RECONCILE_ANNOTATION,
    RECONCILE_RELEASE_PREFIX,
    REGION_RECONCILE_ANNOTATION,
    ROLLBACK_RELEASE_PREFIX,
    SKIP_HOOKS_ANNOTATION,
    SKIP_HOOKS_RELEASE_PREFIX,
    SUSPEND_ANNOTATION,
    SUSPEND_RELEASE_PREFIX,
)

# Three of them, joined, fit where the status keeps them.
LONGEST_TEXT = 80
BETWEEN = "; "
_HOOKS_SKIPPED = "hooks skipped"


@dataclass(frozen=True)
class Requests:
    """What is asked of one release; each text is empty where nothing is asked.

    `rollback` begins with the number of the revision to go back to. The others may hold several requests,
    of the region, the bundle and the release.
    """

    reconcile: str = ""
    force: str = ""
    rollback: str = ""

    @property
    def rollback_revision(self) -> int:
        """The revision asked for; 0 when what is asked names none."""
        number = self.rollback.split(maxsplit=1)[0] if self.rollback.strip() else ""
        return int(number) if number.isascii() and number.isdigit() and len(number) < 9 else 0

    @property
    def skips_hooks(self) -> bool:
        """Whether an uninstall is to leave out its hooks."""
        return self.reconcile.endswith(_HOOKS_SKIPPED)

    def asks_more_than(self, served: Requests) -> bool:
        """Whether anything is asked here that an attempt with `served` was not asked."""
        pairs = (
            (self.reconcile, served.reconcile),
            (self.force, served.force),
            (self.rollback, served.rollback),
        )
        return any(_parts(asked) - _parts(before) for asked, before in pairs)


NOTHING_ASKED = Requests()


def requests_of(annotations: Mapping[str, object], release: str) -> Requests:
    """The requests that a bundle's annotations hold for one of its releases."""

    def text(*names: str) -> str:
        found = (str(annotations.get(name) or "").replace(BETWEEN, ", ").strip() for name in names)
        return BETWEEN.join(part if len(part) <= LONGEST_TEXT else _mark(part) for part in found if part)

    # That hooks are to be skipped is worth another try at once.
    skip = f", {_HOOKS_SKIPPED}" if skips_hooks(annotations, release) else ""
    reconcile = text(
        RECONCILE_ANNOTATION, REGION_RECONCILE_ANNOTATION, f"{RECONCILE_RELEASE_PREFIX}/{release}"
    )
    return Requests(
        reconcile=f"{reconcile}{skip}".removeprefix(", "),
        force=text(FORCE_ANNOTATION, f"{FORCE_RELEASE_PREFIX}/{release}"),
        rollback=text(f"{ROLLBACK_RELEASE_PREFIX}/{release}"),
    )


def is_suspended(annotations: Mapping[str, object], release: str = "") -> bool:
    """Whether the annotations ask to leave the release alone; without one, the whole bundle."""
    name = f"{SUSPEND_RELEASE_PREFIX}/{release}" if release else SUSPEND_ANNOTATION
    return str(annotations.get(name) or "").strip().lower() == "true"


def suspended_by(mode: str, annotations: Mapping[str, object]) -> str:
    """What suspends a whole bundle of this mode, empty when nothing does."""
    if mode == "Paused":
        return "the bundle's mode, Paused"
    return f"the bundle's annotation {SUSPEND_ANNOTATION}" if is_suspended(annotations) else ""


def skips_hooks(annotations: Mapping[str, object], release: str) -> bool:
    """Whether the annotations ask to uninstall the release without the hooks of its deletion."""
    names = (SKIP_HOOKS_ANNOTATION, f"{SKIP_HOOKS_RELEASE_PREFIX}/{release}")
    return any(str(annotations.get(name) or "").strip().lower() == "true" for name in names)


def label_of(text: str) -> str:
    """What the label of a revision says of the requests that were there when it was made.

    At most three marks of 16 hex digits, for a label holds 63 characters. Never empty: Helm would hand
    on the label of the revision before.
    """
    return ".".join(sorted(_mark(part) for part in _parts(text))) or "none"


def marks_in(labels: Iterable[str]) -> frozenset[str]:
    """The marks in such labels."""
    return frozenset(mark for label in labels for mark in label.split("."))


def is_answered(text: str, marks: frozenset[str]) -> bool:
    """Whether some revision was made while the request was there; true also where nothing is asked."""
    return all(_mark(part) in marks for part in _parts(text))


def _parts(text: str) -> frozenset[str]:
    return frozenset(part for part in text.split(BETWEEN) if part)


def _mark(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
