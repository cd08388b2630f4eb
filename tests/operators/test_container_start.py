"""A container that is asked to stop while it still starts."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from sandbox.patience import patient

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="the first process of a PID namespace is made by root")
def test_the_first_process_heeds_sigterm_before_it_has_started() -> None:
    # Short sleeps: a signal that arrives right before one long sleep is handled only after it.
    code = "import containers, time; print('starting', flush=True)\nwhile True: time.sleep(0.01)"
    with subprocess.Popen(
        ["unshare", "--pid", "--fork", "--kill-child", sys.executable, "-P", "-c", code],
        env={"PYTHONPATH": str(ROOT), "PATH": os.environ["PATH"]},
        stdout=subprocess.PIPE,
        text=True,
    ) as outside:
        try:
            assert outside.stdout is not None
            assert outside.stdout.readline() == "starting\n"
            (first,) = Path(f"/proc/{outside.pid}/task/{outside.pid}/children").read_text().split()
            os.kill(int(first), signal.SIGTERM)
            assert outside.wait(patient(10)) == 0
        finally:
            outside.kill()
