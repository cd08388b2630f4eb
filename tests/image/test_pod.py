"""The controller's pod as a kubelet makes it: with what its Deployment says, and no more."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox.cluster import Sandbox
from sandbox.image.debian import SUITES, ensure_base, lacking
from sandbox.image.dockerfile import Image, build
from sandbox.pod import Pod
from sandbox.ports import find_free_port, is_free
from tests.cluster.conftest import remove
from tests.cluster.region import CONTAINERS, ROOT, Region, wait_until

pytestmark = [pytest.mark.cluster, pytest.mark.xdist_group("pod"), pytest.mark.timeout(1800)]

# The checkout's own Python on this machine's files, or the image as the Dockerfile says on a base.
IMAGES = tuple(pytest.param(suite, marks=pytest.mark.image) for suite in SUITES)
BASES = ("checkout", *IMAGES)


@pytest.fixture(scope="module", params=BASES)
def image(request: pytest.FixtureRequest) -> Image | None:
    if request.param == "checkout":
        return None
    if reason := lacking():
        pytest.skip(reason)
    return build(ROOT / "Dockerfile", ensure_base(request.param))


@pytest.fixture
def region(sandbox: Sandbox, namespace: str, tmp_path: Path) -> Iterator[Region]:
    """Our chart, and none of our processes."""
    region = Region(sandbox, namespace, tmp_path / "region", containers=())
    yield region
    remove(region)


def free_ports() -> int:
    """The first of so many neighbouring ports as there are containers."""
    while True:
        first = find_free_port()
        if first + len(CONTAINERS) < 65536 and all(is_free(first + one) for one in range(len(CONTAINERS))):
            return first


@pytest.fixture
def pod(sandbox: Sandbox, region: Region, image: Image | None, tmp_path: Path) -> Iterator[Pod]:
    """The pod of the installed Deployment, without a home directory."""
    address = json.dumps([{"name": "HEALTH_ADDRESS", "value": "127.0.0.1"}])
    loopback = [f"--set-json=containers.{name}.env={address}" for name in CONTAINERS]
    # Pods that are simulated serve nothing that could be probed.
    settings = {"firstHealthPort": free_ports(), "probeSeconds": 0}
    region.install_chart(f"--set-json=settings={json.dumps(settings)}", *loopback)
    deployment = region.get("deployment", f"osctl-{region.namespace}")
    for container in deployment["spec"]["template"]["spec"]["containers"]:
        container["env"] = [entry for entry in container["env"] if entry["name"] != "HOME"]
    pod = Pod(sandbox, deployment, tmp_path / "pod", image)
    yield pod
    pod.stop(grace=2.0)


def started(pod: Pod) -> None:
    """Starts the pod, and waits until the kubelet would call it ready."""
    pod.start()
    wait_until(
        "the pod is ready",
        lambda: all(ready(pod, name) for name in CONTAINERS),
        show=lambda: "\n".join(f"--- {name}\n{pod.log(name)[-3000:]}" for name in CONTAINERS),
    )


def ready(pod: Pod, name: str) -> bool:
    assert pod.ended(name) is None, f"{name} ended with {pod.ended(name)}:\n{pod.log(name)[-3000:]}"
    return pod.answers(name, "readinessProbe")


def test_every_container_gets_ready_and_ends_when_it_is_asked_to(pod: Pod) -> None:
    started(pod)
    for name in CONTAINERS:
        assert pod.answers(name, "startupProbe") and pod.answers(name, "livenessProbe")
        pod.signal(name, signal.SIGTERM)
    # As process number 1 it obeys only where it says so itself.
    wait_until("all have ended", lambda: all(pod.ended(name) is not None for name in CONTAINERS), 30)
    assert {name: pod.ended(name) for name in CONTAINERS} == dict.fromkeys(CONTAINERS, 0)


@pytest.mark.parametrize("image", IMAGES, indirect=True)
def test_the_demos_region_gets_ready_by_the_image(region: Region, pod: Pod) -> None:
    started(pod)
    region.apply()
    wait_until("Ready", region.ready, 600, lambda: json.dumps(region.status(), indent=1))
    for name in CONTAINERS:
        assert ready(pod, name)
        # What a library stumbles over on a read-only root stands in the log.
        serious = [line for line in pod.log(name).splitlines() if '"ERROR"' in line or "Traceback" in line]
        # The API server answers so for a moment after a definition was made; the watch is begun again.
        assert [line for line in serious if "storage is (re)initializing" not in line] == []
