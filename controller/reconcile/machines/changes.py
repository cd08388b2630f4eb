"""What watches tell of MachineSets, their mirrors and templates: that something has changed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from controller.ports.kubernetes import Resource


class ChangedSets:
    """`controller.ports.kubernetes.WatchSink` that asks for a pass, whatever it was: a pass reads all."""

    def __init__(self, changed: Callable[[], None]) -> None:
        self._changed = changed

    def listed(self, resource: Resource, namespace: str, metadata: Sequence[Mapping[str, Any]]) -> None:
        self._changed()

    def changed(self, resource: Resource, metadata: Mapping[str, Any], *, gone: bool) -> None:
        self._changed()
