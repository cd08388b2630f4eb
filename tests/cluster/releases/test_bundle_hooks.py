"""Hooks that fail, hang or wait for others, with real Helm: what is reported of them, and what ends them."""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from controller.adapters.kubernetes.client import PykubeClient
from controller.adapters.kubernetes.connection import connect
from controller.ports.kubernetes import HELMBUNDLE
from sandbox.cluster import Sandbox
from sandbox.patience import Patience, patient
from tests.cluster.conftest import installed
from tests.cluster.region import ROOT, Region, wait_until, within
from tests.cluster.releases.test_bundles import bundle, entry, state, wait_ready

pytestmark = [pytest.mark.cluster, pytest.mark.xdist_group("bundle-hooks"), pytest.mark.timeout(1800)]

CHARTS = Path(__file__).parents[2] / "contract" / "charts"
# Seconds. What hangs would do so for minutes: on a busy machine, too, an edit is served long before.
LONG_BEFORE_THE_HOOK_ENDS = 30.0
# Less than the shortest pause after a failure.
SERVED_WITHIN = 2.0


@pytest.fixture(scope="module")
def bench(sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Region]:
    """helmbundle alone, one action at a time, with the charts of the contract suite."""
    namespace = f"test-{secrets.token_hex(4)}"
    sandbox.create_namespace(namespace, {})
    environment = {"CHARTS_DIR": str(CHARTS), "HELM_CONCURRENCY": "1"}
    directory = tmp_path_factory.mktemp("hooks")
    yield from installed(sandbox, namespace, directory, ("helmbundle",), environment)
    sandbox.kubectl("delete", "namespace", namespace, "--wait=false", "--ignore-not-found")


def web(
    name: str, outcome: str = "", events: str = "post-install,post-upgrade", **more: Any
) -> dict[str, Any]:
    """A release of one ConfigMap, with a hook that ends as `outcome` says, if any."""
    colour = more.pop("colour", "red")
    hook = {"hook": {"events": events, "outcome": outcome}} if outcome else {}
    chart = {"name": "small", "path": "small"}
    return {"name": name, "chart": chart, "values": {"data": {"colour": colour}, **hook}, **more}


def show(region: Region, name: str) -> str:
    return json.dumps(region.get("hb", name), indent=1) + region.controllers.log("helmbundle")[-3000:]


def wait_hook(region: Region, name: str) -> None:
    wait_until("its hook runs", lambda: _hooks(region, name) == "Running", show=lambda: show(region, name))


def _hooks(region: Region, name: str) -> str:
    return ",".join(hook["phase"] for hook in entry(region, name, name).get("hooks") or [])


def edit(region: Region, name: str, *releases: dict[str, Any]) -> float:
    """Replaces the releases of a bundle; the seconds until its status speaks of that."""
    kube = PykubeClient(connect(region.sandbox.kubeconfig))
    patched = kube.merge_patch(HELMBUNDLE, name, region.namespace, {"spec": {"releases": list(releases)}})
    began = time.monotonic()
    assert patched is not None
    desired, patience = patched["metadata"]["generation"], Patience(120)
    while (kube.get(HELMBUNDLE, name, region.namespace) or {})["status"]["observedGeneration"] < desired:
        assert not patience.is_over(), show(region, name)
        time.sleep(0.02)
    return time.monotonic() - began


def osctl(region: Region, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-P", "-m", "controller.cli.main", *arguments, "-n", region.namespace],
        check=False,
        capture_output=True,
        text=True,
        timeout=patient(300),
        env={
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(ROOT),
            "KUBECONFIG": str(region.sandbox.kubeconfig),
        },
    )


def test_a_stuck_hook_is_reported_with_its_cause_and_an_edit_ends_it(bench: Region) -> None:
    bundle(bench, "pulls", web("pulls", "image-pull"))
    wait_hook(bench, "pulls")
    reported = "waits for its hook: Job pulls-hook: pod pulls-hook-"
    cause = "ImagePullBackOff: image registry.example/hook:1 cannot be pulled"

    def cause_is_reported() -> bool:
        message = entry(bench, "pulls", "pulls").get("message") or ""
        return message.startswith(reported) and cause in message

    wait_until("the cause", cause_is_reported, show=lambda: show(bench, "pulls"))
    assert edit(bench, "pulls", web("pulls", "succeeds")) < LONG_BEFORE_THE_HOOK_ENDS
    wait_ready(bench, "pulls")
    attempt = entry(bench, "pulls", "pulls")["lastAttempt"]
    assert (attempt["action"], attempt["failures"]) == ("Upgrade", 0)
    assert bench.revisions()["pulls"] == (2, "deployed")


def test_a_failed_hook_is_explained_and_an_edit_served_while_it_backs_off(bench: Region) -> None:
    bundle(bench, "fails", web("fails"))
    wait_ready(bench, "fails")

    def explained() -> bool:
        """In one pass: the next try is about to begin, and tells something else."""
        one = entry(bench, "fails", "fails")
        error = (one.get("lastAttempt") or {}).get("error") or ""
        return (
            (one["state"], [hook["phase"] for hook in one.get("hooks") or []]) == ("Failed", ["Failed"])
            and error.startswith("a hook failed: Job fails-hook: BackoffLimitExceeded")
            and 'ended with exit code 1: "simulated failure"' in error
        )

    # The quickest of a few: a machine may stand still for some seconds, and no one is to blame.
    took: list[float] = []
    while len(took) < 3 and (not took or min(took) >= SERVED_WITHIN):
        bundle(bench, "fails", web("fails", "job-fails"))
        wait_until("it fails", explained, show=lambda: show(bench, "fails"))
        took.append(edit(bench, "fails", web("fails", colour="blue")))
        wait_ready(bench, "fails")
    assert min(took) < SERVED_WITHIN, took


@pytest.mark.exhaustive
def test_time_that_is_up_is_explained_by_what_the_hook_waited_for(bench: Region) -> None:
    bundle(bench, "late", web("late", "image-pull", timeout="10s"))

    def explained() -> bool:
        """In one of the tries: in the first the pod may not have come far enough."""
        error = (entry(bench, "late", "late").get("lastAttempt") or {}).get("error") or ""
        waited = error.startswith("not done within 10 s: its hook: Job late-hook: pod late-hook-")
        return waited and "registry.example/hook:1 cannot be pulled" in error

    wait_until("it fails", explained, 240, show=lambda: show(bench, "late"))
    bench.kubectl("delete", "hb", "late", "--timeout=500s")
    assert "late" not in bench.revisions()


def test_a_bundle_deleted_while_its_hook_hangs_goes(bench: Region) -> None:
    bundle(bench, "hangs", web("hangs", "job-hangs"))
    wait_hook(bench, "hangs")
    bench.kubectl("delete", "hb", "hangs", "--timeout=500s")
    assert "hangs" not in bench.revisions()


def test_a_release_put_back_while_the_hook_of_its_deletion_hangs_comes_back(bench: Region) -> None:
    bundle(bench, "back", web("back", "job-hangs", events="pre-delete"))
    wait_ready(bench, "back")
    edit(bench, "back")
    wait_hook(bench, "back")
    assert edit(bench, "back", web("back", colour="blue")) < LONG_BEFORE_THE_HOOK_ENDS
    wait_ready(bench, "back")
    assert bench.revisions()["back"] == (1, "deployed")
    assert bench.get("configmap", "back")["data"]["colour"] == "blue"


def test_with_one_slot_a_release_gets_its_turn_while_another_waits_for_it_in_a_hook(bench: Region) -> None:
    bundle(bench, "first", web("first", "job-hangs"))
    wait_hook(bench, "first")
    bundle(bench, "second", web("second", "succeeds"))
    wait_ready(bench, "second")
    assert state(bench, "first", "first") == "Installing"
    # What the hook waited for is there: it completes.
    [pod] = bench.get("pods", "-l", "batch.kubernetes.io/job-name=first-hook")["items"]
    bench.kubectl("label", "pod", pod["metadata"]["name"], "sandbox.osctl.dev/fail-")
    wait_ready(bench, "first")
    assert bench.revisions()["first"] == (1, "deployed")


def test_a_rollback_asked_for_is_made_once_and_held_through_a_restart(bench: Region) -> None:
    for colour in ("red", "blue"):
        bundle(bench, "rolls", web("rolls", colour=colour))
        wait_ready(bench, "rolls")
    done = osctl(bench, "rollback", "rolls", "--wait", "--timeout", within(200))
    assert done.returncode == 0, done.stderr + show(bench, "rolls")
    assert entry(bench, "rolls", "rolls")["reason"] == "RolledBack"
    assert bench.revisions()["rolls"] == (3, "deployed")
    assert bench.get("configmap", "rolls")["data"]["colour"] == "red"
    bench.controllers.restart("helmbundle")
    bench.controllers.wait_healthy()
    bundle(bench, "witness", web("witness"))
    wait_ready(bench, "witness")
    assert bench.revisions()["rolls"] == (3, "deployed")
    bundle(bench, "rolls", web("rolls", colour="green"))
    wait_ready(bench, "rolls")
    assert bench.get("configmap", "rolls")["data"]["colour"] == "green"
    reported = osctl(bench, "history", "rolls").stdout.splitlines()
    assert [line.split()[0] for line in reported[1:]] == ["1", "2", "3", "4"]
    assert reported[3].endswith("rollback to 1")
