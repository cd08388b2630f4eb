"""A Helm action that is killed in its middle, and what it shows to others while it runs."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.contract.conftest import Bench, wait_until

pytestmark = pytest.mark.cluster

RUNNING_WELL = {"hook": {"events": "post-install,post-upgrade", "outcome": "succeeds"}}


@contextmanager
def installing(bench: Bench) -> Iterator[subprocess.Popen[bytes]]:
    """An install in another process that waits for a hook which never ends."""
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "tests.contract.helm_action",
            str(bench.sandbox.helm),
            str(bench.sandbox.kubeconfig),
            bench.namespace,
        ],
        cwd=Path(__file__).parents[2],
    )
    try:
        wait_until(lambda: _hook_runs(bench), "the hook runs")
        yield process
    finally:
        process.kill()
        process.wait()


def test_a_killed_install_is_marked_failed_and_upgraded_with_its_hooks(bench: Bench) -> None:
    with installing(bench):
        pass
    wait_until(lambda: not _helm_processes(bench), "helm has ended with it")
    assert [one.status for one in bench.records.observe(bench.namespace)["web"]] == ["pending-install"]

    assert bench.records.mark_failed("web", bench.namespace, 1, "its writer is gone")
    assert bench.statuses("web") == ["failed"]
    bench.helm.upgrade(bench.request("web", RUNNING_WELL))

    assert bench.statuses("web")[-1] == "deployed"
    assert [hook.phase for hook in bench.helm.hooks("web", bench.namespace)] == ["Succeeded"]


def test_a_secret_is_in_no_command_line_environment_or_file(bench: Bench) -> None:
    with installing(bench) as process:
        for pid in (str(process.pid), *_helm_processes(bench)):
            for place in ("cmdline", "environ"):
                assert b"sw0rdfish" not in Path(f"/proc/{pid}/{place}").read_bytes()
            for file in _open_files(pid):
                assert b"sw0rdfish" not in file.read_bytes()


def _hook_runs(bench: Bench) -> bool:
    found = bench.object("job", "web-hook")
    return found is not None and bool(found.get("status", {}).get("active"))


def _helm_processes(bench: Bench) -> list[str]:
    """Processes of the helm binary at work in the test's namespace."""
    found = []
    for directory in Path("/proc").iterdir():
        if directory.name.isdigit():
            try:
                words = (directory / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if str(bench.sandbox.helm).encode() in words[:5] and bench.namespace.encode() in words:
                found.append(directory.name)
    return found


def _open_files(pid: str) -> list[Path]:
    links = [link.resolve() for link in Path(f"/proc/{pid}/fd").iterdir()]
    return [path for path in links if path.is_file() and path.stat().st_size < 1_000_000]
