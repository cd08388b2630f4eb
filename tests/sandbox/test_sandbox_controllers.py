"""Our containers as processes: started, found again, killed, and explained when they end."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from controller import operator
from sandbox import controllers as controllers_module
from sandbox import processes
from sandbox.controllers import Controllers
from sandbox.errors import SandboxError
from tests.cluster.region import wait_until

SCRIPT = """
import http.server, os
class Healthy(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers()
env = os.environ
print("answers on", env["HEALTH_ADDRESS"], flush=True)
print("reads", env["REGION_NAMESPACE"], env["DEPLOYED_CONTAINERS"], sorted(env), flush=True)
address = env["HEALTH_ADDRESS"], int(env["HEALTH_PORT"])
http.server.HTTPServer(address, Healthy).serve_forever()
"""
# Ends at its first start as one that has lost its Lease.
LOSING = """
import os, pathlib, sys
lost = pathlib.Path(os.environ["KUBECONFIG"]).with_name("lost")
if not lost.exists():
    lost.touch()
    sys.exit(70)
"""
BROKEN = "import sys; sys.exit('no usable setting')"


class NoCluster:
    """A cluster whose ServiceAccounts all get the same file."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []

    def service_account_kubeconfig(self, namespace: str, name: str, directory: Path) -> Path:
        self.asked.append((namespace, name))
        directory.mkdir(parents=True, exist_ok=True)
        path = directory / "kubeconfig"
        path.write_text("{}")
        return path


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A directory with a package `containers` of our own making."""
    root = tmp_path / "code"
    (root / "containers").mkdir(parents=True)
    (root / "containers" / "__init__.py").touch()
    for name in ("core", "helmbundle"):
        (root / "containers" / f"{name}.py").write_text(SCRIPT)
    (root / "containers" / "secrets.py").write_text(BROKEN)
    return root


@pytest.fixture
def controllers(package: Path, tmp_path: Path) -> Iterator[Controllers]:
    found = made(package, tmp_path, ("core", "helmbundle"))
    try:
        yield found
    finally:
        found.stop(grace=2.0)


def made(package: Path, tmp_path: Path, containers: tuple[str, ...]) -> Controllers:
    return Controllers(
        NoCluster(),
        "openstack",
        tmp_path / "run",
        containers=containers,
        environment={"PYTHONPATH": str(package)},
        die_with_parent=True,
    )


@pytest.mark.slow
def test_they_start_are_healthy_and_stop(controllers: Controllers):
    controllers.start()
    controllers.wait_healthy(120)
    assert controllers.running() == ("core", "helmbundle")
    assert controllers.rss("core") > 1_000_000
    controllers.stop(grace=2.0)
    assert controllers.running() == ()
    assert controllers.pid("core") == 0


@pytest.mark.slow
def test_each_learns_its_region_and_which_containers_are_deployed(controllers: Controllers):
    controllers.start()
    controllers.wait_healthy(120)
    assert "\nreads openstack core,helmbundle" in controllers.log("core")


@pytest.mark.slow
def test_their_ports_answer_on_loopback_alone(controllers: Controllers):
    controllers.start()
    controllers.wait_healthy(120)
    assert controllers.log("core").startswith("answers on 127.0.0.1\n")


@pytest.mark.slow
def test_nothing_of_our_own_environment_is_inherited_but_what_any_program_needs(
    controllers: Controllers, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "x")
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy")
    controllers.start()
    controllers.wait_healthy(120)
    assert "AWS_SECRET_ACCESS_KEY" not in controllers.log("core")
    assert "HTTPS_PROXY" not in controllers.log("core")


@pytest.mark.slow
def test_a_killed_one_is_started_again_and_the_others_stay(controllers: Controllers):
    controllers.start()
    controllers.wait_healthy(120)
    core, helmbundle = controllers.pid("core"), controllers.pid("helmbundle")
    controllers.kill("core")
    assert controllers.running() == ("helmbundle",)
    with pytest.raises(SandboxError, match="core does not run any more"):
        controllers.check()
    controllers.start()
    controllers.wait_healthy(120)
    assert controllers.pid("core") not in (0, core)
    assert controllers.pid("helmbundle") == helmbundle


@pytest.mark.slow
def test_another_run_finds_those_that_an_earlier_one_left(
    controllers: Controllers, package: Path, tmp_path: Path
):
    controllers.start("core")
    again = made(package, tmp_path, ("core", "helmbundle"))
    assert again.pid("core") == controllers.pid("core")
    again.stop(grace=2.0)
    assert controllers.running() == ()


@pytest.mark.slow
def test_one_that_was_started_but_never_noted_is_stopped_too(controllers: Controllers):
    controllers.start("core")
    stray = processes.read_pid_file(controllers.directory / "pids" / "core.json")
    (controllers.directory / "pids" / "core.json").unlink()
    controllers.stop(grace=2.0)
    assert stray is not None
    assert not processes.is_running(stray)


@pytest.mark.slow
def test_one_that_ends_at_start_is_reported_with_the_end_of_its_log(package: Path, tmp_path: Path):
    broken = made(package, tmp_path, ("secrets",))
    broken.start()
    with pytest.raises(SandboxError, match="no usable setting"):
        broken.wait_healthy(120)


@pytest.mark.slow
def test_one_that_has_lost_its_lease_is_started_again(package: Path, tmp_path: Path):
    (package / "containers" / "core.py").write_text(LOSING + SCRIPT)
    with made(package, tmp_path, ("core",)) as losing:
        losing.wait_healthy(120)
        assert (losing.directory / "lost").exists()
        losing.check()


@pytest.mark.slow
def test_one_that_loses_its_lease_is_started_again_by_who_supervises_it(package: Path, tmp_path: Path):
    (package / "containers" / "core.py").write_text(LOSING + SCRIPT)
    with made(package, tmp_path, ("core",)) as losing:
        losing.supervise()
        wait_until("it runs again", lambda: losing.healthy("core"))


def test_the_code_of_a_lost_lease_is_that_with_which_a_container_ends():
    assert controllers_module.LEASE_LOST == operator.LEASE_LOST


@pytest.mark.slow
def test_the_token_is_that_of_the_chosen_service_account(package: Path, tmp_path: Path):
    cluster = NoCluster()
    with Controllers(
        cluster,
        "control",
        tmp_path / "run",
        containers=("core",),
        region_namespace="region",
        service_account="osctl-x",
        environment={"PYTHONPATH": str(package)},
        die_with_parent=True,
    ) as controllers:
        controllers.wait_healthy(120)
        assert "reads region" in controllers.log("core")
    assert cluster.asked == [("control", "osctl-x")]


def test_an_unknown_name_is_refused(controllers: Controllers):
    with pytest.raises(SandboxError, match='no container "nova"'):
        controllers.pid("nova")


@pytest.mark.slow
def test_a_stopped_sandbox_takes_those_it_owns_with_it(package: Path, tmp_path: Path):
    owner = tmp_path / "sandbox"
    owned = Controllers(
        NoCluster(),
        "openstack",
        owner / "controllers",
        containers=("core",),
        environment={"PYTHONPATH": str(package)},
        owner=owner,
        die_with_parent=True,
    )
    owned.start()
    # The kernel shows a new program's environment a moment after it runs.
    (found,) = wait_until("it is found", lambda: processes.find_owned(owner))
    assert found.pid == owned.pid("core")
    owned.stop(grace=2.0)
