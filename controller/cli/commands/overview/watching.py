"""Shows something again whenever it changes: in place on a terminal, one below the other without one."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from contextlib import redirect_stdout

from controller.adapters.system.clock import SystemClock
from controller.cli.exit_codes import ExitCode
from controller.cli.output import soft_wrapped, stderr
from controller.domain.api.conditions import timestamp
from controller.errors import ApiUnavailable

_SECONDS = 2.0
_CLEAR = "\x1b[H\x1b[2J\x1b[3J"


class _Screen(io.StringIO):
    """Keeps what is printed; for those who print it is the real output, such as a terminal."""

    def isatty(self) -> bool:
        return sys.__stdout__ is not None and sys.__stdout__.isatty()


def watch_output(show: Callable[[], ExitCode], sleep: Callable[[float], None]) -> ExitCode:
    """Until Ctrl-C. A silent API server is reported once, and asked again."""
    before, silent = "", False
    terminal = sys.stdout.isatty()
    try:
        while True:
            screen = _Screen()
            try:
                with redirect_stdout(screen):
                    show()
                silent = False
            except ApiUnavailable as error:
                if not silent:
                    stderr().print(soft_wrapped(f"{error}; asking again"), style="yellow")
                silent = True
            text = screen.getvalue()
            if not silent and text != before:
                head = _CLEAR if terminal else ""
                sys.stdout.write(
                    f"{head}{timestamp(SystemClock().now())}\n{text}" + ("" if terminal else "\n")
                )
                sys.stdout.flush()
                before = text
            sleep(_SECONDS)
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED
