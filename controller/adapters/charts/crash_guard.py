"""Records chart files that killed the process that read them.

All reads of a chart are bounded; this protects against unknown cases. A mark exists beside the cache while a
file is read, and its reader locks it. When a process dies, the kernel releases the lock and the mark stays. A
container killed for another reason during a read also leaves one. So a file is read once more, and never
again after a second reader has died.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

from controller.errors import ChartInvalid, ChartPending

# The number of readers that may die before the file is no longer read.
MOST_DEATHS = 2
# A chart is read within a second; on a stalled disk the turn of another process may take longer.
_PATIENCE = 20.0
_CHECK_SECONDS = 0.05


class CrashGuard:
    """Marks in `directory`, shared by all readers of the same files."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    @contextlib.contextmanager
    def reading(self, path: Path, stamp: object) -> Iterator[None]:
        """Wraps the read of a file in the state of `stamp`.

        Raises ChartInvalid for a file that has killed its readers, and ChartPending while another process
        reads it for longer than usual. If no mark can be written, the file is read without one.
        """
        mark = self._mark(path, stamp)
        try:
            self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            handle = _locked(mark)
        except OSError:
            # A directory that is read-only, full, or owned by another user, as for osctl with files of the
            # image.
            yield
            return
        if handle is None:
            raise ChartPending(f"chart {path} is being read by another process", 5.0)
        try:
            deaths = len(os.pread(handle, MOST_DEATHS, 0))
            if deaths >= MOST_DEATHS:
                raise ChartInvalid(
                    f"chart {path} is no longer read: {MOST_DEATHS} processes were killed while they "
                    "read it, probably by lack of memory; publish the chart under another version, "
                    f"or give the containers core and helmbundle more memory, and remove {mark}"
                )
            with contextlib.suppress(OSError):
                os.pwrite(handle, b"x", deaths)
            try:
                yield
            finally:
                # Whatever the result, its reader has survived.
                mark.unlink(missing_ok=True)
        finally:
            os.close(handle)

    def _mark(self, path: Path, stamp: object) -> Path:
        key = hashlib.sha256(f"{path}\0{stamp!r}".encode("utf-8", "surrogateescape")).hexdigest()
        return self._directory / key[:40]


def _locked(mark: Path) -> int | None:
    """The mark, opened and locked; None while another process has it for too long. Raises OSError."""
    until = time.monotonic() + _PATIENCE
    while True:
        handle = os.open(mark, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # The previous holder may have removed it meanwhile; then this mark is not valid.
            if os.fstat(handle).st_nlink:
                return handle
        except BlockingIOError:
            if time.monotonic() > until:
                os.close(handle)
                return None
        except OSError:
            os.close(handle)
            raise
        os.close(handle)
        time.sleep(_CHECK_SECONDS)
