"""osctl plan and approve, and what the other commands say of a region with mode Plan."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from controller.cli.cluster import Cluster
from controller.cli.views.plan import plan_view
from controller.cli.views.readiness import RegionOutcome, judge
from controller.ports.kubernetes import OSDPL
from tests.cli.commands.test_apply import CRDS
from tests.cli.objects import EXAMPLE, condition, osctl, region
from tests.fakes.kube import FakeKube, Request

DIGEST = f"sha256:{'a' * 64}"
ENTRY = {
    "name": "keystone",
    "service": "identity",
    "action": "Upgrade",
    "changes": [{"path": "pod.replicas.api", "before": "1", "after": "2", "setBy": "spec.services.identity"}],
    "objects": ["change Deployment/keystone-api", "change Secret/keystone-etc"],
    "restarts": ["Deployment/keystone-api"],
    "pods": 1,
    "jobs": ["keystone-cron"],
    "hooks": ["Job/keystone-db-sync"],
    "omitted": {"changes": 3},
}
PLAN = {"digest": DIGEST, "message": "upgrades 1 release, restarts 1 pod, loses no data", "releases": [ENTRY]}
PENDING = condition("Planned", "True", "PlanPending", f"plan {DIGEST} upgrades 1 release")


@pytest.fixture
def kube(monkeypatch: pytest.MonkeyPatch) -> FakeKube:
    fake = FakeKube()
    for crd in CRDS:
        fake.serve(crd)
    for module in ("apply", "status", "wait", "plan"):
        monkeypatch.setattr(
            f"controller.cli.commands.{module}.open_cluster",
            lambda _, __, namespace: Cluster(fake, namespace),
        )
    monkeypatch.setattr("controller.cli.commands.plan.time.sleep", lambda _: None)
    return fake


def put(
    kube: FakeKube,
    *conditions: dict[str, Any],
    plan: dict[str, Any] | None = None,
    running: str = "2026.1",
    **spec: Any,
) -> None:
    """A region with mode Plan, with these conditions of its present spec."""
    obj = region(*conditions, openstackVersion=running, **({"plan": plan} if plan else {}))
    given = {"mode": "Plan", "publicDomainName": "example.org", **spec}
    body = {key: obj[key] for key in ("apiVersion", "kind")}
    meta = {"name": "region-one", "namespace": "openstack"}
    made = kube.create({**body, "metadata": meta, "spec": {**obj["spec"], **given}})
    generation = made["metadata"]["generation"]
    seen = [{**one, "observedGeneration": generation} for one in conditions]
    status = {**obj["status"], "observedGeneration": generation, "conditions": seen}
    kube.apply({**body, "metadata": meta, "status": status}, manager="osctl-core", subresource="status")


def approved(kube: FakeKube) -> str | None:
    found = kube.get(OSDPL, "region-one", "openstack")
    assert found is not None
    return found["spec"].get("approvedPlan")


def test_the_plan_is_reported_release_by_release(kube: FakeKube) -> None:
    put(kube, PENDING, plan=PLAN)
    result = osctl("plan")
    assert result.exit_code == 1
    assert result.stdout.splitlines() == [
        "~ keystone",
        "    pod.replicas.api  1 → 2  (spec.services.identity)",
        "    and 3 more",
        "    changes   Deployment keystone-api; Secret keystone-etc",
        "    restarts  Deployment keystone-api (1 pod)",
        "    replaces  Job keystone-cron",
        "    runs      Job keystone-db-sync",
        f"Plan {DIGEST}: upgrades 1 release, restarts 1 pod, loses no data",
        "It waits for approval: osctl approve region-one -n openstack",
    ]


def test_fields_of_the_spec_are_reported_with_what_they_do(kube: FakeKube) -> None:
    field = {
        "path": "features.nodes.evacuation",
        "before": "Never",
        "after": "Auto",
        "does": "Starts servers.",
    }
    put(kube, PENDING, plan={"digest": DIGEST, "message": "changes 1 field of the spec", "settings": [field]})
    result = osctl("plan")
    assert result.exit_code == 1
    assert result.stdout.splitlines()[:2] == [
        "~ spec.features.nodes.evacuation  Never → Auto",
        "    Starts servers.",
    ]


def test_a_plan_of_another_version_names_the_command_that_lists_the_steps(kube: FakeKube) -> None:
    put(kube, PENDING, plan=PLAN, running="2025.2")
    text = " ".join(osctl("plan").stdout.split())
    assert "It upgrades OpenStack from 2025.2 to 2026.1 step by step, not all releases at once." in text
    assert "osctl upgrade plan 2026.1 region-one -n openstack lists the steps." in text


def test_an_older_controller_makes_no_plan_and_is_not_waited_for(kube: FakeKube) -> None:
    put(kube, condition("Planned", "Unknown", "NewerController", "controller 0.2.0 has served this region"))
    result = osctl("plan")
    assert result.exit_code == 5
    assert "controller 0.2.0 has served this region" in result.output


def test_an_empty_plan_ends_with_0(kube: FakeKube) -> None:
    put(kube, condition("Planned", "True", "PlanEmpty"), plan={"message": "nothing to do"})
    result = osctl("plan")
    assert (result.exit_code, result.stdout.strip()) == (0, "region-one: nothing to do")


def test_a_plan_that_would_fail_ends_with_5_and_says_why(kube: FakeKube) -> None:
    put(kube, condition("Planned", "False", "PlanFailed", "the plan would fail: keystone: no"), plan=PLAN)
    result = osctl("plan")
    assert result.exit_code == 5
    assert "the plan would fail: keystone: no" in result.stdout


def test_a_region_with_another_mode_has_no_plan(kube: FakeKube) -> None:
    put(kube, condition("Planned", "False", "NotPlanned"), mode="Apply")
    result = osctl("plan")
    assert result.exit_code == 5
    assert "its mode is Apply" in result.stderr


def test_a_plan_that_does_not_come_ends_with_4(kube: FakeKube) -> None:
    put(kube, condition("Planned", "False", "Planning", "helmbundle looks at identity"))
    result = osctl("plan", "--timeout", "0")
    assert result.exit_code == 4
    assert "helmbundle looks at identity" in result.stdout


def test_a_file_is_sent_with_mode_plan_and_without_an_approval(kube: FakeKube, tmp_path: Path) -> None:
    text = EXAMPLE.read_text(encoding="utf-8")
    path = tmp_path / "region.yaml"
    path.write_text(text.rstrip() + f"\n  mode: Apply\n  approvedPlan: {DIGEST}\n", encoding="utf-8")
    result = osctl("plan", "-f", str(path), "--timeout", "0")
    assert "its mode is Plan now" in result.stderr
    [found] = kube.objects(OSDPL.kind)
    assert found["spec"]["mode"] == "Plan"
    assert "approvedPlan" not in found["spec"]


def test_an_approval_is_of_the_plan_as_it_is_now(kube: FakeKube) -> None:
    put(kube, PENDING, plan=PLAN)
    result = osctl("approve", "--yes")
    assert result.exit_code == 0, result.stderr
    assert approved(kube) == DIGEST


def test_after_an_edit_the_plan_is_waited_for(kube: FakeKube, monkeypatch: pytest.MonkeyPatch) -> None:
    put(kube, PENDING, plan=PLAN)
    kube.merge_patch(OSDPL, "region-one", "openstack", {"spec": {"size": "tiny"}})

    def planned(_: float) -> None:
        found = kube.get(OSDPL, "region-one", "openstack")
        assert found is not None
        generation = found["metadata"]["generation"]
        status = {
            "observedGeneration": generation,
            "conditions": [{**PENDING, "observedGeneration": generation}],
        }
        kube.apply({**found, "status": {**found["status"], **status}}, manager="core", subresource="status")

    monkeypatch.setattr("controller.cli.commands.plan.time.sleep", planned)
    assert osctl("approve", "--yes").exit_code == 0
    assert approved(kube) == DIGEST


def test_another_plan_than_the_one_asked_for_is_not_approved(kube: FakeKube) -> None:
    put(kube, PENDING, plan=PLAN)
    result = osctl("approve", "--plan", f"sha256:{'b' * 64}")
    assert result.exit_code == 6
    assert approved(kube) is None


def test_a_plan_that_changes_while_it_is_approved_is_not_approved(kube: FakeKube) -> None:
    put(kube, PENDING, plan=PLAN)

    def change(request: Request) -> None:
        if request.verb == "patch":
            kube.before_write = lambda _: None
            body = {"apiVersion": OSDPL.api_version, "kind": OSDPL.kind}
            meta = {"name": "region-one", "namespace": "openstack"}
            status = {"plan": {**PLAN, "digest": f"sha256:{'c' * 64}"}}
            kube.apply(
                {**body, "metadata": meta, "status": status}, manager="osctl-core", subresource="status"
            )

    kube.before_write = change
    result = osctl("approve", "--yes")
    assert result.exit_code == 6
    assert "has changed meanwhile" in result.stderr
    assert approved(kube) is None


def test_without_a_terminal_nothing_is_approved_unasked(kube: FakeKube) -> None:
    put(kube, PENDING, plan=PLAN)
    result = osctl("approve")
    assert result.exit_code == 2
    assert approved(kube) is None


@pytest.mark.parametrize(
    ("entry", "plan", "word"),
    [
        (condition("Planned", "True", "PlanEmpty", "nothing to do"), None, "nothing to do"),
        (
            condition("Planned", "True", "PlanApproved"),
            {**PLAN, "accepted": {"digest": DIGEST, "desired": "d", "done": False}},
            "being applied",
        ),
        (
            condition("Planned", "False", "PlanFailed", "the plan would fail: x"),
            PLAN,
            "the plan would fail: x",
        ),
    ],
    ids=["empty", "approved already", "failed"],
)
def test_what_does_not_wait_is_not_approved(
    kube: FakeKube, entry: dict[str, Any], plan: dict[str, Any] | None, word: str
) -> None:
    put(kube, entry, plan=plan)
    result = osctl("approve", "--yes")
    assert result.exit_code == 5
    assert word in result.stderr
    assert approved(kube) is None


def test_waiting_for_ready_ends_where_a_plan_waits_for_a_person(kube: FakeKube) -> None:
    put(kube, condition("Ready", "False", "PlanPending"), PENDING, plan=PLAN)
    result = osctl("wait", "--timeout", "1s")
    assert result.exit_code == 5
    assert DIGEST in result.stdout


def test_waiting_for_the_plan_ends_when_it_is_there(kube: FakeKube) -> None:
    put(kube, condition("Ready", "False", "PlanPending"), PENDING, plan=PLAN)
    result = osctl("wait", "--for", "planned", "--timeout", "1s")
    assert result.exit_code == 0
    assert "osctl plan region-one" in result.stdout


def test_status_says_what_waits(kube: FakeKube) -> None:
    put(kube, condition("Ready", "False", "PlanPending", "waits"), PENDING, plan=PLAN)
    result = osctl("status")
    assert (
        "PLAN      upgrades 1 release, restarts 1 pod, loses no data (sha256:aaaaaaaaaaaa…)" in result.stdout
    )


def test_apply_says_that_a_plan_comes_first(kube: FakeKube) -> None:
    text = EXAMPLE.read_text(encoding="utf-8").rstrip() + "\n  mode: Plan\n"
    result = osctl("apply", "-f", "-", input=text)
    assert "osctl plan" in result.stderr


def test_an_approved_plan_is_waited_for(kube: FakeKube) -> None:
    found = region(condition("Ready", "False", "Applying"), condition("Planned", "True", "PlanApproved"))
    assert judge(found).outcome == RegionOutcome.PENDING


def test_a_plan_of_an_earlier_spec_is_not_known() -> None:
    found = region({**PENDING, "observedGeneration": 1}, generation=2, plan=PLAN)
    assert not plan_view(found).known
    assert judge(found).outcome == RegionOutcome.PENDING
