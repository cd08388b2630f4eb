"""What is reported of a process of Helm that ends without an answer."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from controller.adapters.helm.client import HelmProgram
from controller.adapters.helm.conversation import last_words
from controller.errors import ChartInvalid, HelmFailed
from controller.ports.helm import HelmRequest
from tests.contract.conftest import CHARTS
from tests.fakes.kube import FakeKube

REQUEST = HelmRequest("web", "openstack", str(CHARTS / "small"), {})
# runtime/os_linux.go, newosproc
NO_THREAD = """runtime: failed to create new OS thread (have 7 already; errno=11)
runtime: may need to increase max user processes (ulimit -u)
fatal error: newosproc
"""


def dying(directory: Path, error: str) -> HelmProgram:
    """Helm whose process ends at its first request with that error output, as Go ends it."""
    (directory / "error").write_text(error, encoding="utf-8")
    program = directory / "helm"
    program.write_text(
        f'#!/bin/sh\nread -r line\necho >>"{directory}/asked"\ncat "{directory}/error" >&2\nexit 2\n',
        encoding="utf-8",
    )
    program.chmod(0o755)
    return HelmProgram(FakeKube(), program)


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (
            "W1126 a warning\npanic: runtime error: out of range\n\ngoroutine 1 [running]:\nmain.main()\n",
            "panic: ",
        ),
        (
            "fatal error: runtime: out of memory\n\nruntime.call16(0x3d)\n\t/usr/asm.s:835 +0x3a\n",
            "fatal error: ",
        ),
        ('a remark\nunknown command "work" for "helm"\n', "unknown command"),
        ("", ""),
    ],
)
def test_the_line_that_names_the_cause_is_reported_and_no_stack(error: str, told: str) -> None:
    assert last_words(error).startswith(told)
    assert "\n" not in last_words(error)


# As Go 1.26 says it: runtime/mem_linux.go, malloc.go, mheap.go, mgcmark_greenteagc.go. The last is ENOMEM.
@pytest.mark.parametrize(
    "error",
    [
        "fatal error: runtime: out of memory",
        "runtime: out of memory: cannot allocate 8388608-byte block\nfatal error: out of memory",
        "fatal error: out of memory allocating heap arena metadata",
        "fatal error: runtime: cannot allocate memory",
        "fatal error: out of memory (stackalloc)",
        "SIGSEGV: segmentation violation\nPC=0x437e7d m=0 sigcode=1 addr=0x0\n\ngoroutine 0 [idle]:",
        "fork/exec /bin/true: cannot allocate memory",
    ],
)
def test_a_process_without_memory_is_the_charts_charge(tmp_path: Path, error: str) -> None:
    helm = dying(tmp_path, error)
    for _ in range(2):
        with pytest.raises(ChartInvalid, match="rendering needed more than 512 MiB of memory"):
            helm.render(REQUEST)
    assert (tmp_path / "asked").read_text() == "\n"


def test_a_panic_is_no_want_of_memory(tmp_path: Path) -> None:
    panic = (
        "panic: runtime error: invalid memory address\n[signal SIGSEGV: segmentation violation code=0x1]\n"
    )
    with pytest.raises(HelmFailed, match="panic: runtime error"):
        dying(tmp_path, panic).render(REQUEST)


def test_a_process_without_threads_is_not_the_charts_charge(tmp_path: Path) -> None:
    helm = dying(tmp_path, NO_THREAD)
    for _ in range(2):
        with pytest.raises(HelmFailed, match="Helm could not start a thread") as caught:
            helm.render(REQUEST)
        assert not isinstance(caught.value, ChartInvalid)
    # Each render tries twice, and none is remembered.
    assert (tmp_path / "asked").read_text() == "\n" * 4


def test_a_process_that_cannot_be_started_fails_the_action_with_the_cause(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object, **__: object) -> None:
        raise BlockingIOError(11, os.strerror(11))

    helm = dying(tmp_path, "")
    monkeypatch.setattr("controller.adapters.helm.workers.subprocess.Popen", refused)
    with pytest.raises(HelmFailed, match="Helm cannot be started: Resource temporarily unavailable"):
        helm.install(REQUEST)
