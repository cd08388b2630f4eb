"""Guards what we use of helm-python-sdk beyond its typed interface."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

import helm_python
import pytest

from controller.adapters.helm import go_library
from controller.adapters.helm import sdk as helm_sdk
from controller.adapters.helm.sdk import SdkClient
from controller.domain.api.names import HELM_FIELD_MANAGER
from controller.errors import ApiUnavailable, HelmCancelled
from controller.ports.helm import HelmRequest
from sandbox.patience import patient
from tests.contract.conftest import CHARTS
from tests.fakes.kube import FakeKube

ROOT = Path(__file__).parents[2]
PROGRAM = """
from pathlib import Path
before = Path("/proc/self/cmdline").read_bytes()
from controller.adapters.helm import go_library
from controller.adapters.helm import sdk as helm_sdk
assert Path("/proc/self/cmdline").read_bytes() == before
print(go_library.FIELD_MANAGER)
"""


def nowhere() -> helm_python.Config:
    """A connection to a port on which nothing listens."""
    return helm_python.Config(kube_apiserver="http://127.0.0.1:9", namespace="a")


@pytest.mark.parametrize(
    ("function", "options"),
    [
        ("helm_install", {"replace": True, "labels": {"a": "b"}, "disable_hooks": True}),
        ("helm_upgrade", {"reset_values": True, "max_history": 5, "labels": {"a": "b"}}),
    ],
)
def test_the_options_we_need_are_known_to_the_library(function: str, options: dict[str, object]) -> None:
    common = {"timeout_seconds": 1, "force_conflicts": True, "description": "x"}
    with pytest.raises(helm_python.HelmKubeError):
        go_library.call(
            function, nowhere(), "web", {**common, **options}, chart=str(CHARTS / "small"), values="{}"
        )


@pytest.mark.parametrize(
    ("function", "options"),
    [
        ("helm_uninstall", {"timeout_seconds": 1, "deletion_propagation": "background"}),
        ("helm_rollback", {"timeout_seconds": 1, "version": 1, "force_conflicts": True, "max_history": 5}),
    ],
)
def test_the_options_to_go_back_are_known_to_the_library(function: str, options: dict[str, object]) -> None:
    with pytest.raises(helm_python.HelmKubeError):
        go_library.call(function, nowhere(), "web", options)


@pytest.mark.parametrize("function", ["helm_install", "helm_upgrade"])
def test_an_unknown_option_is_refused_by_the_library(function: str) -> None:
    with pytest.raises(helm_python.HelmInvalidArgError):
        go_library.call(
            function, nowhere(), "web", {"no_such_option": True}, chart=str(CHARTS / "small"), values="{}"
        )


@pytest.mark.slow
@pytest.mark.parametrize("way", ["script", "module", "renamed"])
def test_the_field_manager_is_helm_however_the_process_is_started(tmp_path: Path, way: str) -> None:
    program = tmp_path / "some_program.py"
    program.write_text(PROGRAM)
    if way == "script":
        command = [sys.executable, str(program)]
    elif way == "module":
        command = [sys.executable, "-m", "some_program"]
    else:
        (tmp_path / "bin").mkdir()
        named = tmp_path / "bin" / "osctl-helmbundle"
        named.write_text(f"#!{sys.executable}\n{PROGRAM}")
        named.chmod(0o755)
        command = [str(named)]
    done = subprocess.run(
        command,
        env={"PYTHONPATH": f"{ROOT}:{tmp_path}", "PATH": "/usr/bin"},
        capture_output=True,
        text=True,
        timeout=patient(300),
        check=False,
    )
    assert (done.stdout.strip(), done.returncode) == (HELM_FIELD_MANAGER, 0), done.stderr


def kubeconfig(directory: Path, port: int) -> Path:
    path = directory / "kubeconfig"
    path.write_text(
        "apiVersion: v1\nkind: Config\ncurrent-context: a\n"
        f"clusters: [{{name: a, cluster: {{server: 'http://127.0.0.1:{port}'}}}}]\n"
        "users: [{name: a, user: {}}]\ncontexts: [{name: a, context: {cluster: a, user: a}}]\n"
    )
    return path


def test_an_api_server_that_is_down_is_not_a_failure_of_the_release(tmp_path: Path) -> None:
    helm = SdkClient(FakeKube(), kubeconfig(tmp_path, 9))
    request = HelmRequest("web", "a", str(CHARTS / "small"), {}, timeout=30)
    with pytest.raises(ApiUnavailable):
        helm.install(request)
    with pytest.raises(ApiUnavailable):
        helm.upgrade(request)
    with pytest.raises(ApiUnavailable):
        helm.uninstall("web", "a")
    with pytest.raises(ApiUnavailable):
        helm.history("web", "a")


def test_an_api_server_that_does_not_answer_ends_a_read(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(helm_sdk, "READ_SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        path = kubeconfig(tmp_path, silent.getsockname()[1])
        with pytest.raises(ApiUnavailable, match="no answer within"):
            SdkClient(FakeKube(), path).history("web", "a")


@pytest.mark.slow
def test_an_action_that_cannot_be_ended_is_counted(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        path = kubeconfig(tmp_path, silent.getsockname()[1])
        helm = SdkClient(FakeKube(), path, grace=0.2)
        with pytest.raises(HelmCancelled, match="could not be stopped"):
            helm.install(HelmRequest("web", "a", str(CHARTS / "small"), {}, timeout=1))
        assert helm.detached == 1
