"""Probes of a region's own services, judged as components of its health. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlsplit

from controller.domain.health.quorum import describe, has_quorum
from controller.domain.health.region_health import Facts
from controller.domain.health.workload_health import (
    WORSE,
    Health,
    WorkloadHealth,
    quorum_group,
)
from controller.domain.health.workloads import Workload
from controller.domain.shared.cloud_facts import Agent, ComputeService, ControlService, VolumeService

# The application of probes in `status.health`.
APPLICATION = "probes"
SHOWN = 5
# A service that does not answer once may be restarting.
FAILURES = 2
# The same time as for a workload to become ready.
FIRST_ANSWER_WITHIN = 600.0
# Of these Nova needs one each.
CONTROL = ("nova-conductor", "nova-scheduler")
# The probes that are judged by the pods of all members, and the release of each.
QUORUMS = {"database": "mariadb", "message-broker": "rabbitmq"}


@dataclass(frozen=True, slots=True)
class ServiceEndpoint:
    """One endpoint of the catalogue: the type of the service, and its address."""

    service: str
    url: str


@dataclass(frozen=True, slots=True)
class EndpointAnswer:
    """The result of a request to an endpoint; `wrong` is empty if it answered like a service."""

    endpoint: ServiceEndpoint
    wrong: str = ""


@dataclass(frozen=True)
class Probe:
    """One probe over time, in seconds of any monotonic clock.

    Until `patient` it may become ready for the first time. `heard`: its last request, or the time since when
    it is desired. `error` is why the last one failed.
    """

    patient: float
    heard: float
    verdict: WorkloadHealth | None = None
    failures: int = 0
    error: str = ""

    def answered(self, verdict: WorkloadHealth, now: float) -> Probe:
        """The probe after an answer. A healthy one that now lacks something may be growing."""
        patient = now if verdict.health != Health.PROGRESSING else self.patient
        if verdict.health == Health.PROGRESSING and self.verdict and self.verdict.health == Health.READY:
            patient = now + FIRST_ANSWER_WITHIN
        return replace(self, patient=patient, heard=now, verdict=verdict, failures=0, error="")

    def failed(self, failure: str, now: float) -> Probe:
        """The probe after a failure."""
        return replace(self, heard=now, failures=self.failures + 1, error=failure)

    def shown(self, now: float, *, stale_after: float) -> WorkloadHealth:
        """Its verdict: one failure is tolerated, the first answer has time, and after `stale_after` seconds
        without a request it is unknown."""
        verdict, waiting = self.verdict, now < self.patient
        desired = verdict.desired if verdict else 1
        if now - self.heard > stale_after:
            text = f"was not probed for more than {stale_after:.0f} s; see the log of container health"
            return WorkloadHealth(Health.UNKNOWN, 0, desired, text)
        if verdict is not None and self.failures < FAILURES:
            overdue = verdict.health == Health.PROGRESSING and not waiting
            return replace(verdict, health=Health.UNHEALTHY) if overdue else verdict
        if waiting:
            return WorkloadHealth(Health.PROGRESSING, 0, desired, self.error or "was not probed yet")
        return WorkloadHealth(Health.UNHEALTHY, 0, desired, f"does not answer: {self.error}")


def new_probe(now: float, entry: Mapping[str, Any]) -> Probe:
    """A probe that is desired from now on.

    `entry` is its entry in the status, or empty. An answer from before a restart counts until the next
    request.
    """
    status = str(entry.get("status") or "")
    if status not in (Health.READY, Health.UNHEALTHY):
        return Probe(patient=now + FIRST_ANSWER_WITHIN, heard=now)
    ready, desired = int(entry.get("ready") or 0), int(entry.get("desired") or 0)
    known = WorkloadHealth(Health(status), ready, desired, str(entry.get("message") or ""))
    return Probe(patient=now, heard=now, verdict=known)


def judge_compute_services(
    services: Iterable[ComputeService], control: Iterable[ControlService], expected: int
) -> WorkloadHealth:
    """Enabled nova-computes that are up, of all enabled ones; a disabled one is intended.

    `expected`: the number by their pods. Of `control`, one of each kind must be up, because a replaced pod
    leaves an entry that stays down.
    """
    known = list(services)
    lost = [one.host for one in known if one.enabled and not one.up]
    verdict = _registered("compute services", [one.enabled for one in known], lost, expected)
    there = list(control)
    serving = {one.binary for one in there if one.enabled and one.up}
    if missing := [f"no {binary} is up" for binary in CONTROL if binary not in serving]:
        # A registered service that is down is lost; an unregistered one may still be starting.
        lost_one = any(one.binary not in serving for one in there)
        health = (
            Health.UNHEALTHY if lost_one else max(verdict.health, Health.PROGRESSING, key=WORSE.__getitem__)
        )
        text = "; ".join(
            filter(None, ("no server can be created or moved: " + ", ".join(missing), verdict.text))
        )
        return replace(verdict, health=health, text=text)
    return verdict


def judge_agents(agents: Iterable[Agent], expected: int) -> WorkloadHealth:
    """Network agents that are alive, of the enabled ones. `expected` as for compute services."""
    known = list(agents)
    lost = [f"{one.kind} on {one.host}" for one in known if one.enabled and not one.alive]
    return _registered("network agents", [one.enabled for one in known], lost, expected)


def judge_volume_services(services: Iterable[VolumeService], expected: int) -> WorkloadHealth:
    """Services of Cinder that are up, of the enabled ones.

    `expected`: as for compute services, but all pods of a backend may register as one service, so it counts
    only while there is none.
    """
    known = list(services)
    lost = [f"{one.binary} {one.name}" for one in known if one.enabled and not one.up]
    least = expected if not known else 1
    return _registered("volume services", [one.enabled for one in known], lost, least)


@dataclass(frozen=True)
class Releases:
    """A region's releases by name, and their Services as `name.namespace`, or none if they are unknown."""

    names: frozenset[str] = frozenset()
    services: frozenset[str] = frozenset()

    def have_left(self, endpoint: ServiceEndpoint) -> bool:
        """Whether the endpoint belongs to a removed release, according to its address.

        Keystone keeps the endpoints of a removed service, as the database keeps its data.
        """
        try:
            host = urlsplit(endpoint.url).hostname or ""
        except ValueError:
            return False
        name, namespace, *rest = [*host.split("."), "", ""]
        ours = rest[0] == "svc" and namespace in {one.partition(".")[2] for one in self.services}
        of_one = any(f"{name}-".startswith(f"{release}-") for release in self.names)
        return ours and f"{name}.{namespace}" not in self.services and not of_one


UNKNOWN_RELEASES = Releases()


def judge_endpoints(
    answers: Iterable[EndpointAnswer], releases: Releases = UNKNOWN_RELEASES
) -> WorkloadHealth:
    """Endpoints of the catalogue that answer. Those of a removed service need not answer."""
    heard = list(answers)
    gone = [one.endpoint for one in heard if one.wrong and releases.have_left(one.endpoint)]
    asked = [one for one in heard if one.endpoint not in gone]
    if not asked:
        return WorkloadHealth(Health.UNHEALTHY, 0, 1, "the catalogue has no endpoint")
    lost = [f"{one.endpoint.service} {one.endpoint.url}: {one.wrong}" for one in asked if one.wrong]
    verdict = _of("endpoints", len(asked), lost, word="without a valid answer")
    names = ", ".join(sorted({one.service for one in gone})[:SHOWN])
    left = f"the catalogue still has endpoints of removed services: {names}" if gone else ""
    return replace(verdict, text="; ".join(filter(None, (verdict.text, left))))


def endpoint_error(status: int) -> str:
    """The problem with an answer of this HTTP status to a request without credentials.

    A service refuses it (401, 403), shows its versions (200, 300) or finds no resource in a path with a
    project's id. A proxy in front of a missing service answers 404 at its root, or 5xx.
    """
    return f"HTTP {status}" if status >= 500 or status == 404 else ""


@dataclass(frozen=True)
class Probed:
    """The probes of a region: those that are `asked`, each with the expected number, and `quorums` by the
    probe's name, from their members' pods. `releases`: those that can be probed."""

    asked: Mapping[str, int]
    quorums: Mapping[str, WorkloadHealth]
    releases: Releases = UNKNOWN_RELEASES


def probed(facts: Facts) -> Probed:
    """The probes of releases that were deployed once, whatever happens to them now, except those without any
    pod to answer."""
    served = {name for name, release in facts.releases.items() if release.deployed or name in facts.manifests}
    asked: dict[str, int] = {}
    if "keystone" in served:
        asked = {"endpoints": 1}
        for name, (release, answers) in _ANSWERING.items():
            if release in served:
                asked[name] = sum(
                    one.rollout.desired for one in facts.workloads if not one.off and answers(one)
                )
    quorums = {
        name: verdict
        for name, release in QUORUMS.items()
        if release in served
        for verdict in _quorums(release, facts)
    }
    services: frozenset[str] = frozenset()
    if served <= facts.manifests.keys():
        services = services.union(*(facts.manifests[name].services for name in served))
    releases = Releases(frozenset(facts.releases), services)
    return Probed({name: count for name, count in asked.items() if count}, quorums, releases)


# By probe: the required release, and the workloads whose pods register with its API.
_ANSWERING: Mapping[str, tuple[str, Callable[[Workload], bool]]] = {
    "compute-services": (
        "nova",
        lambda one: one.release == "nova" and one.kind != "Job" and one.component.startswith("compute"),
    ),
    "network-agents": (
        "neutron",
        lambda one: (
            # Agents of BGP and VPN report differently with some of their drivers.
            (
                one.kind == "DaemonSet"
                and one.release == "neutron"
                and "agent" in one.component
                and not any(word in one.component for word in ("bgp", "vpn"))
            )
            or (one.release == "ovn" and one.component == "ovn-controller")
        ),
    ),
    "volume-services": (
        "cinder",
        lambda one: (
            one.release == "cinder"
            and one.kind != "Job"
            and one.component in ("volume", "scheduler", "backup")
        ),
    ),
}


def _quorums(release: str, facts: Facts) -> Iterable[WorkloadHealth]:
    """The verdict on the members of a release with a majority; none for a single server.

    A member counts by its pod's readiness, because the charts' readiness probes ask the server itself. A
    Galera server is ready while it belongs to the primary component (wsrep_ready), a RabbitMQ node while its
    broker runs. Running nodes that are cut off from each other are not detected.
    """
    for one in facts.workloads:
        if one.release != release or one.off:
            continue
        group = quorum_group(one, facts.pods.get((one.kind, one.name), ()))
        if group is None:
            continue
        ready = sum(member.ready for member in group.members)
        if has_quorum(group):
            yield WorkloadHealth(
                Health.READY, ready, group.size, describe(group) if ready < group.size else ""
            )
            continue
        new = facts.now - one.started < facts.progress_deadline
        text = f"{describe(group)}: there is no majority"
        yield WorkloadHealth(Health.PROGRESSING if new else Health.UNHEALTHY, ready, group.size, text)


def _registered(what: str, enabled: Sequence[bool], lost: Sequence[str], expected: int) -> WorkloadHealth:
    """Services that register with an API: without any, they may still be starting."""
    if not enabled:
        return WorkloadHealth(
            Health.PROGRESSING, 0, expected, f"none of the {what} has registered, {expected} are expected"
        )
    missing = expected - len(enabled)
    if missing > 0 and not lost:
        text = f"only {len(enabled)} of the {what} have registered, {expected} are expected"
        return WorkloadHealth(Health.PROGRESSING, sum(enabled), sum(enabled) + missing, text)
    if not any(enabled):
        text = f"all {len(enabled)} {what} are disabled, so they get no new resources"
        return WorkloadHealth(Health.READY, 0, 0, text)
    return _of(what, sum(enabled), lost)


def _of(what: str, asked: int, lost: Sequence[str], *, word: str = "down") -> WorkloadHealth:
    ready = asked - len(lost)
    if not lost:
        return WorkloadHealth(Health.READY, ready, asked)
    shown = ", ".join(sorted(lost)[:SHOWN])
    more = f" and {len(lost) - SHOWN} more" if len(lost) > SHOWN else ""
    return WorkloadHealth(
        Health.UNHEALTHY, ready, asked, f"{len(lost)} of {asked} {what} {word}: {shown}{more}"
    )
