"""Prevents that the memory of a crashed process, with its credentials, is written into files."""

from __future__ import annotations

import contextlib
import resource

# Linux writes no file smaller than a page. With exactly this size it also starts no dump handler, which it
# would with 0 (fs/coredump.c).
_SIZE = 1


def forbid_core_dumps() -> None:
    """For this process, and those that it starts."""
    with contextlib.suppress(ValueError, OSError):  # keeps a smaller limit from outside
        resource.setrlimit(resource.RLIMIT_CORE, (_SIZE, _SIZE))
