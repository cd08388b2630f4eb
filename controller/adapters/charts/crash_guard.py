"""Which chart files ended the process that read them.

Everything read of a chart is bounded; this is for what nobody thought of. A mark lies beside the cache
while a file is read, and its reader has it locked: the kernel takes the lock of a process that is gone,
and leaves the mark. A container that is killed for another reason while it happens to read leaves one, too,
so a file is read once more, and never again after a second reader has ended.
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

# Readers that a file may end before it is left alone.
MOST_DEATHS = 2
# A chart is read within a second; on a disk that stalls somebody else's turn may take longer.
_PATIENCE = 20.0
_CHECK_SECONDS = 0.05


class CrashGuard:
    """Marks in `directory`, which all who read the same files share."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    @contextlib.contextmanager
    def reading(self, path: Path, stamp: object) -> Iterator[None]:
        """Around the reading of a file in the state that `stamp` stands for.

        Raises ChartInvalid for one that has ended its readers, and ChartPending while another process
        reads it for longer than usual. Where no mark can be written, it is read without.
        """
        mark = self._mark(path, stamp)
        try:
            self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            handle = _locked(mark)
        except OSError:
            # A directory that is read-only, full, or of somebody else: osctl on files of the image.
            yield
            return
        if handle is None:
            raise ChartPending(f"chart {path} is being read by another process", 5.0)
        try:
            deaths = len(os.pread(handle, MOST_DEATHS, 0))
            if deaths >= MOST_DEATHS:
                raise ChartInvalid(
                    f"chart {path} is not read any more: {MOST_DEATHS} processes ended while they read it, "
                    "as for want of memory; publish the chart under another version, or give the containers "
                    f"core and helmbundle more memory, and remove {mark}"
                )
            with contextlib.suppress(OSError):
                os.pwrite(handle, b"x", deaths)
            try:
                yield
            finally:
                # Whatever came of it, its reader has outlived it.
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
            # Whoever had it before may have removed it meanwhile: then it is nobody's mark.
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
