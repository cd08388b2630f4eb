"""The requests per second that all processes of Helm may send together."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from controller.adapters.helm.client import HelmProgram
from controller.adapters.helm.process_bounds import HelmLimits
from controller.adapters.helm.program import find_program
from controller.ports.helm import UninstallRequest
from tests.adapters.helm.empty_api import EmptyApi, empty_api
from tests.fakes.kube import FakeKube

ACTIONS = 24
LIMITS = HelmLimits(qps=20, burst=8)


@pytest.fixture
def server() -> Iterator[EmptyApi]:
    with empty_api() as made:
        yield made


def kubeconfig(server: EmptyApi, directory: Path) -> Path:
    cluster = {"server": f"http://127.0.0.1:{server.server_port}"}
    document = {
        "clusters": [{"name": "c", "cluster": cluster}],
        "users": [{"name": "u", "user": {"token": "t"}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "c",
    }
    (directory / "kubeconfig").write_text(json.dumps(document))
    return directory / "kubeconfig"


@pytest.mark.slow
@pytest.mark.parametrize("at_a_time", [1, 4])
def test_all_processes_share_one_budget_of_requests(tmp_path: Path, server: EmptyApi, at_a_time: int) -> None:
    helm = HelmProgram(FakeKube(), find_program(), kubeconfig(server, tmp_path), limits=LIMITS)

    def act(number: int) -> None:
        # In namespaces of their own, so that no connection, and no client of one, serves twice.
        helm.uninstall(UninstallRequest(f"r{number}", f"space{number}"))

    began = time.monotonic()
    with ThreadPoolExecutor(at_a_time) as pool:
        list(pool.map(act, range(ACTIONS)))

    # Load makes requests later, never earlier: before each came no more than were allowed until then.
    moments = sorted(one.moment for one in server.asked)
    assert len(moments) >= 2 * ACTIONS
    for count, moment in enumerate(moments, 1):
        assert count <= LIMITS.burst + LIMITS.qps * (moment - began) + 1


def test_what_was_not_used_is_there_at_once(tmp_path: Path, server: EmptyApi) -> None:
    """A release has its requests together, after a rest: a rate alone would make each of them wait."""
    limits = HelmLimits(qps=0.01, burst=8)
    helm = HelmProgram(FakeKube(), find_program(), kubeconfig(server, tmp_path), limits=limits)

    helm.uninstall(UninstallRequest("r", "space", timeout=60))

    assert server.asked


def test_a_cleaner_of_temporary_files_does_not_stop_helm(tmp_path: Path, server: EmptyApi) -> None:
    helm = HelmProgram(FakeKube(), find_program(), kubeconfig(server, tmp_path))
    shutil.rmtree(helm._home.name)

    helm.uninstall(UninstallRequest("r", "space", timeout=60))

    assert server.asked
