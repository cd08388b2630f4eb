"""An upgrade whose new pods wait for Jobs, on real Helm: first the Jobs of the new pods, then the pods."""

from __future__ import annotations

from typing import Any

import pytest

from controller.domain.releases.actions import Action
from controller.errors import HelmFailed
from controller.ports.kubernetes import CONFIGMAP, DEPLOYMENT, JOB
from controller.reconcile.releases.action_request import ActionRequest
from controller.reconcile.releases.actions.upgrade import upgrade
from tests.contract.conftest import Bench

pytestmark = pytest.mark.cluster


def ask(number: int, colour: str, outcome: str = "job-succeeds") -> dict[str, Any]:
    return {"number": number, "colour": colour, "outcome": outcome}


def act(bench: Bench, values: dict[str, Any]) -> str:
    """As the controller does it: one revision."""
    history = bench.records.observe(bench.namespace, releases=("web",)).get("web", ())
    version = history[-1].version + 1 if history else 1
    digest = f"{values['number']}{values['outcome']}"
    labels = bench.labelled(version, digest)
    request = bench.request("web", values, chart="awaited", labels=labels)
    if not history:
        bench.helm.install(request)
        return ""
    action = ActionRequest(
        Action.UPGRADE, "identity", "web", bench.namespace, version, digest, resolved_values=values
    )
    return upgrade(bench.ports(), action, request, bench.helm.new_cancellation()).text


def state(bench: Bench) -> tuple[str, str, str]:
    """The image of the pods, the file that they read, and the image of the migration."""
    pods = bench.kube.get(DEPLOYMENT, "web", bench.namespace)
    job = bench.kube.get(JOB, "web-sync", bench.namespace)
    assert pods is not None
    images = [one["spec"]["template"]["spec"]["containers"][0]["image"] for one in (pods, job) if one]
    code, sync = (one.rpartition("/")[2] for one in images)
    return code, bench.config("web")["colour"], sync


def test_the_jobs_of_new_pods_succeed_before_the_pods_are_sent(bench: Bench) -> None:
    act(bench, ask(1, "red"))
    assert state(bench) == ("code:1", "red", "sync:1")
    said = act(bench, ask(2, "blue"))
    assert said.startswith("the Jobs that new pods need have succeeded")
    assert all(job in said for job in ("web-init", "web-sync", "web-plain"))
    assert "web-later" not in said
    assert state(bench) == ("code:1", "red", "sync:2")
    job = bench.kube.get(JOB, "web-sync", bench.namespace)
    assert job is not None
    assert job["spec"]["template"]["spec"]["volumes"][0]["configMap"]["name"] == "web-jobs-first"
    assert bench.records.observe(bench.namespace)["web"][-1].jobs_for == "2job-succeeds"
    assert bench.kube.get(CONFIGMAP, "web-jobs-first", bench.namespace) is None
    act(bench, ask(2, "blue"))
    assert state(bench) == ("code:2", "blue", "sync:2")
    assert bench.statuses("web") == ["superseded", "superseded", "deployed"]
    assert not bench.records.observe(bench.namespace)["web"][-1].jobs_for


def test_a_job_that_fails_leaves_the_pods_as_they_are_and_its_mending_goes_on(bench: Bench) -> None:
    act(bench, ask(1, "red"))
    with pytest.raises(HelmFailed):
        act(bench, ask(2, "blue", "job-fails"))
    assert state(bench) == ("code:1", "red", "sync:2")
    act(bench, ask(2, "blue"))
    assert state(bench)[:2] == ("code:1", "red")
    act(bench, ask(2, "blue"))
    assert state(bench) == ("code:2", "blue", "sync:2")
    assert bench.statuses("web")[-1] == "deployed"


def test_a_release_goes_whole_after_the_first_half_of_an_upgrade(bench: Bench) -> None:
    act(bench, ask(1, "red"))
    act(bench, ask(2, "blue"))
    bench.uninstall("web")
    assert [job["metadata"]["name"] for job in bench.kube.list(JOB, bench.namespace)] == []
    assert bench.statuses("web") == []
