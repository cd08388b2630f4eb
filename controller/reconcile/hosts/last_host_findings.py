"""What the last pass over the compute hosts found: read by whoever writes the region's status."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from controller.domain.hosts.nodes_status import HostReport


@dataclass(frozen=True)
class HostFindings:
    """`circuit_breaker_open`, `paused`: why automatic action is stopped. `unknown`: why OpenStack cannot be
    observed. `strangers`: compute hosts of no Node.

    While it cannot, the reports are of `as_of`, the last pass (seconds since the epoch; 0.0: of none yet).
    """

    reports: Mapping[str, HostReport] = field(default_factory=dict)
    circuit_breaker_open: str = ""
    paused: str = ""
    unknown: str = ""
    strangers: tuple[str, ...] = ()
    as_of: float = 0.0


def _nobody() -> None:
    """Until there is a listener."""


class LastHostFindings:
    """Keeps the newest HostFindings. Thread-safe. `changed` is called when they have changed."""

    def __init__(self, changed: Callable[[], None] = _nobody) -> None:
        self._lock = threading.Lock()
        self._content = HostFindings()
        self._filled = False
        self._observed = False
        self._changed = changed

    @property
    def filled(self) -> bool:
        """Whether a pass has ever written findings. A failure to observe OpenStack counts, too."""
        with self._lock:
            return self._filled

    def stopped(self) -> str:
        """Why nothing is begun automatically now, empty while it may be.

        That is mode Paused, the circuit breaker, or that no pass has observed OpenStack yet.
        """
        with self._lock:
            unseen = "" if self._observed else "the compute hosts have not been observed yet"
            return self._content.paused or unseen or self._content.circuit_breaker_open

    def read(self) -> HostFindings:
        with self._lock:
            return self._content

    def write(self, content: HostFindings) -> None:
        with self._lock:
            same = content == self._content and self._filled
            self._content, self._filled = content, True
            self._observed = self._observed or not content.unknown
        if not same:
            self._changed()
