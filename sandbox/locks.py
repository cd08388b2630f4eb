"""A lock between processes, held on a file, that may be removed by its holder."""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from sandbox.errors import SandboxError
from sandbox.patience import Patience

POLL_SECONDS = 0.1


def _is_current(descriptor: int, path: Path) -> bool:
    """Whether `path` still names the file that was locked (a holder may have removed it)."""
    try:
        named = path.stat()
    except FileNotFoundError:
        return False
    locked = os.fstat(descriptor)
    return (named.st_dev, named.st_ino) == (locked.st_dev, locked.st_ino)


@contextlib.contextmanager
def locked(
    path: Path,
    *,
    timeout: float,
    remove: bool = False,
    on_wait: Callable[[], None] | None = None,
) -> Iterator[None]:
    """Holds an exclusive lock on `path`; the kernel releases it when the process dies.

    `timeout` in seconds; `remove` deletes the file while the lock is still held, so that nothing stays
    behind; `on_wait` is called once when another process holds the lock. Raises SandboxError at the
    deadline.
    """
    patience = Patience(timeout)
    announced = False
    while True:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except FileNotFoundError:
            continue  # a holder that left removed the empty directory just now
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            if not announced and on_wait is not None:
                on_wait()
            announced = True
            if patience.is_over():
                raise SandboxError(
                    f"another process has held {path} for {timeout:.0f} s; wait for it, or end it"
                ) from None
            time.sleep(POLL_SECONDS)
            continue
        if _is_current(descriptor, path):
            break
        os.close(descriptor)
    try:
        yield
    finally:
        if remove:
            path.unlink(missing_ok=True)
        os.close(descriptor)
