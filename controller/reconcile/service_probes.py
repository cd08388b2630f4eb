"""Asks the region's own services how they do: seldom, one after the other, never in anybody's way."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable
from typing import Protocol

from controller.domain import metrics
from controller.domain.cloud_facts import Agent, ComputeService, VolumeService
from controller.domain.health import ComponentHealth, ComponentKey
from controller.domain.probes import (
    APPLICATION,
    EndpointAnswer,
    Probe,
    ServiceEndpoint,
    endpoint_trouble,
    judge_agents,
    judge_compute_services,
    judge_endpoints,
    judge_volume_services,
)
from controller.domain.workload_health import Verdict
from controller.errors import CloudRefused, CloudUnavailable, ControllerError
from controller.metrics import Metrics
from controller.ports import Clock

log = logging.getLogger(__name__)

# Seconds: a round takes no longer, but for the request that is under way then.
ROUND_WITHIN = 60.0


class ProbedCloud(Protocol):
    """What probes ask of a region's OpenStack; `controller.cloud_port.Cloud` has it."""

    def compute_services(self) -> tuple[ComputeService, ...]: ...

    def network_agents(self) -> tuple[Agent, ...]: ...

    def volume_services(self) -> tuple[VolumeService, ...]: ...

    def endpoints(self) -> tuple[ServiceEndpoint, ...]:
        """The catalogue, of the interface that the credentials name."""
        ...

    def ask(self, url: str) -> int:
        """The HTTP status of a GET without credentials, seconds at the most; CloudUnavailable for none."""
        ...


class ServiceProbes:
    """One region's probes, a round every `every` seconds on a thread of its own.

    `cloud()` opens the region's OpenStack; `told()` is called when a round may have changed something.
    """

    def __init__(
        self,
        *,
        cloud: Callable[[], ProbedCloud],
        clock: Clock,
        measures: Metrics,
        told: Callable[[], None],
        every: float,
    ) -> None:
        self._cloud = cloud
        self._clock = clock
        self._measures = measures
        self._told = told
        self._every = every
        self._lock = threading.Lock()
        self._probes: dict[str, Probe] = {}
        self._next = 0.0
        self._running = False

    def components(self, wanted: Iterable[str]) -> dict[ComponentKey, ComponentHealth]:
        """The wanted probes as components, as they were last answered; begins a round where one is due."""
        now, names = self._clock.monotonic(), tuple(wanted)
        with self._lock:
            for gone in self._probes.keys() - set(names):
                del self._probes[gone]
                self._measures.forget(probe=gone)
            for name in names:
                self._probes.setdefault(name, Probe(began=now))
            due = bool(names) and not self._running and now >= self._next
            self._running = self._running or due
            shown = {name: probe.shown(now) for name, probe in self._probes.items()}
        if due:
            threading.Thread(target=self._round, args=(names,), name="probes", daemon=True).start()
        return {(APPLICATION, name): ComponentHealth(verdict, 0) for name, verdict in shown.items()}

    def due_in(self) -> float | None:
        """Seconds until the next round; None while nothing is probed or one is under way."""
        with self._lock:
            if not self._probes or self._running:
                return None
            return max(self._next - self._clock.monotonic(), 0.0)

    def _round(self, names: tuple[str, ...]) -> None:
        deadline = self._clock.monotonic() + ROUND_WITHIN
        try:
            for name in names:
                if self._clock.monotonic() < deadline:
                    self._probe(name, deadline)
                else:
                    self._note(name, "the probes before it took too long")
        finally:
            with self._lock:
                self._running = False
                self._next = self._clock.monotonic() + self._every
            self._told()

    def _probe(self, name: str, deadline: float) -> None:
        began = self._clock.monotonic()
        trouble = ""
        verdict: Verdict | None = None
        try:
            verdict = self._ask(name, self._cloud(), deadline)
        except (CloudUnavailable, CloudRefused) as error:
            trouble = str(error)
        except ControllerError as error:
            trouble = f"cannot be asked: {error}"
        self._measures.set(metrics.PROBE_DURATION, self._clock.monotonic() - began, probe=name)
        if verdict is None:
            self._note(name, trouble)
            return
        self._measures.set(metrics.PROBE_SUCCESS, float(not verdict.text), probe=name)
        with self._lock:
            if name in self._probes:
                self._probes[name] = self._probes[name].answered(verdict)

    def _note(self, name: str, trouble: str) -> None:
        log.warning("probe %s failed: %s", name, trouble, extra={"action": "probe"})
        self._measures.set(metrics.PROBE_SUCCESS, 0.0, probe=name)
        with self._lock:
            if name in self._probes:
                self._probes[name] = self._probes[name].failed(trouble)

    def _ask(self, name: str, cloud: ProbedCloud, deadline: float) -> Verdict:
        if name == "compute-services":
            return judge_compute_services(cloud.compute_services())
        if name == "network-agents":
            return judge_agents(cloud.network_agents())
        if name == "volume-services":
            return judge_volume_services(cloud.volume_services())
        return judge_endpoints(self._asked(cloud, one, deadline) for one in cloud.endpoints())

    def _asked(self, cloud: ProbedCloud, endpoint: ServiceEndpoint, deadline: float) -> EndpointAnswer:
        if self._clock.monotonic() > deadline:
            return EndpointAnswer(endpoint, "not asked: those before it took too long")
        try:
            return EndpointAnswer(endpoint, endpoint_trouble(cloud.ask(endpoint.url)))
        except CloudUnavailable as error:
            return EndpointAnswer(endpoint, str(error))
