"""A region in real pods that is changed, hurt and switched off: it serves on, or comes back unaided."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from controller.domain.api.names import ROTATED_ANNOTATION
from sandbox.cluster import Sandbox
from sandbox.demo import CONTROLLER_NAMESPACE, NAMESPACE, REGION, RELEASE, ROOT, install_chart
from sandbox.demo_real import run_smoke
from sandbox.node import plan
from sandbox.node.plan import NodeLayout
from sandbox.patience import patient
from tests.real.region import (
    condition,
    deployment,
    edit,
    is_ready,
    items,
    kill_container,
    pods,
    wait_ready,
    wait_until,
)

pytestmark = [pytest.mark.real, pytest.mark.timeout(5400)]

CONTAINERS = ("core", "helmbundle", "health", "secrets", "node")
LOOP = Path(__file__).with_name("client_loop.py")
HEALTH_SECONDS = 10


@pytest.fixture
def ready(region: Sandbox) -> Sandbox:
    """The region before a test."""
    wait_ready(region)
    return region


@pytest.fixture
def two_apis(ready: Sandbox) -> Iterator[Sandbox]:
    """The region with two replicas of Nova's API, and as it was afterwards."""
    change_nova(ready, {"pod": {"replicas": {"osapi": 2}}})
    wait_ready(ready)
    yield ready
    change_nova(ready, {"pod": None, "conf": {"nova": {"DEFAULT": {"instance_name_template": None}}}})
    wait_ready(ready)


def change_nova(box: Sandbox, values: dict[str, Any]) -> None:
    edit(box, {"services": {"compute": {"nova": {"values": values}}}})


def test_a_changed_value_of_nova_conf_rolls_novas_pods_alone_and_no_request_fails(
    two_apis: Sandbox, client: Callable[[str], str]
) -> None:
    before = pods(two_apis)
    told: list[str] = []
    loop = threading.Thread(target=lambda: told.append(client(LOOP.read_text())), daemon=True)
    loop.start()
    time.sleep(5)  # requests before the change count, too
    change_nova(two_apis, {"conf": {"nova": {"DEFAULT": {"instance_name_template": "vm-%08x"}}}})
    wait_until(lambda: deployment(two_apis)["status"].get("state") != "Applied", "nothing is done", 120)
    rolled = wait_ready(two_apis)
    two_apis.kubectl("exec", "--namespace", NAMESPACE, "client", "--", "touch", "/tmp/stop")
    loop.join(patient(1200))
    seen = json.loads(told[0])
    print(f"rolled in {rolled:.0f} s; {seen['count']} requests, the longest took {seen['longest']} s")
    after = pods(two_apis)
    gone = {before[uid]["metadata"]["labels"]["application"] for uid in before.keys() - after.keys()}
    assert gone == {"nova"}
    assert seen["count"] >= 1000
    assert seen["failed"] == []


def test_novas_credentials_are_rotated_and_no_request_fails(
    two_apis: Sandbox, client: Callable[[str], str]
) -> None:
    """In the database, the broker and Keystone."""

    def rotated() -> str:
        (secret,) = items(two_apis, "secrets", "-l", "osctl.dev/service=compute")
        return str((secret["metadata"].get("annotations") or {}).get(ROTATED_ANNOTATION, ""))

    before = rotated()
    told: list[str] = []
    loop = threading.Thread(target=lambda: told.append(client(LOOP.read_text())), daemon=True)
    loop.start()
    run_osctl(two_apis, "credentials", "rotate", REGION, "--service", "compute", "--namespace", NAMESPACE)
    took = wait_until(lambda: rotated() != before, "they are not rotated", 1800)
    two_apis.kubectl("exec", "--namespace", NAMESPACE, "client", "--", "touch", "/tmp/stop")
    loop.join(patient(1200))
    seen = json.loads(told[0])
    print(f"rotated in {took:.0f} s; {seen['count']} requests, the longest took {seen['longest']} s")
    assert seen["count"] >= 1000
    assert seen["failed"] == []
    wait_ready(two_apis)
    run_smoke(two_apis)


def run_osctl(box: Sandbox, *words: str) -> None:
    """A command of an operator, with the sandbox's kubeconfig."""
    command = [sys.executable, "-P", "-m", "controller.cli.main", *words]
    more = {"KUBECONFIG": str(box.kubeconfig), "PYTHONPATH": str(ROOT)}
    subprocess.run(command, check=True, timeout=patient(120), env={**os.environ, **more})


def test_a_killed_database_is_reported_within_seconds_and_heals(ready: Sandbox) -> None:
    there = ("--namespace", NAMESPACE)
    ready.kubectl("delete", "pod", "mariadb-server-0", *there, "--grace-period=0", "--force", "--wait=false")

    def told() -> bool:
        server = deployment(ready)["status"]["health"]["mariadb"]["server"]
        return bool(server["status"] != "Ready" and condition(ready, "WorkloadsHealthy") != "True")

    took = wait_until(told, "health says nothing of it", HEALTH_SECONDS, pause=0.2)
    print(f"told after {took:.1f} s, healed after {wait_ready(ready):.0f} s")
    run_smoke(ready)


def test_a_deleted_deployment_comes_back(ready: Sandbox) -> None:
    there = ("--namespace", NAMESPACE)
    before = ready.kubectl("get", "deployment", "keystone-api", *there, "--output=jsonpath={.metadata.uid}")
    ready.kubectl("delete", "deployment", "keystone-api", *there, "--wait=true")

    def back() -> bool:
        shown = ready.kubectl(
            "get", "deployment", "keystone-api", *there, "--output=jsonpath={.metadata.uid}"
        )
        return shown != before

    took = wait_until(back, "it is not corrected", 300)
    print(f"corrected after {took:.1f} s, Ready after {wait_ready(ready):.0f} s")
    run_smoke(ready)


@pytest.mark.parametrize("container", CONTAINERS)
def test_a_container_of_the_controller_that_is_killed_comes_again(ready: Sandbox, container: str) -> None:
    def restarts() -> int:
        (pod,) = items(
            ready, "pods", "-l", f"app.kubernetes.io/name={RELEASE}", namespace=CONTROLLER_NAMESPACE
        )
        counts = {one["name"]: one for one in pod["status"]["containerStatuses"]}
        return int(counts[container]["restartCount"]) if counts[container]["ready"] else -1

    wait_until(lambda: restarts() >= 0, f"{container} is not ready before", 300)
    before = restarts()
    # The first process of the container does not take SIGKILL from within: the node sends it.
    kill_container(ready, container)
    wait_until(lambda: restarts() > before, f"{container} does not run again", 300)
    wait_ready(ready)


def test_after_a_reboot_of_the_node_the_region_is_ready_again_unaided(ready: Sandbox) -> None:
    ready.kill_component("node")
    ready.start_component("node")

    def restarted() -> bool:
        return all(
            one["restartCount"] > 0 or not is_ready(pod)
            for pod in pods(ready).values()
            for one in pod["status"].get("containerStatuses", ())
        )

    wait_until(restarted, "the pods were not killed", 600)
    print(f"Ready after {wait_ready(ready):.0f} s")
    run_smoke(ready)


def test_a_service_that_was_removed_finds_its_data_when_it_is_added_again(
    ready: Sandbox, client: Callable[[str], str]
) -> None:
    make = "import openstack\nc = openstack.connect(cloud='default')\n"
    client(make + "c.compute.create_flavor(name='kept', ram=64, vcpus=1, disk=1)\n")
    compute = deployment(ready)["spec"]["services"]["compute"]
    # Values of a service that is not there are a mistake, and would be refused.
    edit(ready, {"features": {"services": {"disabled": ["compute"]}}, "services": {"compute": None}})
    wait_until(lambda: not items(ready, "deployment", "--selector=application=nova"), "nova is there", 600)
    wait_ready(ready)
    edit(ready, {"features": {"services": None}, "services": {"compute": compute}})
    wait_ready(ready)
    assert "kept" in client(make + "print([one.name for one in c.compute.flavors(is_public=None)])\n")
    client(make + "c.compute.delete_flavor(c.compute.find_flavor('kept'))\n")
    run_smoke(ready)


def test_a_cordoned_node_takes_no_servers_and_a_maintenance_ends_as_it_began(
    ready: Sandbox, client: Callable[[str], str]
) -> None:
    def compute() -> str:
        return client(
            "import openstack\n"
            "(one,) = openstack.connect(cloud='default').compute.services(binary='nova-compute')\n"
            "print(one.status, one.disabled_reason)\n"
        ).strip()

    def state(name: str) -> str:
        found = json.loads(ready.kubectl("get", "cmaint", name, "--output=json"))
        conditions = {one["type"]: one["status"] for one in found.get("status", {}).get("conditions", ())}
        return str(conditions.get("Ready", ""))

    ready.kubectl("cordon", plan.FIRST.name)
    took = wait_until(lambda: compute() == "disabled osctl.dev: node cordoned", "it is not disabled", 180)
    print(f"disabled {took:.0f} s after the cordon")
    ready.kubectl("uncordon", plan.FIRST.name)
    took = wait_until(lambda: compute().startswith("enabled"), "it is not enabled again", 300)
    print(f"enabled {took:.0f} s after the uncordon")
    maintenance = {
        "apiVersion": "osctl.dev/v1alpha1",
        "kind": "ComputeMaintenance",
        "metadata": {"name": "firmware"},
        "spec": {
            "region": {"namespace": NAMESPACE, "name": REGION},
            "nodeName": plan.FIRST.name,
            "mode": "Cordon",
        },
    }
    ready.kubectl("apply", "-f", "-", input=json.dumps(maintenance))
    took = wait_until(lambda: state("firmware") == "True", "the node may not be worked on", 300)
    print(f"given to the person {took:.0f} s after the maintenance was made")
    assert compute().startswith("disabled osctl.dev:")
    ready.kubectl("delete", "cmaint", "firmware", "--timeout=300s", timeout=360)
    took = wait_until(lambda: compute().startswith("enabled"), "it is not in service again", 300)
    print(f"in service {took:.0f} s after the maintenance was gone")
    run_smoke(ready)


@pytest.fixture
def own_charts(ready: Sandbox) -> Iterator[Path]:
    """The lean charts in a volume of the controller, in the place of those of its image."""
    inside = NodeLayout(ready.layout.node).volumes / "lean-charts"
    shutil.rmtree(inside, ignore_errors=True)
    shutil.copytree(ROOT / "charts", inside)
    volume = {"name": "lean", "hostPath": {"path": f"{plan.VOLUMES}/lean-charts", "type": "Directory"}}
    mount = {"name": "lean", "mountPath": "/charts", "readOnly": True}
    settings = (
        f"--set-json=extraVolumes={json.dumps([volume])}",
        f"--set-json=extraVolumeMounts={json.dumps([mount])}",
        "--set=paths.charts=/charts",
    )
    install(ready, settings)
    yield inside
    install(ready, ())
    shutil.rmtree(inside)


def install(box: Sandbox, settings: Sequence[str]) -> None:
    """Brings the controller to these settings of its chart, and the region to rest."""
    install_chart(box, settings=settings)
    rollout = ("rollout", "status", f"deployment/{RELEASE}", "--namespace", CONTROLLER_NAMESPACE)
    box.kubectl(*rollout, "--timeout=300s", timeout=360)
    wait_ready(box)


def revisions(box: Sandbox) -> dict[str, int]:
    """The revision of each release, by its name."""
    return {
        release["name"]: release["revision"]
        for bundle in items(box, "helmbundles")
        for release in bundle["status"]["releases"]
    }


def test_the_upgrade_of_one_chart_rolls_the_pods_of_that_chart_alone(
    ready: Sandbox, own_charts: Path
) -> None:
    before, running = revisions(ready), pods(ready)
    values = own_charts / "placement" / "values.yaml"
    text = values.read_text(encoding="utf-8")
    assert "api: {timeout: 30}" in text
    values.write_text(text.replace("api: {timeout: 30}", "api: {timeout: 31}"), encoding="utf-8")
    wait_until(lambda: revisions(ready) != before, "the edit of the chart is not seen", 180)
    took = wait_ready(ready)
    print(f"upgraded and Ready after {took:.0f} s")
    assert {name for name, revision in revisions(ready).items() if revision != before[name]} == {"placement"}
    gone = {running[uid]["metadata"]["labels"]["application"] for uid in running.keys() - pods(ready).keys()}
    assert gone == {"placement"}
    run_smoke(ready)
