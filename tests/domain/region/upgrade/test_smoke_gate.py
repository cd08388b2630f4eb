"""With `gates: Smoke` a step is done once its service was used. The Job of a check, and what it says."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from controller.domain.region.upgrade.next_step import StepFacts, UpgradeFacts, advance, smoke_is_due
from controller.domain.region.upgrade.smoke_job import SmokeCheck, smoke_failure, smoke_job
from controller.domain.region.upgrade.upgrade_policy import UpgradePolicy
from controller.domain.region.upgrade.upgrade_state import Check, CheckState, StepRecord, StepState, Upgrade
from controller.domain.region.upgrade.upgrade_steps import Phase

NOW = 1_800_000_000.0
POLICY = UpgradePolicy(smoke=True, healthy_for=30)
RUNNING = StepRecord("image", "image", Phase.CONTROL_PLANE, StepState.RUNNING, healthy_since=NOW - 60)
OSDPL: dict[str, Any] = {"metadata": {"name": "region-one", "namespace": "openstack", "uid": "u1"}}
CHECK = SmokeCheck("compute/computes", "compute", "registry/controller:1", "first", ("pull",))


def upgrade(step: StepRecord) -> Upgrade:
    return Upgrade("2025.2", "2026.1", (step,), phase=step.phase, started=NOW)


def after(
    step: StepRecord, smoke: Check | None, policy: UpgradePolicy = POLICY, now: float = NOW
) -> StepRecord:
    return advance(upgrade(step), policy, UpgradeFacts(now, step=StepFacts(smoke=smoke))).steps[0]


def smoke(state: CheckState, message: str = "") -> Check:
    return Check("smoke", state, message)


def test_a_step_is_done_once_its_check_has_passed() -> None:
    assert after(RUNNING, smoke(CheckState.PASSED)).state == StepState.DONE


@pytest.mark.parametrize(
    "known", [None, smoke(CheckState.RUNNING), smoke(CheckState.RUNNING, "Unschedulable")]
)
def test_a_step_runs_on_while_its_check_does(known: Check | None) -> None:
    found = after(RUNNING, known)
    assert (found.state, found.healthy_since) == (StepState.RUNNING, RUNNING.healthy_since)
    assert found.message.startswith("healthy; osctl smoke runs")


def test_a_failed_check_fails_the_step_and_keeps_since_when_it_is_healthy() -> None:
    found = after(RUNNING, smoke(CheckState.FAILED, "server: ERROR"))
    assert (found.state, found.message) == (StepState.FAILED, "server: ERROR")
    assert found.healthy_since == RUNNING.healthy_since
    again = after(found, smoke(CheckState.RUNNING))
    assert again.state == StepState.RUNNING
    assert after(again, smoke(CheckState.PASSED)).state == StepState.DONE


def test_no_check_is_asked_before_the_step_has_been_healthy_for_long_enough() -> None:
    fresh = replace(RUNNING, healthy_since=NOW - 10)
    assert not smoke_is_due(fresh, POLICY, NOW)
    assert after(fresh, smoke(CheckState.FAILED, "too early")).state == StepState.RUNNING
    assert smoke_is_due(RUNNING, POLICY, NOW)


def test_the_time_of_health_is_remembered_before_the_check_even_without_a_wait() -> None:
    policy = replace(POLICY, healthy_for=0)
    new = replace(RUNNING, healthy_since=0.0)
    assert not smoke_is_due(new, policy, NOW)
    found = after(new, None, policy)
    assert (found.state, found.healthy_since) == (StepState.RUNNING, NOW)
    assert smoke_is_due(found, policy, NOW)


def test_other_gates_ask_for_no_check() -> None:
    health = replace(POLICY, smoke=False)
    assert not smoke_is_due(RUNNING, health, NOW)
    assert after(RUNNING, None, health).state == StepState.DONE


def test_workloads_that_fall_ill_again_begin_again() -> None:
    facts = UpgradeFacts(NOW, step=StepFacts(waiting="glance/api: 0/2", smoke=smoke(CheckState.PASSED)))
    found = advance(upgrade(RUNNING), POLICY, facts).steps[0]
    assert (found.state, found.healthy_since) == (StepState.RUNNING, 0.0)


def test_the_pod_of_a_check_is_restricted_and_has_no_token() -> None:
    job = smoke_job(CHECK, OSDPL, None, authority=False)
    pod = job["spec"]["template"]["spec"]
    [container] = pod["containers"]
    assert pod["automountServiceAccountToken"] is False
    assert pod["restartPolicy"] == "Never"
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert pod["imagePullSecrets"] == [{"name": "pull"}]
    assert container["image"] == CHECK.image


def test_a_check_ends_within_its_deadline_and_is_tried_twice() -> None:
    spec = smoke_job(CHECK, OSDPL, None, authority=False)["spec"]
    assert (spec["activeDeadlineSeconds"], spec["backoffLimit"]) == (900, 1)
    assert spec["ttlSecondsAfterFinished"] > 0
    # Two tries of steps and removal, with a pause of ten seconds.
    assert spec["activeDeadlineSeconds"] > 2 * (4 * 60 + 180) + 10


def test_a_check_asks_with_the_exported_credentials_and_trusts_the_exported_authority() -> None:
    plain, trusting = (
        smoke_job(CHECK, OSDPL, None, authority=one)["spec"]["template"]["spec"] for one in (False, True)
    )
    assert plain["volumes"][0]["secret"]["secretName"] == "openstack-clouds"
    assert plain["containers"][0]["command"][:4] == [
        *("osctl", "smoke", "--clouds", "/etc/openstack-clouds/clouds.yaml"),
    ]
    assert "--ca" not in plain["containers"][0]["command"]
    command = trusting["containers"][0]["command"]
    assert command[command.index("--ca") + 1] == "/etc/openstack-clouds/ca.crt"
    assert command[command.index("--service") + 1] == "compute"


def test_the_pod_goes_where_those_of_keystone_go() -> None:
    spec = {"nodeSelector": {"control": "yes"}, "tolerations": [{"key": "control"}], "hostNetwork": True}
    keystone = {"spec": {"template": {"spec": spec}}}
    pod = smoke_job(CHECK, OSDPL, keystone, authority=False)["spec"]["template"]["spec"]
    assert (pod["nodeSelector"], pod["tolerations"]) == (spec["nodeSelector"], spec["tolerations"])
    assert "hostNetwork" not in pod


def test_a_job_is_named_by_step_and_request_and_labelled_by_its_step() -> None:
    names = {
        CHECK.job,
        replace(CHECK, request="second").job,
        replace(CHECK, step="compute").job,
    }
    assert len(names) == 3
    assert CHECK.job == replace(CHECK, image="another").job
    assert CHECK.label == "compute.computes"
    labels = smoke_job(CHECK, OSDPL, None, authority=False)["metadata"]["labels"]
    assert labels["osctl.dev/upgrade-smoke"] == "compute.computes"


TABLE = """
passed     token          1.8 s  services: compute, identity, image, network, placement
failed     image          2.0 s  the image is killed: no space left
not tried  server         0.0 s  the step needs image
passed     removal       11.1 s  nothing is left
/etc/openstack-clouds/clouds.yaml: failed: image, server
"""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (TABLE, "osctl smoke ended with exit code 9: image: the image is killed: no space left"),
        ("Usage: osctl\nno such option", "osctl smoke ended with exit code 9: Usage: osctl no such option"),
        ("", "osctl smoke ended with exit code 9"),
    ],
)
def test_a_failure_says_which_steps_failed_and_why(text: str, said: str) -> None:
    assert smoke_failure(9, text) == said
