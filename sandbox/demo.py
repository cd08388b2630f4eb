"""The demo: a region from one resource, on a real control plane, left running to be played with."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from sandbox.cluster import Sandbox
from sandbox.controllers import SERVICE_ACCOUNT, Controllers
from sandbox.errors import SandboxError
from sandbox.keep_running import start_keeper, stop_keeper
from sandbox.paths import SOURCE
from sandbox.patience import patient
from sandbox.take_down import take_down

NAME = "demo"
NAMESPACE = "openstack"
CONTROLLER_NAMESPACE = "openstack-controller"
RELEASE = SERVICE_ACCOUNT
ROOT = SOURCE.parent
CHART = ROOT / "charts" / "openstack-controller"
EXAMPLE = CHART / "examples" / "core-single.yaml"
REGION = "region-one"
ALL_CONTAINERS = ("core", "helmbundle", "health", "secrets", "node")
HELM_SECONDS = 300
READY_SECONDS = 600

Tell = Callable[[str], None]


def existing_containers() -> tuple[str, ...]:
    """The containers that this checkout has."""
    return tuple(name for name in ALL_CONTAINERS if (ROOT / "containers" / f"{name}.py").exists())


def controllers_of(box: Sandbox) -> Controllers:
    """The demo's controllers; they end with the sandbox."""
    return Controllers(
        box,
        CONTROLLER_NAMESPACE,
        box.layout.directory / "controllers",
        region_namespace=NAMESPACE,
        containers=existing_containers(),
        owner=box.layout.directory,
    )


def install_chart(
    box: Sandbox, containers: Sequence[str] = ALL_CONTAINERS, settings: Sequence[str] = ()
) -> None:
    """Installs our chart with the helm command, or brings it to what it is now; `settings`: arguments."""
    disabled = [name for name in ALL_CONTAINERS if name not in containers]
    settings = [*settings, *(f"--set=containers.{name}.enabled=false" for name in disabled)]
    command = [str(box.helm), "upgrade", "--install", RELEASE, str(CHART)]
    # Without the word, Helm takes the settings of the time before where none are given.
    command += ["--namespace", CONTROLLER_NAMESPACE, "--create-namespace", "--reset-values", *settings]
    environment = {"HOME": str(box.layout.directory), "KUBECONFIG": str(box.kubeconfig)}
    seconds = patient(HELM_SECONDS)
    try:
        answer = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
            env={"PATH": os.environ.get("PATH", ""), **environment},
        )
    except subprocess.TimeoutExpired:
        raise SandboxError(f"helm did not install the chart within {seconds:.0f} s") from None
    if answer.returncode != 0:
        raise SandboxError(f"helm cannot install {CHART}: {answer.stderr.strip()}")
    box.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=500s")


def run_demo(box: Sandbox, tell: Tell) -> None:
    """From a running sandbox to a Ready region. Raises SandboxError when it does not become Ready."""
    containers = existing_containers()
    tell(f"installing the chart {CHART.relative_to(ROOT)} with Helm")
    install_chart(box, containers)
    controllers = controllers_of(box)
    tell(f"starting the controllers: {', '.join(containers)}")
    stop_keeper(controllers.directory)
    controllers.stop()  # of an earlier demo: they may run what this checkout was then
    controllers.start()
    controllers.wait_healthy()
    tell(f"osctl apply -f {EXAMPLE.relative_to(ROOT)} --wait")
    apply_example(box, controllers)
    # During the start of the demo, the end of a process is reported as an error. From now on a person plays
    # with it.
    start_keeper(controllers.directory, box.layout.directory)


def apply_example(box: Sandbox, controllers: Controllers) -> None:
    """Applies the example's region and waits for it; not any longer than the controllers run."""
    try:
        apply_region(box, EXAMPLE, round(patient(READY_SECONDS)), controllers.check)
    except SandboxError as error:
        raise SandboxError(f"{error}; logs are in {controllers.directory / 'logs'}") from None


def apply_region(box: Sandbox, example: Path, seconds: int, check: Callable[[], None] = lambda: None) -> None:
    """Runs `osctl apply --wait` on this terminal, and ends it when `check` raises. Raises SandboxError."""
    command = [
        *(sys.executable, "-P", "-m", "controller.cli.main", "apply", "--filename", str(example), "--wait"),
        *("--timeout", f"{seconds}s", "--kubeconfig", str(box.kubeconfig)),
    ]
    path = os.pathsep.join(part for part in (str(ROOT), os.environ.get("PYTHONPATH", "")) if part)
    process = subprocess.Popen(command, env={**os.environ, "PYTHONPATH": path})
    try:
        while process.poll() is None:
            check()
            time.sleep(0.2)
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait(10)
    if process.returncode != 0:
        raise SandboxError(f"the region is not Ready (osctl ended with {process.returncode})")


def next_steps(box: Sandbox) -> str:
    """What to try, as commands that work when they are copied."""
    osctl = Path(sys.executable).parent / "osctl"
    command = osctl.name if osctl.exists() else f"{sys.executable} -m controller.cli.main"
    patch = '{"spec":{"services":{"identity":{"keystone":{"values":{"pod":{"replicas":{"api":2}}}}}}}}'
    logs = box.layout.directory / "controllers" / "logs"
    pids = logs.with_name("pids")
    return f"""\
The region runs. In a shell:

  export KUBECONFIG={box.kubeconfig}
  export PATH={box.binaries.kubectl.parent}:{Path(sys.executable).parent}:$PATH

See it
  {command} status
  kubectl -n {NAMESPACE} get osdpl,hb,pods
  helm -n {NAMESPACE} list

Edit one value: exactly one release, keystone, gets a new revision
  kubectl -n {NAMESPACE} patch osdpl {REGION} --type merge -p '{patch}'
  {command} wait && helm -n {NAMESPACE} list

Follow the controllers
  tail -f {logs}/*.log

Kill one, as the kernel would: it runs again within seconds, as by a kubelet (kubelet.log among the logs)
  kill -9 $(python3 -c 'import json; print(json.load(open("{pids}/core.json"))["pid"])')

Delete the region: releases go in reverse order, volumes and their passwords stay
  kubectl -n {NAMESPACE} delete osdpl {REGION} --wait=false && {command} wait {REGION} --for deleted

Stop, and remove every process and file
  make demo-down"""


def remove_demo() -> bool:
    """Ends every process of the demo and removes its files; False when there was no demo."""
    box = Sandbox.open(NAME)
    if box is not None:
        controllers = controllers_of(box)
        stop_keeper(controllers.directory)
        controllers.stop(grace=3.0)
    return take_down(NAME)
