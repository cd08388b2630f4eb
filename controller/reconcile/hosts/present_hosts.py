"""How long Nodes and their nova-computes have been observed, and which compute services report.

Forgotten at a restart.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

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
        self._runs: dict[str, tuple[str, float]] = {}
        self._noted: dict[str, str] = {}
        self._reported: dict[str, float] = {}

    def observe(self, nodes: Iterable[str], view: CloudView, runs: Mapping[str, str]) -> None:
        """One pass. `nodes`: the uids of those that there are; forgets all others. `runs`: by uid, what tells
        the nova-compute that runs there in a pod from any before it; empty while that is not ready."""
        now = self._clock.monotonic()
        self._since = {uid: self._since.get(uid, now) for uid in nodes}
        known = self._runs
        self._runs = {
            uid: known[uid] if uid in known and known[uid][0] == run else (run, now)
            for uid, run in runs.items()
        }
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

    def own_compute(self, node: str) -> bool:
        """Whether one nova-compute has run in a pod of this Node for long enough to be the one that reports.

        Nova refuses that of a machine whose name another one has: it ends within seconds, again and again.
        Where none is seen on any Node, presence is unknown, and nothing can be evacuated to any.
        """
        run, since = self._runs.get(node, ("", 0.0))
        return not self._runs or (bool(run) and self._clock.monotonic() - since >= LATELY)

    def reports(self, host: str) -> bool:
        """Whether its compute service was seen to report, also where it is forced down."""
        at = self._reported.get(host)
        return at is not None and self._clock.monotonic() - at < LATELY
