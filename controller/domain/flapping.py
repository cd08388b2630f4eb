"""Components that come and go: said to be healthy only when they have stayed so for a while. Pure."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar

from controller.domain.health import ComponentHealth
from controller.domain.workload_health import Health

# So many losses within the window make a component flap; it must then be well for the calm time.
LOSSES = 3
WINDOW = 600.0
CALM = 60.0

Key = TypeVar("Key", bound=Hashable)


@dataclass
class _Track:
    ready: bool = False
    generation: int = 0
    losses: list[float] = field(default_factory=list)
    ready_since: float = 0.0
    last_text: str = ""
    last_output: str = ""


class FlapDamping:
    """Remembers when components lost their readiness. In memory only: a restart begins anew."""

    def __init__(self) -> None:
        self._tracks: dict[Hashable, _Track] = {}

    def damped(self, components: Mapping[Key, ComponentHealth], now: float) -> dict[Key, ComponentHealth]:
        """The components as they are to be shown at `now` (seconds, of any steady clock).

        Losses that come with a new generation are rollouts and are not counted.
        """
        for gone in self._tracks.keys() - components.keys():
            del self._tracks[gone]
        return {key: self._one(key, judged, now) for key, judged in components.items()}

    def _one(self, key: Hashable, judged: ComponentHealth, now: float) -> ComponentHealth:
        track = self._tracks.setdefault(key, _Track(generation=judged.generation))
        ready = judged.verdict.health == Health.READY
        if judged.generation != track.generation:
            track.losses.clear()
            track.generation = judged.generation
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
        text = (
            f"became unready {LOSSES} times or more within {WINDOW / 60:.0f} minutes; last: {track.last_text}"
        )
        shown = replace(judged.verdict, health=Health.UNHEALTHY, text=text, output=track.last_output)
        return replace(judged, verdict=shown)
