"""What containers that died without a termination message last logged."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import replace
from typing import TypeVar

from controller.domain.health import ComponentHealth
from controller.ports import Clock, Kube

# A log is read again when it may tell something newer, and never more than a few at one look.
KEPT = 120.0
READ_AT_ONCE = 5
LINES = 10

Key = TypeVar("Key", bound=Hashable)


class PodOutput:
    """Reads the ends of logs of pods in one namespace. Not thread-safe: one reconciler asks."""

    def __init__(self, kube: Kube, clock: Clock, namespace: str) -> None:
        self._kube = kube
        self._clock = clock
        self._namespace = namespace
        self._known: dict[tuple[str, str], tuple[float, str]] = {}

    def added(self, components: Mapping[Key, ComponentHealth]) -> dict[Key, ComponentHealth]:
        """The components, with the output of those whose worst pod died silently."""
        wanted = {one.verdict.silent for one in components.values() if one.verdict.silent}
        for gone in self._known.keys() - wanted:
            del self._known[gone]
        reads = 0
        result = {}
        for key, judged in components.items():
            silent = judged.verdict.silent
            if silent is not None:
                if not self._is_fresh(silent) and reads < READ_AT_ONCE:
                    reads += 1
                    self._read(silent)
                output = self._known.get(silent, (0.0, ""))[1]
                judged = replace(judged, verdict=replace(judged.verdict, output=output))  # noqa: PLW2901
            result[key] = judged
        return result

    def _is_fresh(self, silent: tuple[str, str]) -> bool:
        known = self._known.get(silent)
        return known is not None and self._clock.monotonic() - known[0] < KEPT

    def _read(self, silent: tuple[str, str]) -> None:
        pod, container = silent
        text = self._kube.pod_log(pod, self._namespace, container=container, tail_lines=LINES)
        before = self._known.get(silent, (0.0, ""))[1]
        # A container that has just started again has logged nothing yet: its end is what counts.
        self._known[silent] = (self._clock.monotonic(), text.strip() or before)
