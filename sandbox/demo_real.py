"""The demo with real pods: our controller, from its own image, deploys a region that runs on a real node."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from sandbox.cluster import Sandbox
from sandbox.demo import (
    CHART,
    CONTROLLER_NAMESPACE,
    NAMESPACE,
    REGION,
    RELEASE,
    ROOT,
    Tell,
    apply_region,
    install_chart,
)
from sandbox.errors import SandboxError
from sandbox.images.build import CONTROLLER_NAME, ensure_controller_image, ensure_image
from sandbox.images.names import names_of_recipes, repository
from sandbox.images.recipes import recipes
from sandbox.kubectl import PATIENCE
from sandbox.node.plan import VOLUMES, NodeLayout
from sandbox.take_down import take_down

NAME = "real"
EXAMPLE = CHART / "examples" / "core-real.yaml"
SERIES = "2025.1"
IMAGES_SECONDS = 120
READY_SECONDS = 2400
# Of `osctl smoke`, steps and removal, where much else runs on the same cores.
SMOKE_SECONDS = 900


# Beside the example's, with OpenStack-Helm's charts: the lean ones have none of these services.
MORE_FEATURES: dict[str, Any] = {
    "services": {"enabled": ["block-storage", "orchestration", "dashboard"]},
    "blockStorage": {
        "backends": [
            {
                "name": "fake",
                "type": "custom",
                "conf": {"volume_driver": "cinder.tests.fake_driver.FakeLoggingVolumeDriver"},
            }
        ]
    },
}


# In the place of the example's: libvirt and Nova as they are, but that neither waits for an agent.
# Guests stay in the control group of libvirt's pod, and end with it: the groups above are the machine's.
HYPERVISOR: dict[str, Any] = {
    "libvirt": {
        "values": {
            "conf": {"kubernetes": {"cgroup_controllers": []}, "qemu": {"cgroup_controllers": []}},
            "dependencies": {"dynamic": {"targeted": {"openvswitch": {"libvirt": {"pod": []}}}}},
        }
    },
    "nova": {
        "values": {"dependencies": {"dynamic": {"targeted": {"openvswitch": {"compute": {"pod": []}}}}}},
    },
}


@dataclass(frozen=True)
class RealDemo:
    """What the region is made of: a series of OpenStack; our charts, or a checkout of OpenStack-Helm's.

    `boots`: servers are guests of QEMU, which run; else Nova has its fake driver.
    """

    series: str = SERIES
    charts: Path | None = None
    boots: bool = False

    def region(self) -> dict[str, Any]:
        """The OpenStackDeployment: that of the example, with what is chosen here."""
        region: dict[str, Any] = yaml.safe_load(EXAMPLE.read_text(encoding="utf-8"))
        region["spec"]["openstackVersion"] = self.series
        if self.boots:
            region["spec"]["services"]["compute"] = HYPERVISOR
            neutron = region["spec"]["services"]["networking"]["neutron"]["values"]
            neutron["conf"]["plugins"]["ml2_conf"]["ml2"]["mechanism_drivers"] = "osctl_tap"
        if self.charts is not None:
            region["spec"]["charts"] = {"repository": self.charts.as_uri()}
            region["spec"]["features"] |= MORE_FEATURES
            conf = region["spec"]["services"]["networking"]["neutron"]["values"]["conf"]
            # Theirs is the zone of agents, of which there are none.
            conf["neutron"] = {"DEFAULT": {"default_availability_zones": None}}
        return region

    def settings(self) -> Sequence[str]:
        """Of the controller's chart: the checkout is in its containers where it is on this machine.

        One spec then serves osctl here and the controller there.
        """
        if self.charts is None:
            return ()
        mount = {"name": "charts", "mountPath": str(self.charts), "readOnly": True}
        volume = {"name": "charts", "hostPath": {"path": f"{VOLUMES}/charts", "type": "Directory"}}
        return (
            f"--set-json=extraVolumes={json.dumps([volume])}",
            f"--set-json=extraVolumeMounts={json.dumps([mount])}",
        )

    def write(self, box: Sandbox) -> Path:
        """The file of the region, and the checkout in the node, as they are now. Raises OSError."""
        if self == RealDemo():
            return EXAMPLE
        if self.charts is not None:
            inside = NodeLayout(box.layout.node).volumes / "charts"
            shutil.rmtree(inside, ignore_errors=True)
            shutil.copytree(self.charts, inside, symlinks=True, ignore=shutil.ignore_patterns(".git"))
        file = box.layout.directory / "region.yaml"
        file.write_text(yaml.safe_dump(self.region(), sort_keys=False), encoding="utf-8")
        return file


def region_images(example: Path, *more: str) -> tuple[str, ...]:
    """Every image that the region runs, as osctl tells it with these options. Raises SandboxError."""
    osctl = [sys.executable, "-P", "-m", "controller.cli.main"]
    command = [*osctl, "images", str(example), "--output", "json", *more]
    answer = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        timeout=IMAGES_SECONDS,
        env={"PYTHONPATH": str(ROOT), "PATH": ""},
    )
    if answer.returncode != 0:
        raise SandboxError(f"osctl images {example}: {answer.stderr.strip()}")
    return tuple(row["image"] for row in json.loads(answer.stdout))


def load_region_images(
    box: Sandbox, example: Path, series: str, tell: Tell, *, passing: bool = False
) -> None:
    """Puts every image of the region into the real node, built first where the cache lacks it.

    `passing`: also those that an upgrade to the region only passes through, as far as there are recipes.
    """
    known = recipes(series)
    images = region_images(example)
    if passing:
        made = {name for recipe in known for name in recipe.repositories}
        images += tuple(one for one in region_images(example, "--tags") if repository(one) in made)
    named = names_of_recipes(images, known)
    for recipe in known:
        if recipe.name in named:
            image = ensure_image(recipe, tell)
            if box.images().load(image, named[recipe.name]):
                tell(f"the node has the image {recipe.name}, {image.size / 1e6:.0f} MB")


def install_controller(box: Sandbox, demo: RealDemo, tell: Tell) -> None:
    """Our controller in its own pod, Ready, of the present checkout. Raises SandboxError."""
    tell("building the controller's image as its Dockerfile says")
    is_new = box.images().load(ensure_controller_image(tell), [CONTROLLER_NAME])
    if is_new:
        tell("the node has the controller's image")
    deployment = (f"deployment/{RELEASE}", "--namespace", CONTROLLER_NAMESPACE)
    was_there = box.kubectl("get", *deployment, "--ignore-not-found", "--output=name").strip()
    tell(f"installing the chart {CHART.relative_to(ROOT)} with Helm")
    install_chart(box, settings=demo.settings())
    if is_new and was_there:
        # Of an earlier demo: a tag that is another image now starts no pod.
        box.kubectl("rollout", "restart", *deployment)
    box.kubectl("rollout", "status", *deployment, f"--timeout={PATIENCE:.0f}s", timeout=PATIENCE + 60)


def run_real_demo(box: Sandbox, tell: Tell, demo: RealDemo | None = None) -> None:
    """From a running sandbox with a real node to a region that serves. Raises SandboxError."""
    demo = demo or RealDemo()
    example = demo.write(box)
    # Beside each other: one waits for processors, and the other for the disk.
    with ThreadPoolExecutor(1) as beside:
        images = beside.submit(load_region_images, box, example, demo.series, tell)
        install_controller(box, demo, tell)
        images.result()
    tell(f"osctl apply -f {example.relative_to(ROOT) if example == EXAMPLE else example} --wait")
    apply_region(box, example, READY_SECONDS)
    tell(f"osctl smoke {REGION}, in the controller's container node: there are the addresses of the cluster")
    run_smoke(box)


def run_smoke(box: Sandbox) -> None:
    """Has the region used up to a server, on this terminal. Raises SandboxError where a step fails."""
    command = [
        *(str(box.binaries.kubectl), "--kubeconfig", str(box.kubeconfig), "exec"),
        *("--namespace", CONTROLLER_NAMESPACE, f"deployment/{RELEASE}", "--container=node", "--"),
        *("osctl", "smoke", REGION, "--namespace", NAMESPACE),
    ]
    try:
        ended = subprocess.run(command, check=False, timeout=SMOKE_SECONDS).returncode
    except subprocess.TimeoutExpired:
        raise SandboxError(f"osctl smoke did not end within {SMOKE_SECONDS} s") from None
    if ended != 0:
        raise SandboxError(f"the region does not serve (osctl smoke ended with {ended})")


def remove_real_demo() -> bool:
    """Ends the sandbox of the demo, node and region with it; False when there was none."""
    return take_down(NAME)


def next_steps(box: Sandbox) -> str:
    """What to try, as commands that work when they are copied."""
    return f"""\
The region runs, in real pods. In a shell:

  export KUBECONFIG={box.kubeconfig}
  export PATH={box.binaries.kubectl.parent}:{Path(sys.executable).parent}:$PATH

See it
  osctl status
  kubectl -n {CONTROLLER_NAMESPACE} exec deploy/{RELEASE} -c node -- osctl smoke -n {NAMESPACE}
  kubectl -n {NAMESPACE} get osdpl,hb,pods
  kubectl -n {CONTROLLER_NAMESPACE} logs deploy/{RELEASE} -c core

Break it: what was there comes back
  kubectl -n {NAMESPACE} delete pod mariadb-server-0
  kubectl -n {NAMESPACE} delete deploy keystone-api

Stop, and remove every process, mount, link and file
  make demo-down"""
