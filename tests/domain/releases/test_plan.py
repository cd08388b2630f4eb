"""Plans: what their digest covers, how they are cut, and what is said of them."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from controller.domain.api.region_spec import parse_region_spec
from controller.domain.region.plan import (
    DesiredRelease,
    PlanParts,
    RegionPlan,
    gather_plan,
    planned_condition,
)
from controller.domain.region.plan_approval import Approval, approval_in, awaits_approval
from controller.domain.releases.bundle import ChartRef, ReleaseSpec
from controller.domain.releases.plan import (
    PlanAction,
    ReleaseEffects,
    bounded,
    bundle_plan,
    desired_digest,
    plan_sentence,
)
from controller.domain.values.layer import Layer
from controller.domain.values.merge import merge_layers

EFFECTS = ReleaseEffects(
    name="keystone",
    action=PlanAction.UPGRADE,
    desired="sha256:w",
    before="b",
    after="a",
    objects=("change Deployment/keystone-api",),
    restarts=("Deployment/keystone-api",),
    pods=3,
    hooks=("Job/keystone-db-sync",),
    octets=40_000,
)


def digest(*effects: ReleaseEffects) -> str:
    return str(bundle_plan(effects, 1, "w").get("digest"))


@pytest.mark.parametrize(
    "change",
    [
        {"desired": "sha256:x"},
        {"after": "z"},
        {"before": "z"},
        {"action": PlanAction.INSTALL},
        {"chart": "keystone 2"},
        {"objects": ()},
        {"restarts": ()},
        {"jobs": ("keystone-cron",)},
        {"hooks": ()},
    ],
    ids=lambda change: next(iter(change)),
)
def test_the_digest_changes_with_what_would_be_done(change: dict[str, Any]) -> None:
    assert digest(replace(EFFECTS, **change)) != digest(EFFECTS)


@pytest.mark.parametrize("change", [{"pods": 9}, {"octets": 1}, {"notes": ("x",)}], ids=str)
def test_the_digest_stays_while_the_same_would_be_done(change: dict[str, Any]) -> None:
    assert digest(replace(EFFECTS, **change)) == digest(EFFECTS)


def test_a_plan_without_effects_has_no_digest() -> None:
    assert bundle_plan((), 4, "w") == {"observedGeneration": 4, "desired": "w"}


def test_the_digest_covers_what_is_not_shown() -> None:
    many = tuple(f"create ConfigMap/{number:04}" for number in range(2000))
    other = (*many[:-1], "create ConfigMap/another")
    assert digest(replace(EFFECTS, objects=many)) != digest(replace(EFFECTS, objects=other))
    [entry] = bundle_plan((replace(EFFECTS, objects=many),), 1, "w")["releases"]
    assert len(entry["objects"]) + entry["omitted"]["objects"] == 2000


def test_a_plan_is_cut_to_its_bounds_and_counts_what_is_left_out() -> None:
    entries = [
        {"name": f"release-{number}", "action": "Install", "objects": [f"create Thing/{'x' * 200}"] * 300}
        for number in range(60)
    ]
    cut = bounded(entries, 100_000)
    assert len(json.dumps(cut)) < 110_000
    assert [entry["name"] for entry in cut] == [entry["name"] for entry in entries]
    assert all(len(entry.get("objects", [])) + entry["omitted"]["objects"] == 300 for entry in cut)


def test_what_was_cut_before_is_counted_on() -> None:
    [cut] = bounded([{"name": "a", "objects": ["x"] * 300, "omitted": {"objects": 7}}])
    assert cut["omitted"] == {"objects": 7 + 300 - 256}


def test_the_wish_is_the_same_once_the_api_server_has_stored_it() -> None:
    assert desired_digest({"releases": [{"values": {"a": [1.0, 2.5]}}]}, ["c"]) == desired_digest(
        {"releases": [{"values": {"a": [1, 2.5]}}]}, ["c"]
    )


@pytest.mark.parametrize(
    ("entries", "words"),
    [
        ([], "nothing to do"),
        ([{"action": "Upgrade", "pods": 1}], "upgrades 1 release, restarts 1 pod, loses no data"),
        (
            [{"action": "Install"}, {"action": "Install"}, {"action": "Uninstall"}],
            "installs 2 releases, uninstalls 1 release, loses no data",
        ),
        (
            [{"action": "Uninstall", "objects": ["delete PersistentVolumeClaim/a", "delete Secret/b"]}],
            "uninstalls 1 release, DELETES THE DATA in 1 volume",
        ),
        (
            [{"action": "Upgrade", "objects": ["keep PersistentVolumeClaim/a"]}],
            "upgrades 1 release, keeps the data in 1 volume that no release uses any more, loses no data",
        ),
        ([{"action": "Settings"}], "changes settings of 1 release, loses no data"),
        (
            [{"action": "Upgrade", "changes": [{"path": "images.tags.nova_db_sync"}]}],
            "upgrades 1 release, migrates the data of 1 release, which cannot go back",
        ),
        (
            [{"action": "Upgrade", "changes": [{"path": "images.tags.neutron_ovn_db_sync"}]}],
            "upgrades 1 release, loses no data",
        ),
    ],
)
def test_a_plan_in_one_sentence(entries: list[dict[str, Any]], words: str) -> None:
    assert plan_sentence(entries) == words


# -- of a region

DEFAULTS = {"replicas": 1, "debug": False, "password": ""}
CHART = ChartRef("keystone", path="keystone")


def desired_release(values: dict[str, Any], before: dict[str, Any] | None, **more: Any) -> DesiredRelease:
    merged = merge_layers(DEFAULTS, [Layer("services", values, root=("spec", "services"))])
    current = ReleaseSpec("keystone", "openstack", CHART, before) if before is not None else None
    spec = ReleaseSpec("keystone", "openstack", CHART, merged.overlay, **more)
    return DesiredRelease("identity", spec, merged, "Retain", current, "Retain")


def bundle(*effects: ReleaseEffects, generation: int = 3, observed: int = 3) -> dict[str, Any]:
    plan = bundle_plan(effects, observed, "w")
    return {"metadata": {"name": "identity", "generation": generation}, "status": {"plan": plan}}


def gathered(one: dict[str, Any], desired: DesiredRelease) -> RegionPlan:
    parts = PlanParts(
        [one], {"keystone": desired}, services={"identity": "identity"}, asked={"identity": "w"}
    )
    return gather_plan(parts)


def test_values_that_change_are_reported_with_who_sets_them() -> None:
    [entry] = gathered(bundle(EFFECTS), desired_release({"debug": True}, {})).entries
    assert entry["changes"] == [
        {
            "path": "debug",
            "before": "false",
            "after": "true",
            "layer": "services",
            "setBy": "spec.services.debug",
        }
    ]
    assert entry["service"] == "identity"


def test_a_secret_is_reported_by_its_reference() -> None:
    secret = {"$secretRef": {"name": "mine", "key": "word"}}
    [entry] = gathered(bundle(EFFECTS), desired_release({"password": secret}, {})).entries
    assert entry["changes"][0]["after"] == "secret mine/word"


def test_an_override_that_is_gone_falls_back_to_the_layer_below() -> None:
    [entry] = gathered(bundle(EFFECTS), desired_release({}, {"replicas": 3})).entries
    assert entry["changes"] == [{"path": "replicas", "before": "3", "after": "1", "layer": "chart defaults"}]


def test_the_same_values_point_to_the_chart() -> None:
    [entry] = gathered(bundle(EFFECTS), desired_release({"debug": True}, {"debug": True})).entries
    assert "the chart, or a Secret in the values, has changed" in entry["message"]


def test_how_a_release_is_kept_is_part_of_the_plan() -> None:
    plan = gathered(bundle(), desired_release({}, {}, drift="Warn", timeout=60))
    [entry] = plan.entries
    assert entry["action"] == "Settings"
    assert [(one["path"], one["after"]) for one in entry["changes"]] == [("timeout", "1m"), ("drift", "Warn")]
    assert plan.digest != gathered(bundle(), desired_release({}, {}, drift="Ignore", timeout=60)).digest


def test_a_bundle_that_has_not_been_planned_yet_is_waited_for() -> None:
    plan = gathered(bundle(EFFECTS, generation=4), desired_release({}, {}))
    assert (plan.waits_for, plan.digest, plan.empty) == (("identity",), "", False)


def test_a_plan_of_other_charts_than_core_has_is_waited_for() -> None:
    parts = PlanParts([bundle(EFFECTS)], {}, asked={"identity": "other"})
    assert gather_plan(parts).waits_for == ("identity",)


def test_a_bundle_that_is_not_there_yet_is_waited_for() -> None:
    assert gather_plan(PlanParts([], {}, asked={"dns": "w"})).waits_for == ("dns",)


def test_a_plan_that_would_fail_cannot_be_approved() -> None:
    plan = gathered(bundle(replace(EFFECTS, problem="Service/x would be refused")), desired_release({}, {}))
    assert (plan.digest, plan.problem) == ("", "keystone: Service/x would be refused")


def test_nothing_to_do_is_an_empty_plan() -> None:
    assert gathered(bundle(), desired_release({"debug": True}, {"debug": True})).empty


PLAN = RegionPlan(({"name": "keystone"},), "sha256:1", "upgrades 1 release")
DONE = Approval("sha256:0", "d", 2, done=True)


@pytest.mark.parametrize(
    ("plan", "approval", "approved", "status", "reason"),
    [
        (None, None, "", "False", "NotPlanned"),
        (RegionPlan(waits_for=("dns",)), None, "", "False", "Planning"),
        (RegionPlan(problem="x"), None, "", "False", "PlanFailed"),
        (RegionPlan(), None, "", "True", "PlanEmpty"),
        (PLAN, None, "", "True", "PlanPending"),
        (PLAN, None, "sha256:2", "True", "PlanDiffers"),
        (PLAN, DONE, "sha256:0", "True", "PlanPending"),
        (PLAN, DONE, "sha256:2", "True", "PlanDiffers"),
        (PLAN, Approval("sha256:1", "d", 2), "sha256:1", "True", "PlanApproved"),
    ],
)
def test_the_condition_says_where_a_plan_stands(
    plan: RegionPlan | None, approval: Approval | None, approved: str, status: str, reason: str
) -> None:
    found = planned_condition(plan, approval, approved, name="region-one", generation=3)
    assert (found.status, str(found.reason)) == (status, reason)


def test_an_approval_comes_back_from_the_status() -> None:
    assert approval_in({"plan": {"accepted": DONE.entry()}}) == DONE
    assert approval_in({"plan": {"digest": "sha256:1"}}) is None
    assert approval_in({}) is None


@pytest.mark.parametrize(
    ("mode", "generation", "held"),
    [(None, 1, False), ("Apply", 1, False), ("Paused", 2, True), ("Plan", 1, True), ("Plan", 2, False)],
)
def test_a_spec_is_held_back_until_its_plan_is_approved(
    mode: str | None, generation: int, held: bool
) -> None:
    accepted = replace(DONE, generation=generation).entry()
    osdpl = {
        "metadata": {"generation": 2},
        "spec": {"mode": mode},
        "status": {"plan": {"accepted": accepted}},
    }
    assert awaits_approval(osdpl, parse_region_spec(osdpl.get("spec"))) is held
