"""Remembers recent renders: the size of a release is estimated, and then its action is prepared.

It also remembers releases that could not be rendered within bounds, because a new attempt at each pass would
waste a processor. A render is the same while chart, values, names and the number of the revision are.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from controller.errors import ChartInvalid
from controller.ports.helm import HelmRequest, RenderedRelease

# An action follows its estimate at once. A render contains secrets, so it is not kept for longer.
RESULT_SECONDS = 30.0
REFUSAL_SECONDS = 600.0
_MOST_FILES = 20_000


class RenderRefused(ChartInvalid):
    """Rendering was stopped at one of its bounds."""


@dataclass(frozen=True)
class _Known:
    key: str
    until: float
    result: RenderedRelease | RenderRefused


class RenderMemo:
    """The last render of each release, for some seconds. Safe from several threads."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._lock = threading.Lock()
        self._known: dict[tuple[str, str], _Known] = {}

    def get(
        self, request: HelmRequest, values: str, render: Callable[[], RenderedRelease]
    ) -> RenderedRelease:
        """The result of `render`, now or remembered.

        Raises the errors of `render`; remembers RenderRefused for a while.
        """
        place, key = (request.namespace, request.release), _key(request, values)
        known = self._recall(place)
        if known is not None and known.key == key:
            if isinstance(known.result, RenderRefused):
                raise known.result
            return known.result
        try:
            result = render()
        except RenderRefused as refusal:
            self._remember(place, _Known(key, self._now() + REFUSAL_SECONDS, refusal))
            raise
        self._remember(place, _Known(key, self._now() + RESULT_SECONDS, result))
        return result

    def _recall(self, place: tuple[str, str]) -> _Known | None:
        with self._lock:
            now = self._now()
            self._known = {one: known for one, known in self._known.items() if known.until > now}
            return self._known.get(place)

    def _remember(self, place: tuple[str, str], known: _Known) -> None:
        with self._lock:
            self._known[place] = known


def _key(request: HelmRequest, values: str) -> str:
    digest = hashlib.sha256()
    for part in (
        request.release,
        request.namespace,
        request.chart_path,
        str(request.revision),
        *_stamp(Path(request.chart_path)),
        values,
    ):
        digest.update(part.encode("utf-8", "surrogateescape") + b"\0")
    return digest.hexdigest()


def _stamp(chart: Path) -> list[str]:
    """The state of a chart's files by their sizes and times."""
    places, found = [chart], list[str]()
    while places and len(found) < _MOST_FILES:
        place = places.pop()
        status = place.stat()
        found.append(f"{place} {status.st_size} {status.st_mtime_ns} {status.st_ino}")
        if place.is_dir():
            places += sorted(place.iterdir())
    return found
