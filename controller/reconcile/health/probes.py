"""Asks the region's own services how they do: seldom, and one after the other."""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from controller.domain.health.probes import (
    APPLICATION,
    EndpointAnswer,
    Probe,
    Probed,
    ServiceEndpoint,
    endpoint_error,
    judge_agents,
    judge_compute_services,
    judge_endpoints,
    judge_volume_services,
    new_probe,
)
from controller.domain.health.region_health import ComponentHealth, ComponentKey
from controller.domain.health.workload_health import Health, WorkloadHealth
from controller.domain.shared import metrics
from controller.domain.shared.cloud_facts import Agent, ComputeService, ControlService, VolumeService
from controller.errors import CloudRefused, CloudUnavailable, ControllerError
from controller.ports.metrics import Metrics
from controller.ports.system import Clock

log = logging.getLogger(__name__)

# Seconds that a round may take. A request that runs at the end may take longer.
ROUND_WITHIN = 60.0
# Rounds that may be missed before an answer is too old to be repeated.
MISSED = 3


class ProbedCloud(Protocol):
    """What probes ask of a region's OpenStack; `controller.ports.openstack.Cloud` has it."""

    def compute_services(self) -> tuple[ComputeService, ...]: ...

    def compute_control(self) -> tuple[ControlService, ...]:
        """Nova's conductors and schedulers."""
        ...

    def network_agents(self) -> tuple[Agent, ...]: ...

    def volume_services(self) -> tuple[VolumeService, ...]: ...

    def endpoints(self) -> tuple[ServiceEndpoint, ...]:
        """The catalogue, of the interface and the region that the credentials name."""
        ...

    def ask(self, url: str) -> int:
        """The HTTP status of a GET without credentials, which takes only seconds. Raises CloudUnavailable
        without an answer."""
        ...


class ServiceProbes:
    """One region's probes, a round every `every` seconds on a thread of its own.

    It is one and the same thread: a cloud's connections belong to the thread that asks.

    `cloud()` opens the region's OpenStack; `changed()` is called when a round may have changed something.
    """

    def __init__(
        self,
        *,
        cloud: Callable[[], ProbedCloud],
        clock: Clock,
        measures: Metrics,
        changed: Callable[[], None],
        every: float,
    ) -> None:
        self._cloud = cloud
        self._clock = clock
        self._measures = measures
        self._changed = changed
        self._every = every
        self._stale_after = MISSED * every + ROUND_WITHIN
        self._lock = threading.Lock()
        self._probes: dict[str, Probe] = {}
        self._quorums: frozenset[str] = frozenset()
        self._next = 0.0
        self._running = False
        self._rounds: queue.SimpleQueue[Probed] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None

    def components(self, desired: Probed, known: Mapping[str, Any]) -> dict[ComponentKey, ComponentHealth]:
        """The wanted probes as components, as they were last answered; begins a round where one is due.

        `known` are the entries that the status has of them.
        """
        now, asked = self._clock.monotonic(), dict(desired.asked)
        with self._lock:
            for gone in self._probes.keys() - asked.keys():
                del self._probes[gone]
                self._measures.forget(probe=gone)
            for name in asked:
                if name not in self._probes:
                    self._probes[name] = probe = new_probe(now, known.get(name) or {})
                    # The first answer is not put off.
                    self._next = self._next if probe.verdict else now
            due = bool(asked) and not self._running and now >= self._next
            self._running = self._running or due
            shown = {
                name: probe.shown(now, stale_after=self._stale_after) for name, probe in self._probes.items()
            }
        if due:
            self._begin(desired)
        self._measure_quorums(desired.quorums)
        for name, verdict in shown.items():
            if verdict.health == Health.UNKNOWN:
                self._measures.set(metrics.PROBE_SUCCESS, 0.0, probe=name)
        shown.update(desired.quorums)
        return {(APPLICATION, name): ComponentHealth(verdict, 0) for name, verdict in shown.items()}

    def end(self) -> None:
        """The region is gone: nothing is asked or measured any more."""
        self.components(Probed({}, {}), {})

    def _begin(self, desired: Probed) -> None:
        self._rounds.put(desired)
        if self._thread is not None:
            return
        thread = threading.Thread(target=self._work, name="probes", daemon=True)
        try:
            thread.start()
        except RuntimeError as error:
            # No thread can be started now: a later round may be.
            extra = {"object": "probes", "reason": type(error).__name__}
            log.warning("services cannot be probed: %s", error, extra=extra)
            self._rounds.get_nowait()
            with self._lock:
                self._running = False
                self._next = self._clock.monotonic() + self._every
            return
        self._thread = thread

    def _work(self) -> None:
        while True:
            self._round(self._rounds.get())

    def _measure_quorums(self, quorums: Mapping[str, WorkloadHealth]) -> None:
        for gone in self._quorums - quorums.keys():
            self._measures.forget(probe=gone)
        self._quorums = frozenset(quorums)
        for name, verdict in quorums.items():
            self._measures.set(metrics.PROBE_SUCCESS, _success(verdict), probe=name)

    def due_in(self) -> float | None:
        """Seconds until the next round, or until the answers are too old while one is under way.

        None while there is nothing to wait for.
        """
        with self._lock:
            now = self._clock.monotonic()
            if not self._probes:
                return None
            if not self._running:
                return max(self._next - now, 0.0)
            stale_in = min(one.heard for one in self._probes.values()) + self._stale_after - now
            return stale_in + 1.0 if stale_in >= 0 else None

    def _round(self, desired: Probed) -> None:
        deadline = self._clock.monotonic() + ROUND_WITHIN
        try:
            for name in desired.asked:
                if self._clock.monotonic() < deadline:
                    self._probe(name, desired, deadline)
                else:
                    self._note(name, "the probes before it took too long")
        finally:
            with self._lock:
                self._running = False
                come = self._probes.keys() - desired.asked.keys()
                self._next = self._clock.monotonic() + (0.0 if come else self._every)
            self._changed()

    def _probe(self, name: str, desired: Probed, deadline: float) -> None:
        began = self._clock.monotonic()
        failure = ""
        verdict: WorkloadHealth | None = None
        try:
            verdict = self._ask(name, desired, self._cloud(), deadline)
        except (CloudUnavailable, CloudRefused) as error:
            failure = str(error)
        except ControllerError as error:
            failure = f"cannot be probed: {error}"
        # Any error: client libraries raise kinds of their own, and one probe must not stop the others.
        except Exception as error:  # noqa: BLE001
            # Without its text, which may hold what a library was given.
            failure = f"cannot be probed: {type(error).__name__}"
        now = self._clock.monotonic()
        with self._lock:
            # One that is not asked for any more was forgotten, and must not come to be measured again.
            if name in self._probes:
                self._measures.set(metrics.PROBE_DURATION, now - began, probe=name)
                if verdict is not None:
                    self._measures.set(metrics.PROBE_SUCCESS, _success(verdict), probe=name)
                    self._probes[name] = self._probes[name].answered(verdict, now)
        if verdict is None:
            self._note(name, failure)

    def _note(self, name: str, failure: str) -> None:
        log.warning("probe %s failed: %s", name, failure, extra={"object": name, "reason": "ProbeFailed"})
        with self._lock:
            if name in self._probes:
                self._measures.set(metrics.PROBE_SUCCESS, 0.0, probe=name)
                self._probes[name] = self._probes[name].failed(failure, self._clock.monotonic())

    def _ask(self, name: str, desired: Probed, cloud: ProbedCloud, deadline: float) -> WorkloadHealth:
        expected = desired.asked[name]
        if name == "compute-services":
            return judge_compute_services(cloud.compute_services(), cloud.compute_control(), expected)
        if name == "network-agents":
            return judge_agents(cloud.network_agents(), expected)
        if name == "volume-services":
            return judge_volume_services(cloud.volume_services(), expected)
        answers = (self._asked(cloud, one, deadline) for one in cloud.endpoints())
        return judge_endpoints(answers, desired.releases)

    def _asked(self, cloud: ProbedCloud, endpoint: ServiceEndpoint, deadline: float) -> EndpointAnswer:
        if self._clock.monotonic() > deadline:
            return EndpointAnswer(endpoint, "not probed, because the probes before it took too long")
        try:
            return EndpointAnswer(endpoint, endpoint_error(cloud.ask(endpoint.url)))
        except CloudUnavailable as error:
            return EndpointAnswer(endpoint, str(error))


def _success(verdict: WorkloadHealth) -> float:
    return float(verdict.health == Health.READY)
