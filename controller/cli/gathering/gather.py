"""Collects the parts of a support file: within its time, without what the API server refuses, and masked."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

from controller.cli.gathering.archive import Archive
from controller.cli.gathering.masks import Mask, known_secrets
from controller.cli.gathering.parts import Part, Places, parts_of
from controller.domain.shared.redaction import Redactor
from controller.errors import KubeError, ObjectMissing
from controller.ports.kubernetes import SECRET
from controller.ports.survey import Survey
from controller.ports.system import Clock

_UNCHECKED = "the Secrets of {} cannot be read, so texts cannot be searched for them"


class Late(KubeError):
    """The time for the file is over."""


@dataclass(frozen=True)
class Outcome:
    """What came of it: whether the API server refused a part, and whether time or room was over."""

    refused: bool
    late: bool


class Gatherer:
    """Fills one archive. `deadline` on the clock's monotonic time; `report` takes a line for a person."""

    def __init__(
        self,
        survey: Survey,
        places: Places,
        *,
        clock: Clock,
        deadline: float,
        options: Collection[str] = (),
        public: Collection[str] = (),
        report: Callable[[str], None],
    ) -> None:
        self._survey = survey
        self._places = places
        self._clock = clock
        self._deadline = deadline
        self._options = options
        self._public = public
        self._report = report

    def fill(self, archive: Archive) -> Outcome:
        """Writes every part. What is missing is in the archive's contents, with the reason."""
        mask, unread = self._learn(archive)
        refused, late = bool(unread), False
        for part in parts_of(self._survey, self._places):
            if part.texts and unread:
                archive.contents.lacks(part.path, _UNCHECKED.format(", ".join(unread)))
                continue
            if archive.full or self._clock.monotonic() >= self._deadline:
                why = "the file is full" if archive.full else "the time was over"
                archive.contents.lacks(part.path, why)
                late = True
                continue
            try:
                archive.add(part.path, self._timed(part, mask))
            except Late as error:
                archive.contents.lacks(part.path, str(error))
                late = True
            except KubeError as error:
                archive.contents.lacks(part.path, mask.text(str(error)))
                refused = refused or not isinstance(error, ObjectMissing)
                self._report(f"left out: {part.path}: {mask.text(str(error))}")
        return Outcome(refused, late or any("full" in one["why"] for one in archive.contents.left_out))

    def _learn(self, archive: Archive) -> tuple[Mask, list[str]]:
        """The mask that knows the Secrets, and the namespaces whose Secrets cannot be read."""
        by_name = Mask(Redactor(), self._options)
        known: set[str] = set()
        unread: list[str] = []
        for namespace in self._places.namespaces:
            found = self._survey.scan(SECRET, namespace, fields="type!=helm.sh/release.v1")
            try:
                known.update(known_secrets(found, by_name))
            except KubeError as error:
                unread.append(namespace)
                archive.contents.lacks(f"texts of Secrets in {namespace}", str(error))
                self._report(f"{_UNCHECKED.format(namespace)}: {error}")
        redactor = Redactor(known).sparing(self._public)
        return Mask(redactor, self._options, blind=bool(unread)), unread

    def _timed(self, part: Part, mask: Mask) -> Iterator[str]:
        for line in part.lines(mask):
            if self._clock.monotonic() >= self._deadline:
                raise Late("cut: the time was over")
            yield line
