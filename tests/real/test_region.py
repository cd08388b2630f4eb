"""A region in real pods: deployed by our controller in its own pod, Ready by its own probes, and used."""

from __future__ import annotations

import pytest

from sandbox.cluster import Sandbox
from sandbox.demo import CONTROLLER_NAMESPACE, NAMESPACE, RELEASE
from sandbox.demo_real import run_smoke
from tests.real.region import deployment, is_ready, items

pytestmark = [pytest.mark.real, pytest.mark.timeout(5400)]


def test_every_pod_is_ready_by_its_own_probes_and_every_job_is_done(region: Sandbox) -> None:
    pods = [pod for pod in items(region, "pods") if pod["status"]["phase"] != "Succeeded"]
    assert [pod["metadata"]["name"] for pod in pods if not is_ready(pod)] == []
    jobs = items(region, "jobs")
    assert [job["metadata"]["name"] for job in jobs if not job["status"].get("succeeded")] == []
    assert is_ready(deployment(region))


def test_the_region_serves_up_to_a_server_and_nothing_is_left(region: Sandbox) -> None:
    run_smoke(region)


def test_the_controller_runs_as_its_chart_says(region: Sandbox) -> None:
    (pod,) = items(region, "pods", "-l", f"app.kubernetes.io/name={RELEASE}", namespace=CONTROLLER_NAMESPACE)
    assert is_ready(pod)
    code = (
        "import os, pathlib\n"
        "try:\n    pathlib.Path('/opt/x').touch(); print('written')\n"
        "except OSError as error:\n    print(os.getuid(), error.errno)\n"
    )
    shown = region.kubectl(
        *("exec", "--namespace", CONTROLLER_NAMESPACE, f"deploy/{RELEASE}", "-c", "core", "--"),
        *("python", "-c", code),
    )
    assert shown.split() == ["65532", "30"]
    assert items(region, "networkpolicies", namespace=CONTROLLER_NAMESPACE)
    # What the region is made of is in its own namespace alone.
    assert not items(region, "pods", "-l", f"app.kubernetes.io/name={RELEASE}", namespace=NAMESPACE)
