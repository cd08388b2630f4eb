"""Probes: a round at a time, off the reconciler's thread, seldom, and with an end."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Any

import pytest

from controller.domain.health.probes import CONTROL, FIRST_ANSWER_WITHIN, Probed, ServiceEndpoint
from controller.domain.health.workload_health import Health, WorkloadHealth
from controller.domain.shared import metrics
from controller.domain.shared.cloud_facts import Agent, ComputeService, ControlService, VolumeService
from controller.errors import CloudUnavailable, KubeError
from controller.reconcile.health.probes import MISSED, ROUND_WITHIN, ServiceProbes
from tests.fakes.metrics import FakeMetrics
from tests.fakes.world import FakeClock

DEADLINE = 60.0
ALL = ("endpoints", "compute-services", "network-agents", "volume-services")
URLS = ("http://keystone/v3", "http://nova/v2.1")


def want(*names: str, **quorums: WorkloadHealth) -> Probed:
    return Probed(dict.fromkeys(names or ALL, 1), quorums)


@dataclass
class _Cloud:
    """A region's OpenStack; `statuses` by URL, `slow` seconds pass with each request."""

    clock: FakeClock
    statuses: dict[str, int] = field(default_factory=lambda: dict.fromkeys(URLS, 200))
    up: bool = True
    slow: float = 0.0
    asked: list[str] = field(default_factory=list)
    away: bool = False
    volumes: tuple[VolumeService, ...] = (VolumeService("cinder-volume", "ctl1@ceph", True, True),)
    hangs: threading.Event | None = None
    broken: bool = False

    def _ask(self, what: str) -> None:
        self.asked.append(what)
        self.clock.advance(self.slow)
        if self.away:
            raise CloudUnavailable("compute GET /os-services: 503")

    def compute_services(self) -> tuple[ComputeService, ...]:
        self._ask("compute")
        if self.broken:
            raise KeyError("host")
        return (ComputeService("1", "cmp1", enabled=True, up=self.up),)

    def compute_control(self) -> tuple[ControlService, ...]:
        return tuple(ControlService(binary, "ctl1", enabled=True, up=True) for binary in CONTROL)

    def network_agents(self) -> tuple[Agent, ...]:
        self._ask("network")
        return (Agent("1", "net1", "L3 agent", alive=True),)

    def volume_services(self) -> tuple[VolumeService, ...]:
        self._ask("volume")
        if self.hangs:
            self.hangs.wait(DEADLINE)
        return self.volumes

    def endpoints(self) -> tuple[ServiceEndpoint, ...]:
        self._ask("catalogue")
        return tuple(ServiceEndpoint("service", url) for url in self.statuses)

    def ask(self, url: str) -> int:
        self._ask(url)
        if not self.statuses[url]:
            raise CloudUnavailable("ConnectFailure")
        return self.statuses[url]


@dataclass
class _Region:
    """One region's probes, and how to wait for the end of a round."""

    clock: FakeClock
    cloud: _Cloud
    measures: FakeMetrics
    probes: ServiceProbes
    told: threading.Event
    open_error: list[Exception]
    status: dict[str, Any] = field(default_factory=dict)

    def round(self, *names: str) -> dict[str, tuple[Health, str]]:
        """What is shown after one more round."""
        self.told.clear()
        self.probes.components(want(*names), self.status)
        assert self.told.wait(DEADLINE)
        return self.shown(*names)

    def shown(self, *names: str) -> dict[str, tuple[Health, str]]:
        """What is shown now; a round begins where one is due."""
        shown = self.probes.components(want(*names), self.status)
        return {name: (one.verdict.health, one.verdict.text) for (_, name), one in shown.items()}


@pytest.fixture
def region() -> _Region:
    clock, measures, told = FakeClock(), FakeMetrics(), threading.Event()
    cloud, errors = _Cloud(clock), list[Exception]()

    def open_cloud() -> _Cloud:
        if errors:
            raise errors[0]
        return cloud

    probes = ServiceProbes(cloud=open_cloud, clock=clock, measures=measures, changed=told.set, every=60)
    return _Region(clock, cloud, measures, probes, told, errors)


def test_a_region_that_is_well(region: _Region) -> None:
    assert region.round() == dict.fromkeys(ALL, (Health.READY, ""))
    assert {name: region.measures.value(metrics.PROBE_SUCCESS, probe=name) for name in ALL} == dict.fromkeys(
        ALL, 1
    )


def test_a_service_that_is_down_is_reported(region: _Region) -> None:
    region.cloud.up = False
    assert region.round()["compute-services"] == (
        Health.UNHEALTHY,
        "1 of 1 compute services down: cmp1",
    )
    assert region.measures.value(metrics.PROBE_SUCCESS, probe="compute-services") == 0


def test_an_endpoint_that_cannot_be_reached_is_reported(region: _Region) -> None:
    region.cloud.statuses[URLS[1]] = 0
    assert region.round()["endpoints"] == (
        Health.UNHEALTHY,
        "1 of 2 endpoints without a valid answer: service http://nova/v2.1: ConnectFailure",
    )


def test_nothing_is_asked_again_before_its_time(region: _Region) -> None:
    region.round()
    asked = len(region.cloud.asked)
    region.clock.advance(59)
    region.shown()
    assert len(region.cloud.asked) == asked
    assert region.probes.due_in() == pytest.approx(1.0)
    region.clock.advance(2)
    region.round()
    assert len(region.cloud.asked) == 2 * asked


def test_a_cloud_that_is_away_twice_is_unhealthy_and_heals(region: _Region) -> None:
    region.round()
    region.cloud.away = True
    region.clock.advance(61)
    assert region.round()["compute-services"] == (Health.READY, "")
    region.clock.advance(61)
    assert region.round()["compute-services"] == (
        Health.UNHEALTHY,
        "does not answer: compute GET /os-services: 503",
    )
    region.cloud.away = False
    region.clock.advance(61)
    assert region.round()["compute-services"] == (Health.READY, "")


def test_a_round_has_an_end_however_slow_the_services(region: _Region) -> None:
    region.round()
    region.clock.advance(61)
    region.cloud.slow = ROUND_WITHIN
    region.cloud.asked.clear()
    region.round()
    assert region.cloud.asked == ["catalogue", URLS[0]]


def test_without_credentials_it_is_on_its_way(region: _Region) -> None:
    region.open_error.append(CloudUnavailable('there is no Secret "openstack-clouds"'))
    assert region.round("endpoints") == {
        "endpoints": (Health.PROGRESSING, 'there is no Secret "openstack-clouds"')
    }


def test_an_api_server_that_is_away_does_not_end_the_probes(region: _Region) -> None:
    region.open_error.append(KubeError("no answer"))
    region.round("endpoints")
    region.open_error.clear()
    region.clock.advance(61)
    assert region.round("endpoints") == {"endpoints": (Health.READY, "")}


def test_what_comes_to_be_asked_is_asked_at_once(region: _Region) -> None:
    region.round("endpoints")
    region.clock.advance(5)
    assert region.round("endpoints", "compute-services")["compute-services"] == (Health.READY, "")


def test_what_comes_to_be_asked_during_a_round_is_asked_right_after_it(region: _Region) -> None:
    region.cloud.hangs = threading.Event()
    region.shown("volume-services")
    region.shown("volume-services", "compute-services")
    region.cloud.hangs.set()
    assert region.told.wait(DEADLINE)
    assert region.probes.due_in() == 0.0


def test_one_thread_asks_forever(region: _Region) -> None:
    threads = set()
    ask = region.cloud._ask

    def noted(what: str) -> None:
        threads.add(threading.get_ident())
        ask(what)

    region.cloud._ask = noted  # type: ignore[method-assign]
    for _ in range(5):
        region.round()
        region.clock.advance(61)
    assert len(threads) == 1


def test_what_is_not_wanted_any_more_is_not_shown_any_more(region: _Region) -> None:
    region.round()
    assert set(region.shown("endpoints")) == {"endpoints"}
    assert region.measures.value(metrics.PROBE_SUCCESS, probe="compute-services") is None
    assert region.probes.components(Probed({}, {}), {}) == {}
    assert region.probes.due_in() is None


@pytest.mark.parametrize("away", [True, False])
def test_what_is_answered_after_the_region_is_gone_is_not_measured(region: _Region, away: bool) -> None:
    region.cloud.hangs = threading.Event()
    region.shown()
    region.probes.end()
    region.cloud.away = away
    region.cloud.hangs.set()
    assert region.told.wait(DEADLINE)
    assert region.measures.values[metrics.PROBE_SUCCESS.name] == {}
    assert region.measures.values[metrics.PROBE_DURATION.name] == {}


def test_an_answer_that_cannot_be_read_is_the_trouble_of_its_own_probe(region: _Region) -> None:
    region.round()
    region.cloud.broken = True
    for _ in range(2):
        region.clock.advance(61)
        shown = region.round()
    assert shown.pop("compute-services") == (Health.UNHEALTHY, "does not answer: cannot be probed: KeyError")
    assert {health for health, _ in shown.values()} == {Health.READY}


def test_what_was_not_asked_for_long_is_unknown(region: _Region) -> None:
    region.round()
    region.cloud.hangs = threading.Event()
    region.clock.advance(61)
    region.told.clear()
    region.shown()
    stale_after = MISSED * 60 + ROUND_WITHIN
    due = region.probes.due_in()
    assert due is not None
    assert due <= stale_after + 1
    region.clock.advance(stale_after + 1)
    shown = region.shown()
    assert shown["volume-services"] == (
        Health.UNKNOWN,
        f"was not probed for more than {stale_after:.0f} s; see the log of container health",
    )
    assert region.measures.value(metrics.PROBE_SUCCESS, probe="volume-services") == 0
    region.cloud.hangs.set()
    assert region.told.wait(DEADLINE)
    assert region.shown()["volume-services"][0] == Health.READY


def test_services_that_never_register_are_waited_for_and_then_missed(region: _Region) -> None:
    region.cloud.volumes = ()
    none = "none of the volume services has registered, 1 are expected"
    assert region.round()["volume-services"] == (Health.PROGRESSING, none)
    region.clock.advance(FIRST_ANSWER_WITHIN)
    assert region.round()["volume-services"] == (Health.UNHEALTHY, none)


def test_after_a_restart_what_the_status_says_is_believed_until_it_is_asked_again(region: _Region) -> None:
    region.status = {
        "endpoints": {"status": "Ready", "ready": 2, "desired": 2},
        "compute-services": {"status": "Unhealthy", "ready": 0, "desired": 1, "message": "1 of 1 down"},
    }
    region.cloud.hangs = threading.Event()
    shown = region.shown("volume-services", "endpoints", "compute-services")
    assert shown["endpoints"] == (Health.READY, "")
    assert shown["compute-services"] == (Health.UNHEALTHY, "1 of 1 down")
    region.cloud.hangs.set()
    assert region.told.wait(DEADLINE)
    assert region.shown("volume-services", "compute-services")["compute-services"] == (Health.READY, "")


def test_a_quorum_is_shown_and_measured_beside_what_is_asked(region: _Region) -> None:
    lost = WorkloadHealth(Health.UNHEALTHY, 1, 3, "1 of 3 members ready")
    shown = region.probes.components(want("endpoints", database=lost), {})
    assert shown["probes", "database"].verdict == lost
    assert region.measures.value(metrics.PROBE_SUCCESS, probe="database") == 0
    region.probes.components(want("endpoints"), {})
    assert region.measures.value(metrics.PROBE_SUCCESS, probe="database") is None


def test_a_thread_that_cannot_be_started_does_not_end_probing(
    region: _Region, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_thread(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", no_thread)
        region.shown()
    assert region.probes.due_in() == 60
    region.clock.advance(60)
    assert region.round() == dict.fromkeys(ALL, (Health.READY, ""))
