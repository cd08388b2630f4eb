"""What a region's own services say of themselves, judged as components of its health. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from controller.domain.cloud_facts import Agent, ComputeService, VolumeService
from controller.domain.workload_health import Health, Verdict

# The application under which probes stand in `status.health`.
APPLICATION = "probes"
SHOWN = 5
# A service that does not answer once may just be restarting.
FAILURES = 2
# As long as a workload may take to come up.
FIRST_ANSWER_WITHIN = 600.0


@dataclass(frozen=True, slots=True)
class ServiceEndpoint:
    """One endpoint of the catalogue: the type of the service, and where it is said to be."""

    service: str
    url: str


@dataclass(frozen=True, slots=True)
class EndpointAnswer:
    """What came of asking an endpoint; `wrong` is empty when it answered as a service does."""

    endpoint: ServiceEndpoint
    wrong: str = ""


@dataclass(frozen=True)
class Probe:
    """One probe over time, times in seconds of any steady clock. `trouble` is why the last one failed."""

    began: float
    verdict: Verdict | None = None
    failures: int = 0
    trouble: str = ""

    def answered(self, verdict: Verdict) -> Probe:
        """The probe after it was answered."""
        return replace(self, verdict=verdict, failures=0, trouble="")

    def failed(self, trouble: str) -> Probe:
        """The probe after it was not."""
        return replace(self, failures=self.failures + 1, trouble=trouble)

    def shown(self, now: float) -> Verdict:
        """What to say of it: one failure is forgiven, and the first answer is waited for."""
        if self.verdict is not None and self.failures < FAILURES:
            return self.verdict
        ready, desired = 0, self.verdict.desired if self.verdict else 1
        if self.verdict is None and now - self.began < FIRST_ANSWER_WITHIN:
            return Verdict(Health.PROGRESSING, ready, desired, self.trouble or "has not been asked yet")
        return Verdict(Health.UNHEALTHY, ready, desired, f"does not answer: {self.trouble}")


def judge_compute_services(services: Iterable[ComputeService]) -> Verdict:
    """Enabled nova-computes that are up, of all enabled ones: who disabled one knows of it."""
    asked = [one for one in services if one.enabled]
    return _of("compute services", len(asked), [one.host for one in asked if not one.up])


def judge_agents(agents: Iterable[Agent]) -> Verdict:
    """Network agents that are alive, of those not switched off."""
    asked = [one for one in agents if one.enabled]
    return _of("network agents", len(asked), [f"{one.kind} on {one.host}" for one in asked if not one.alive])


def judge_volume_services(services: Iterable[VolumeService]) -> Verdict:
    """Services of Cinder that are up, of the enabled ones."""
    asked = [one for one in services if one.enabled]
    return _of("volume services", len(asked), [f"{one.binary} {one.name}" for one in asked if not one.up])


def judge_endpoints(answers: Iterable[EndpointAnswer]) -> Verdict:
    """Endpoints of the catalogue that answer."""
    asked = list(answers)
    lost = [f"{one.endpoint.service} {one.endpoint.url}: {one.wrong}" for one in asked if one.wrong]
    return _of("endpoints", len(asked), lost, word="without a proper answer")


def endpoint_trouble(status: int) -> str:
    """What is wrong with an answer of this HTTP status to a request without credentials.

    A service refuses it (401, 403), shows its versions (200, 300) or finds no resource of that name in a
    path with a project's id; what stands before a service that is gone answers 404 at its root or 5xx.
    """
    return f"HTTP {status}" if status >= 500 or status == 404 else ""


def probes_for(releases: Mapping[str, bool]) -> tuple[str, ...]:
    """Which probes the deployed releases can answer; `releases` says of each whether it is deployed."""
    if not releases.get("keystone"):
        return ()
    wanted = {"compute-services": "nova", "network-agents": "neutron", "volume-services": "cinder"}
    return ("endpoints", *(name for name, release in wanted.items() if releases.get(release)))


def _of(what: str, asked: int, lost: Sequence[str], *, word: str = "down") -> Verdict:
    ready = asked - len(lost)
    if not lost:
        return Verdict(Health.READY, ready, asked)
    shown = ", ".join(sorted(lost)[:SHOWN])
    more = f" and {len(lost) - SHOWN} more" if len(lost) > SHOWN else ""
    return Verdict(Health.UNHEALTHY, ready, asked, f"{len(lost)} of {asked} {what} {word}: {shown}{more}")
