"""Flapping components: they count as healthy only after they have stayed so for a while. Pure."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from controller.domain.health.region_health import ComponentHealth, ComponentKey
from controller.domain.health.workload_health import Health

# This many losses within the window make a component flap; then it must be healthy for the calm time.
LOSSES = 3
WINDOW = 600.0
CALM = 60.0

FLAPS = f"became unready at least {LOSSES} times within {WINDOW / 60:.0f} minutes; last: "


@dataclass
class _Track:
    ready: bool = False
    revision: Hashable = None
    losses: list[float] = field(default_factory=list)
    ready_since: float = 0.0
    last_text: str = ""
    last_output: str = ""


class FlapDamping:
    """Remembers when components lost their readiness, in memory.

    A new process continues with the flapping components of the status, which must then be healthy for the
    calm time, and counts the losses of the others again.
    """

    def __init__(self) -> None:
        self._tracks: dict[ComponentKey, _Track] = {}

    def damped(
        self, components: Mapping[ComponentKey, ComponentHealth], before: Mapping[str, Any], now: float
    ) -> dict[ComponentKey, ComponentHealth]:
        """The components to publish at `now` (seconds of any monotonic clock).

        `before` is the present `status.health`. Losses with a new revision are rollouts, or new runs of a
        Job, and do not count.
        """
        for gone in self._tracks.keys() - components.keys():
            del self._tracks[gone]
        for key in components.keys() - self._tracks.keys():
            application, component = key
            reported = (before.get(application) or {}).get(component) or {}
            self._tracks[key] = _begun(reported, components[key].revision, now)
        return {key: self._one(self._tracks[key], judged, now) for key, judged in components.items()}

    def _one(self, track: _Track, judged: ComponentHealth, now: float) -> ComponentHealth:
        ready = judged.verdict.health == Health.READY
        if judged.revision != track.revision:
            track.losses.clear()
            track.revision = judged.revision
        elif track.ready and not ready:
            track.losses.append(now)
        if ready and not track.ready:
            track.ready_since = now
        if not ready:
            track.last_text, track.last_output = judged.verdict.text, judged.verdict.output
        track.ready = ready
        track.losses = [at for at in track.losses if now - at <= WINDOW]
        if not ready or len(track.losses) < LOSSES:
            return judged
        if now - track.ready_since >= CALM:
            track.losses.clear()
            return judged
        shown = replace(
            judged.verdict,
            health=Health.UNHEALTHY,
            text=FLAPS + track.last_text,
            output=track.last_output,
        )
        return replace(judged, verdict=shown)


def _begun(reported: Mapping[str, Any], revision: Hashable, now: float) -> _Track:
    message = str(reported.get("message") or "")
    if reported.get("status") != Health.UNHEALTHY or not message.startswith(FLAPS):
        return _Track(revision=revision)
    return _Track(
        revision=revision, losses=[now] * LOSSES, ready_since=now, last_text=message.removeprefix(FLAPS)
    )
