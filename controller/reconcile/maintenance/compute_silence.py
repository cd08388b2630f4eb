"""For how long a process has itself seen nothing new of a compute service that is to be dead."""

from __future__ import annotations

from controller.domain.hosts.fencing_confirmation import report_of
from controller.domain.shared.cloud_facts import ComputeService
from controller.ports.system import Clock

# A nova-compute that runs reports every ten seconds (report_interval), also one that is forced down, and Nova
# notes whole seconds: what it reports within the second of our own change shows with its next report.
QUIET = 30.0


class ComputeSilence:
    """Watches compute services before the first server of their host is evacuated. One thread at a time.

    Nothing of it is kept: another process watches again.
    """

    def __init__(self, clock: Clock, quiet: float = QUIET) -> None:
        self._clock = clock
        self._quiet = quiet
        self._seen: dict[str, tuple[str, float]] = {}

    def remaining(self, host: str, service: ComputeService) -> float:
        """Seconds for which it is still to be watched, as it was just read; 0.0 for none."""
        report, now = report_of(service), self._clock.monotonic()
        seen, since = self._seen.get(host, ("", now))
        if seen != report:
            self._seen[host] = (report, now)
            since = now
        return max(0.0, self._quiet - (now - since))
