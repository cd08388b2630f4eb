"""What `osctl status` says of a region."""

from __future__ import annotations

import io
from typing import Any

from rich.console import Console

from controller.cli.views.readiness import RegionOutcome
from controller.cli.views.status import as_data, find_setting, region_view
from controller.cli.views.status_display import print_view
from controller.domain.region.facts import RegionFacts, SilentContainers
from controller.domain.region.progress import RegionProgress
from controller.domain.region.status.ready import ready_condition
from tests.cli.objects import bundle, condition, region, release

NOW = 1_772_357_400.0  # 2026-03-01T09:30:00Z
READY = condition("Ready", "True", "RegionReady", "done")
SICK = condition("Ready", "False", "WorkloadsFailing", "nova-scheduler 0/2: CrashLoopBackOff")


def screen(osdpl: dict[str, Any], *bundles: dict[str, Any]) -> str:
    console = Console(file=io.StringIO(), width=200)
    print_view(console, region_view(osdpl, bundles, NOW))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_a_ready_region_has_a_header_and_no_cause():
    lines = screen(
        region(READY, state="Applied", progress="1/1"), bundle("identity", release("keystone", "Deployed"))
    ).splitlines()
    assert lines[0] == "region-one  2026.1  core/single  Applied  releases 1/1  Ready: True"
    assert lines[1] == ""
    assert lines[2].split() == ["SERVICE", "VERSION", "RELEASES", "HEALTH", "NOTE"]
    assert lines[3].split() == ["identity", "-", "keystone", "✓", "-"]


def test_the_error_of_a_release_is_the_cause_and_comes_before_the_table():
    text = screen(
        region(condition("Ready", "False", "ReleasesFailing", "compute: nova Failed (no image)")),
        bundle("compute", release("nova", "Failed", lastAttempt={"error": "no image", "failures": 2})),
    )
    assert text.index("nova: no image") < text.index("SERVICE")
    assert "nova failed 2 times" in text


def test_a_sick_component_is_counted_named_and_the_cause():
    health = {
        "nova": {
            "nova-api": {"status": "Ready", "ready": 2, "desired": 2},
            "nova-scheduler": {
                "status": "Unhealthy",
                "ready": 0,
                "desired": 2,
                "message": "CrashLoopBackOff",
            },
        }
    }
    view = region_view(region(SICK, health=health), [bundle("compute", release("nova", "Deployed"))], NOW)
    assert [cause.message for cause in view.causes] == ["nova-scheduler 0/2: CrashLoopBackOff"]
    (line,) = view.services
    assert (line.ready, line.components, line.note) == (1, 2, "nova-scheduler")


def test_the_field_that_set_a_quoted_value_is_named():
    spec = {
        "services": {"compute": {"nova": {"values": {"conf": {"enabled_filters": ["FooFilter", "Bar"]}}}}}
    }
    assert (
        find_setting(spec, "ERROR: Could not load 'FooFilter'")
        == "spec.services.compute.nova.values.conf.enabled_filters"
    )


def test_a_value_that_stands_in_several_places_accuses_none():
    spec = {"services": {"a": {"b": {"values": {"x": "FooFilter", "y": "FooFilter"}}}}}
    assert find_setting(spec, 'no "FooFilter"') == ""


def test_main_fields_are_no_suspects():
    assert find_setting({"preset": "core", "region": "RegionOne"}, 'chart "core" of "RegionOne"') == ""


def test_many_causes_are_cut_with_their_number():
    failed = [release(f"r{n}", "Failed", lastAttempt={"error": "no"}) for n in range(8)]
    view = region_view(region(condition("Ready", "False", "ReleasesFailing")), [bundle("x", *failed)], NOW)
    assert len(view.causes) == 6
    assert view.causes[-1].message == "and 3 more"


def test_a_region_that_is_not_watched_says_so():
    fresh = region(observed=0)
    fresh["metadata"]["creationTimestamp"] = "2026-03-01T09:00:00Z"
    view = region_view(fresh, [], NOW)
    assert view.outcome == RegionOutcome.PENDING
    assert "no controller has observed it" in view.causes[0].message


def test_an_invalid_spec_shows_each_mistake_on_a_line_of_its_own():
    bad = region(
        condition("Ready", "False", "SpecInvalid", "spec.a: wrong; do b\nspec.c: wrong"),
        condition("Stalled", "True", "SpecInvalid"),
    )
    assert [cause.message for cause in region_view(bad, [], NOW).causes] == [
        "spec.a: wrong; do b",
        "spec.c: wrong",
    ]


PULLING = {"nova": {"api": {"status": "Unhealthy", "ready": 0, "desired": 2, "message": "ImagePullBackOff"}}}


def causes(*conditions: dict[str, Any], bundles: tuple[dict[str, Any], ...] = ()) -> list[str]:
    """Of a region with these conditions whose nova-api is sick."""
    found = region_view(region(*conditions, health=PULLING), bundles, NOW).causes
    return [cause.message for cause in found]


def test_a_mistake_in_the_spec_is_reported_before_what_is_sick():
    invalid = condition("Ready", "False", "SpecInvalid", "spec.services.compute.nvoa: no such release")
    assert causes(invalid, condition("Stalled", "True", "SpecInvalid")) == [
        "spec.services.compute.nvoa: no such release",
        "nova-api 0/2: ImagePullBackOff",
    ]


def test_nodes_that_are_not_ready_are_reported_before_what_is_sick():
    nodes = condition("Ready", "False", "NodesNotReady", "cmp1: KubeletStopped")
    assert causes(nodes) == ["cmp1: KubeletStopped", "nova-api 0/2: ImagePullBackOff"]


def test_what_a_container_said_before_it_fell_silent_is_marked_as_old():
    facts = RegionFacts(
        name="region-one",
        generation=1,
        version="1",
        openstack_version="2026.1",
        fingerprint="f",
        containers=("core", "health"),
        before={},
        bundles=(),
        silence=SilentContainers(frozenset({"health"})),
    )
    ready = ready_condition(facts, RegionProgress(done=1, total=1, current=True))
    assert causes(condition("Ready", ready.status, str(ready.reason), ready.message)) == [
        ready.message,
        "nova-api 0/2: ImagePullBackOff (last report of health, which is silent)",
    ]


def test_a_silent_container_is_reported_beside_what_releases_fail_at():
    silence = "no sign of life or progress from helmbundle (ReleasesReady): may be out of date"
    failing = condition("Ready", "False", "ReleasesFailing", f"compute: nova Failed (no image); {silence}")
    failed = bundle("compute", release("nova", "Failed", lastAttempt={"error": "no image"}))
    assert causes(failing, bundles=(failed,)) == [
        silence,
        "nova: no image (last report of helmbundle, which is silent)",
        "nova-api 0/2: ImagePullBackOff",
    ]


def test_secrets_show_what_expires_next():
    secrets = {"tls": {"expires": "2026-03-22T09:30:00Z"}, "old": {"expires": "2027-03-22T09:30:00Z"}}
    assert region_view(region(READY, secrets=secrets), [], NOW).secrets == "2 kept; tls expires in 21 d"


def test_nodes_are_counted_by_state_and_the_busy_ones_explained():
    nodes = {
        "cmp1": {"state": "Ready"},
        "cmp2": {"state": "Ready"},
        "cmp7": {"state": "Maintenance", "message": "migrating 12/30"},
    }
    found = region_view(region(READY, nodes=nodes), [], NOW).nodes
    assert found == "2 ready, 1 maintenance (cmp7: migrating 12/30)"


def test_nodes_whose_compute_no_one_can_see_are_not_just_ready():
    silent = {"state": "Ready", "reason": "CloudUnknown", "message": "no answer from https://nova"}
    nodes = {"ctl1": {"state": "Ready"}, "cmp1": silent, "cmp2": silent}
    found = region_view(region(READY, nodes=nodes), [], NOW).nodes
    assert found == "3 ready; the state of 2 compute hosts is not known: no answer from https://nova"


def test_warnings_of_a_valid_spec_are_shown():
    valid = condition("SpecValid", "True", "SpecAccepted", "a DaemonSet is renamed")
    assert "warning: a DaemonSet is renamed" in screen(region(READY, valid))


def test_the_view_as_data_is_plain():
    data = as_data(
        region_view(region(SICK), [bundle("compute", release("nova", "Deployed", revision=3))], NOW)
    )
    assert data["ready"] is False
    assert data["services"][0]["releases"] == [
        {"name": "nova", "state": "installed", "revision": 3, "message": ""}
    ]


def test_what_ready_lists_in_one_message_becomes_a_cause_each():
    pending = condition("Ready", "False", "ReleasesPending", "identity: keystone Waiting; image: Applying")
    causes = region_view(region(pending), [], NOW).causes
    assert [cause.message for cause in causes] == ["identity: keystone Waiting", "image: Applying"]


def test_a_component_is_named_with_its_application():
    entry = {"status": "Unhealthy", "ready": 0, "desired": 1, "message": "Unschedulable"}
    (cause,) = region_view(region(SICK, health={"keystone": {"api": entry}}), [], NOW).causes
    assert cause.message == "keystone-api 0/1: Unschedulable"


def test_a_component_that_is_not_ready_yet_is_in_the_note_and_no_cause():
    health = {"nova": {"nova-api": {"status": "Progressing", "ready": 1, "desired": 2, "message": "rolling"}}}
    view = region_view(region(SICK, health=health), [bundle("compute", release("nova", "Deployed"))], NOW)
    assert view.services[0].note == "nova-api"
    assert [cause.message for cause in view.causes] == ["nova-scheduler 0/2: CrashLoopBackOff"]


def test_a_secret_that_has_expired_says_so():
    secrets = {"tls": {"expires": "2026-02-22T09:30:00Z", "message": "renewal failed"}}
    assert region_view(region(READY, secrets=secrets), [], NOW).secrets == (
        "1 kept; tls has expired; tls: renewal failed"
    )


def test_the_setting_behind_a_cause_is_in_the_data_too():
    osdpl = region(condition("Ready", "False", "WorkloadsFailing", "no driver 'FooDriver'"))
    osdpl["spec"]["features"] = {"compute": {"driver": "FooDriver"}}
    (cause,) = as_data(region_view(osdpl, [], NOW))["causes"]
    assert cause["setBy"] == "spec.features.compute.driver"


def test_warnings_of_an_invalid_spec_are_not_mixed_up_with_its_errors():
    invalid = condition("SpecValid", "False", "SpecInvalid", "spec.a: wrong")
    assert region_view(region(SICK, invalid), [], NOW).warnings == ""


UPGRADE = {
    "from": "2025.2",
    "to": "2026.1",
    "phase": "ControlPlane",
    "steps": [
        {"name": "identity", "service": "identity", "phase": "ControlPlane", "state": "Done"},
        {"name": "compute", "service": "compute", "phase": "ControlPlane", "state": "Running"},
    ],
}


def test_an_upgrade_that_is_under_way_has_a_line() -> None:
    osdpl = region(condition("Ready", "False", "RegionUpgrading"), upgrade=UPGRADE)
    [line] = [one for one in screen(osdpl).splitlines() if one.startswith("UPGRADE")]
    text = "2025.2 → 2026.1, 1 of 2 steps done: compute running (osctl upgrade status region-one)"
    assert line.split(maxsplit=1)[1] == text


def test_an_upgrade_that_is_over_has_no_line() -> None:
    osdpl = region(READY, upgrade={**UPGRADE, "phase": "Finished"})
    assert "UPGRADE" not in screen(osdpl)


def test_a_service_that_is_half_way_has_both_versions() -> None:
    services = {"compute": {"state": "Upgrading", "openstackVersion": "2025.2"}}
    osdpl = region(condition("Ready", "False", "RegionUpgrading"), upgrade=UPGRADE, services=services)
    text = screen(osdpl, bundle("compute", release("nova", "Deployed")))
    [line] = [one for one in text.splitlines() if one.startswith("compute")]
    assert "2025.2 → 2026.1" in line
