"""What is measured of a region and its bundles is what their status says, and ends with it."""

from __future__ import annotations

from typing import Any

from controller.domain.shared import metrics
from controller.reconcile.shared.status_metrics import (
    component_series,
    measured_bundle,
    measured_maintenance,
    measured_region,
    named_region,
    node_series,
    region_series,
    secret_series,
)
from tests.fakes.metrics import FakeMetrics

MOMENT, SECONDS = "2026-01-01T00:00:00Z", 1767225600.0


def osdpl(name: str = "one", **status: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": "openstack"}, "status": status}


def test_a_condition_is_one_for_its_status_and_nought_for_the_others() -> None:
    measures = FakeMetrics()
    ready = {"type": "Ready", "status": "False", "lastTransitionTime": MOMENT}
    measured_region(measures, region_series)(None, osdpl(conditions=[ready]))
    said = {
        word: measures.value(metrics.CONDITION_STATUS, region="one", type="Ready", status=word)
        for word in ("True", "False", "Unknown")
    }
    assert said == {"True": 0, "False": 1, "Unknown": 0}
    assert measures.value(metrics.CONDITION_SINCE, region="one", type="Ready") == SECONDS


def test_a_condition_that_is_gone_is_measured_no_more() -> None:
    measures = FakeMetrics()
    seen = measured_region(measures, region_series)
    seen(None, osdpl(conditions=[{"type": "Stalled", "status": "True"}]))
    seen("MODIFIED", osdpl(conditions=[]))
    assert measures.value(metrics.CONDITION_STATUS, region="one", type="Stalled", status="True") is None


def test_the_state_and_the_progress_of_a_region() -> None:
    measures = FakeMetrics()
    seen = measured_region(measures, region_series)
    seen(None, osdpl(state="Applying", progress="3/14", openstackVersion="2025.2"))
    seen("MODIFIED", osdpl(state="Applied", progress="14/14", openstackVersion="2026.1"))
    assert list(measures.values[metrics.REGION_INFO.name]) == [
        (("openstack_version", "2026.1"), ("region", "one"), ("state", "Applied"))
    ]
    assert measures.value(metrics.REGION_RELEASES, region="one") == 14
    assert measures.value(metrics.REGION_RELEASES_DEPLOYED, region="one") == 14


def test_an_upgrade_is_measured_while_it_is_under_way() -> None:
    measures = FakeMetrics()
    seen = measured_region(measures, region_series)
    steps = [
        {"name": "identity", "state": "Done", "started": "2026-03-01T09:00:00Z"},
        {"name": "compute", "state": "Running", "started": MOMENT},
        {"name": "networking", "state": "Pending"},
    ]
    upgrade = {"from": "2025.2", "to": "2026.1", "phase": "ControlPlane", "steps": steps}
    condition = {"type": "Upgrading", "status": "True", "reason": "RegionUpgrading"}
    seen(None, osdpl(conditions=[condition], upgrade=upgrade))
    labels = {"region": "one", "source": "2025.2", "target": "2026.1", "phase": "ControlPlane"}
    assert measures.value(metrics.UPGRADE_INFO, **labels, reason="RegionUpgrading") == 1
    assert measures.value(metrics.UPGRADE_STEPS, region="one") == 3
    assert measures.value(metrics.UPGRADE_STEPS_DONE, region="one") == 1
    started = measures.values[metrics.UPGRADE_STEP_START.name]
    assert started == {(("region", "one"), ("step", "compute")): SECONDS}
    seen("MODIFIED", osdpl(conditions=[], upgrade={**upgrade, "phase": "Finished"}))
    assert measures.value(metrics.UPGRADE_INFO, **labels, reason="RegionUpgrading") is None
    assert measures.values[metrics.UPGRADE_STEP_START.name] == {}


def test_a_region_without_a_status_is_no_error() -> None:
    measures = FakeMetrics()
    for series in (component_series, secret_series, node_series):
        measured_region(measures, series)("ADDED", {"metadata": {"name": "one"}})
    assert not any(measures.values.values())
    measured_region(measures, region_series)("ADDED", {"metadata": {"name": "one"}})
    assert measures.value(metrics.REGION_RELEASES, region="one") is None


def test_components_with_their_pods() -> None:
    measures = FakeMetrics()
    entry = {"status": "Unhealthy", "ready": 1, "desired": 3}
    measured_region(measures, component_series)(None, osdpl(health={"nova": {"scheduler": entry}}))
    names = {"region": "one", "application": "nova", "component": "scheduler"}
    assert measures.value(metrics.COMPONENT_STATUS, **names, status="Unhealthy") == 1
    assert measures.value(metrics.COMPONENT_STATUS, **names, status="Ready") == 0
    assert measures.value(metrics.COMPONENT_PODS_READY, **names) == 1
    assert measures.value(metrics.COMPONENT_PODS_DESIRED, **names) == 3


def test_one_region_does_not_end_what_is_measured_of_another() -> None:
    measures = FakeMetrics()
    seen = measured_region(measures, component_series)
    seen(None, osdpl("one", health={"nova": {"api": {"status": "Ready", "ready": 1, "desired": 1}}}))
    seen(None, osdpl("two"))
    names = {"region": "one", "application": "nova", "component": "api"}
    assert measures.value(metrics.COMPONENT_PODS_READY, **names) == 1


def test_a_region_that_is_gone_is_measured_no_more() -> None:
    measures = FakeMetrics()
    seen = measured_region(measures, secret_series)
    seen(None, osdpl(secrets={"nova-credentials": {"rotated": MOMENT}}))
    assert measures.value(metrics.SECRET_ROTATED, region="one", secret="nova-credentials") == SECONDS
    seen("DELETED", osdpl())
    assert measures.values[metrics.SECRET_ROTATED.name] == {}


def test_nodes_ready_and_lost() -> None:
    measures = FakeMetrics()
    nodes = {
        "cmp1": {"state": "Ready"},
        "cmp2": {"state": "NotReady", "since": MOMENT},
        "cmp3": {"state": "Cordoned"},
        "cmp4": {"state": "Removed"},
    }
    measured_region(measures, node_series)(None, osdpl(nodes=nodes))
    ready = {name: measures.value(metrics.NODE_READY, region="one", node=name) for name in nodes}
    assert ready == {"cmp1": 1, "cmp2": 0, "cmp3": 1, "cmp4": None}


def test_hosts_locks_and_the_circuit_breaker() -> None:
    measures = FakeMetrics()
    nodes = {
        "cmp1": {"state": "Ready", "reason": "InService", "drainLocked": "2 servers are on it"},
        "ctl1": {"state": "Ready"},
    }
    seen = measured_region(measures, node_series)
    condition = {"type": "NodesReady", "status": "False", "reason": "TooManyUnhealthy"}
    seen(None, osdpl(nodes=nodes, conditions=[condition]))
    one = {"region": "one", "node": "cmp1"}
    assert measures.value(metrics.NODE_HOST, **one, reason="InService") == 1
    assert measures.value(metrics.NODE_DRAIN_LOCKED, **one) == 1
    assert len(measures.values[metrics.NODE_DRAIN_LOCKED.name]) == 1
    assert measures.value(metrics.NODES_CIRCUIT_BREAKER_OPEN, region="one") == 1
    seen(None, osdpl(nodes=nodes, conditions=[{**condition, "reason": "NodesNotReady"}]))
    assert measures.value(metrics.NODES_CIRCUIT_BREAKER_OPEN, region="one") == 0


def test_certificates_with_their_end() -> None:
    measures = FakeMetrics()
    measured_region(measures, secret_series)(None, osdpl(secrets={"public-tls": {"expires": MOMENT}}))
    assert measures.value(metrics.CERTIFICATE_EXPIRY, region="one", secret="public-tls") == SECONDS


def maintenance(phase: str, *, dry_run: bool = False, **status: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": "m1"},
        "spec": {"nodeName": "cmp1", "mode": "Migrate", "dryRun": dry_run},
        "status": {"phase": phase, **status},
    }


def test_a_maintenance_with_its_phase_and_what_is_left() -> None:
    measures = FakeMetrics()
    seen = measured_maintenance(measures)
    seen("ADDED", {"metadata": {"name": "m1"}, "spec": {"nodeName": "cmp1", "mode": "Migrate"}})
    seen("MODIFIED", maintenance("Moving", startedAt=MOMENT, progress="12/30"))
    assert measures.values[metrics.COMPUTE_MAINTENANCE.name] == {
        (("maintenance", "m1"), ("mode", "Migrate"), ("node", "cmp1"), ("phase", "Moving")): 1
    }
    names = {"maintenance": "m1", "node": "cmp1"}
    assert measures.value(metrics.COMPUTE_MAINTENANCE_START, **names) == SECONDS
    assert measures.value(metrics.COMPUTE_MAINTENANCE_LEFT, **names) == 18


def test_a_maintenance_that_is_over_or_only_tried_is_measured_no_more() -> None:
    measures = FakeMetrics()
    seen = measured_maintenance(measures)
    seen("ADDED", maintenance("Moving", startedAt=MOMENT, progress="12/30"))
    seen("DELETED", maintenance("Moving", startedAt=MOMENT, progress="12/30"))
    seen("ADDED", maintenance("Planned", dry_run=True))
    assert measures.values[metrics.COMPUTE_MAINTENANCE.name] == {}
    assert measures.values[metrics.COMPUTE_MAINTENANCE_START.name] == {}


def bundle(*releases: dict[str, Any]) -> dict[str, Any]:
    return {"metadata": {"name": "compute"}, "status": {"releases": list(releases)}}


def test_releases_of_a_bundle() -> None:
    measures = FakeMetrics()
    measured_bundle(measures)(
        None,
        bundle(
            {
                **{"name": "nova", "state": "Failed", "lastAttempt": {"failures": 4}, "bytes": 300000},
                "unlocks": 2,
                "drift": [{"object": "Deployment/nova-api", "change": "Edited"}],
            },
            {"name": "libvirt", "state": "Deployed"},
        ),
    )
    assert measures.value(metrics.RELEASE_DEPLOYED, bundle="compute", release="nova") == 0
    assert measures.value(metrics.RELEASE_DEPLOYED, bundle="compute", release="libvirt") == 1
    assert measures.value(metrics.RELEASE_FAILURES, bundle="compute", release="nova") == 4
    assert measures.value(metrics.RELEASE_SIZE, bundle="compute", release="nova") == 300000
    assert measures.value(metrics.RELEASE_UNLOCKS, bundle="compute", release="nova") == 2
    assert measures.value(metrics.RELEASE_UNLOCKS, bundle="compute", release="libvirt") == 0
    assert measures.value(metrics.DRIFT_OBJECTS, bundle="compute", release="nova") == 1
    assert measures.value(metrics.DRIFT_OBJECTS, bundle="compute", release="libvirt") == 0


def test_a_release_that_is_gone_is_forgotten_everywhere() -> None:
    measures = FakeMetrics()
    seen = measured_bundle(measures)
    seen(None, bundle({"name": "nova", "state": "Deployed"}, {"name": "libvirt", "state": "Deployed"}))
    measures.count(metrics.HELM_RETRIES, release="nova")
    seen("MODIFIED", bundle({"name": "libvirt", "state": "Deployed"}))
    assert measures.value(metrics.HELM_RETRIES, release="nova") is None
    assert measures.value(metrics.RELEASE_DEPLOYED, bundle="compute", release="libvirt") == 1
    seen("DELETED", bundle())
    assert measures.values[metrics.RELEASE_DEPLOYED.name] == {}


def test_a_release_that_goes_over_to_another_bundle_stays_measured_there() -> None:
    measures = FakeMetrics()
    seen = measured_bundle(measures)
    nova = {"name": "nova", "state": "Deployed"}
    other = {"metadata": {"name": "cloud"}, "status": {"releases": [nova]}}
    seen(None, bundle(nova))
    measures.count(metrics.HELM_RETRIES, release="nova")
    seen("ADDED", other)
    seen("MODIFIED", bundle())
    assert measures.value(metrics.RELEASE_DEPLOYED, bundle="cloud", release="nova") == 1
    assert measures.value(metrics.RELEASE_DEPLOYED, bundle="compute", release="nova") is None
    assert measures.value(metrics.HELM_RETRIES, release="nova") == 1
    seen("DELETED", other)
    assert measures.value(metrics.HELM_RETRIES, release="nova") is None


def test_what_is_counted_of_a_release_begins_with_nought() -> None:
    """An alert sees what a counter grows by: one that is born with 8 has not grown."""
    measures = FakeMetrics()
    seen = measured_bundle(measures)
    seen(None, bundle({"name": "nova", "state": "Deployed"}))
    assert measures.value(metrics.DRIFT_FOUND, release="nova") == 0
    measures.count(metrics.DRIFT_FOUND, 8, release="nova")
    seen("MODIFIED", bundle({"name": "nova", "state": "Failed"}))
    assert measures.value(metrics.DRIFT_FOUND, release="nova") == 8


def test_backups_are_measured_as_the_status_says() -> None:
    measures = FakeMetrics()
    seen = measured_region(measures, region_series)
    backup = {
        "lastGood": {"id": "x", "ended": "2026-11-26T02:00:00Z"},
        "size": 500,
        "due": "2026-11-28T02:00:00Z",
        "restorable": False,
    }
    seen(None, osdpl(backup=backup))
    values = [
        list(measures.values[metric.name].values())
        for metric in (
            metrics.BACKUP_LAST_GOOD,
            metrics.BACKUP_DUE,
            metrics.BACKUP_SIZE,
            metrics.BACKUP_RESTORABLE,
        )
    ]
    assert values == [[1795658400.0], [1795831200.0], [500.0], [0.0]]
    seen("MODIFIED", osdpl())
    assert measures.values[metrics.BACKUP_DUE.name] == {}


def test_the_name_of_all_measures_is_that_of_the_oldest_region() -> None:
    names: list[str] = []
    seen = named_region(names.append)

    def obj(name: str, created: str) -> dict[str, Any]:
        return {"metadata": {"name": name, "creationTimestamp": created}}

    seen("ADDED", obj("second", "2026-03-01T10:00:00Z"))
    seen(None, obj("first", "2026-03-01T09:00:00Z"))
    seen("MODIFIED", obj("second", "2026-03-01T10:00:00Z"))
    assert names == ["second", "first", "first"]
    seen("DELETED", obj("first", "2026-03-01T09:00:00Z"))
    assert names[-1] == "second"
    seen("DELETED", obj("second", "2026-03-01T10:00:00Z"))
    assert len(names) == 4
