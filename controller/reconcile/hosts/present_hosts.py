"""How long Nodes have been observed, and which compute services report. Forgotten at a restart."""

from __future__ import annotations

from collections.abc import Iterable

from controller.domain.hosts.fencing_confirmation import has_reported, report_of
from controller.domain.shared.cloud_facts import CloudView
from controller.ports.system import Clock

# A nova-compute reports every ten seconds, and counts as down after 60 (report_interval, service_down_time).
LATELY = 60.0


class PresentHosts:
    """Measures by our own monotonic clock: neither the API server's nor Nova's counts. Not thread-safe."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._since: dict[str, float] = {}
        self._noted: dict[str, str] = {}
        self._reported: dict[str, float] = {}

    def observe(self, nodes: Iterable[str], view: CloudView) -> None:
        """One pass. `nodes`: the uids of those that there are; forgets all others."""
        now = self._clock.monotonic()
        self._since = {uid: self._since.get(uid, now) for uid in nodes}
        services = {one.host: one for one in view.services}
        for host, service in services.items():
            before = self._noted.get(host)
            if before is not None and has_reported(before, service):
                self._reported[host] = now
        self._reported = {host: at for host, at in self._reported.items() if host in services}
        self._noted = {host: report_of(service) for host, service in services.items()}

    def known_for(self, node: str) -> float:
        """Seconds since the Node of this uid was first observed, in passes that saw all of OpenStack."""
        now = self._clock.monotonic()
        return now - self._since.get(node, now)

    def reports(self, host: str) -> bool:
        """Whether its compute service was seen to report, also where it is forced down."""
        at = self._reported.get(host)
        return at is not None and self._clock.monotonic() - at < LATELY
