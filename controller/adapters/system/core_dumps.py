"""Keeps what a process has in its memory, credentials among it, out of files when it crashes."""

from __future__ import annotations

import contextlib
import resource

# Linux writes no file of less than a page, and with this very size starts no program that takes dumps in,
# which it would with 0 (fs/coredump.c).
_SIZE = 1


def forbid_core_dumps() -> None:
    """For this process, and those that it starts."""
    with contextlib.suppress(ValueError, OSError):  # a smaller limit from outside stays
        resource.setrlimit(resource.RLIMIT_CORE, (_SIZE, _SIZE))
