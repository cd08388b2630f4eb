"""The demo with real pods: our controller, from its own image, deploys a region that runs on a real node."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from sandbox.cluster import Sandbox, take_down
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
from sandbox.images.names import names_of_recipes
from sandbox.images.recipes import recipes
from sandbox.kubectl import PATIENCE

NAME = "real"
EXAMPLE = CHART / "examples" / "core-real.yaml"
SERIES = "2025.1"
IMAGES_SECONDS = 120
READY_SECONDS = 2400
# Of `osctl smoke`, steps and removal, where much else runs on the same cores.
SMOKE_SECONDS = 900


def region_images(example: Path) -> tuple[str, ...]:
    """Every image that the region runs, as osctl tells it. Raises SandboxError."""
    command = [sys.executable, "-P", "-m", "controller.cli.main", "images", str(example), "--output", "json"]
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


def load_region_images(box: Sandbox, example: Path, tell: Tell) -> None:
    """Puts every image of the region into the real node, built first where the cache lacks it."""
    named = names_of_recipes(region_images(example), recipes(SERIES))
    for recipe in recipes(SERIES):
        image = ensure_image(recipe, tell)
        if box.images().load(image, named.get(recipe.name, ())):
            tell(f"the node has the image {recipe.name}, {image.size / 1e6:.0f} MB")


def run_real_demo(box: Sandbox, tell: Tell) -> None:
    """From a running sandbox with a real node to a Ready region. Raises SandboxError."""
    load_region_images(box, EXAMPLE, tell)
    tell("building the controller's image as its Dockerfile says")
    is_new = box.images().load(ensure_controller_image(tell), [CONTROLLER_NAME])
    if is_new:
        tell("the node has the controller's image")
    tell(f"installing the chart {CHART.relative_to(ROOT)} with Helm")
    install_chart(box)
    wanted = f"--timeout={PATIENCE:.0f}s"
    deployment = (f"deployment/{RELEASE}", "--namespace", CONTROLLER_NAMESPACE)
    if is_new:
        # Of an earlier demo: a tag that is another image now starts no pod.
        box.kubectl("rollout", "restart", *deployment)
    box.kubectl("rollout", "status", *deployment, wanted, timeout=600)
    tell(f"osctl apply -f {EXAMPLE.relative_to(ROOT)} --wait")
    apply_region(box, EXAMPLE, READY_SECONDS)
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
