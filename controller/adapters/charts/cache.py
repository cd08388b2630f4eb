"""Pulled charts on disk: archives by their content, and the repository, name and version of each.

Layout below the directory given: `v1/content/<sha256>/<name>-<version>.tgz` and `v1/refs/<key>.json`. An
archive is written to a temporary file and renamed, and its ref follows. So a process killed at any moment
leaves no incomplete chart, only a file that the next process removes. Each process compares a file with its
digest again, so that a damaged disk is detected.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from controller.adapters.charts.files import LARGEST_ARCHIVE, Stamp, stamp_of
from controller.domain.releases.bundle import ChartRef
from controller.errors import ChartInvalid, ChartPending

# A region has some 20 charts of 100 kB; this holds years of them.
LARGEST_CACHE = 256 * 1024 * 1024
# A chart used within this time is never removed to make room, because a process may be about to load it.
KEPT_SECONDS = 24 * 3600.0
# A temporary file older than any pull was left by a killed process.
STALE_SECONDS = 3600.0
_NOTE_USE_EVERY = 3600.0
_CHECK_SECONDS = 0.1


@dataclass(frozen=True)
class _Ref:
    path: Path
    digest: str


class ChartCache:
    """Charts of repositories in `directory`, which several processes of one user may share."""

    def __init__(self, directory: Path, *, limit: int = LARGEST_CACHE) -> None:
        self._home = directory / "v1"
        self._limit = limit
        self._verified: dict[Path, Stamp] = {}
        self._lock = threading.Lock()

    def find(self, chart: ChartRef) -> Path | None:
        """The archive of the chart, None when it has not been pulled (or is damaged: then it is dropped)."""
        if not self._home.is_dir():
            return None
        self._require_ours()
        ref = self._read_ref(chart)
        if ref is None:
            return None
        if not self._is_whole(ref):
            self._drop(chart, ref)
            return None
        self._note_use(chart)
        return ref.path

    def store(self, chart: ChartRef, content: bytes) -> Path:
        """Keeps the archive; its path. Raises ChartInvalid when the disk refuses."""
        digest = hashlib.sha256(content).hexdigest()
        name = f"{chart.name[:100]}-{chart.version[:100]}.tgz"
        archive = self._home / "content" / digest / name
        document = {
            "repository": chart.repository,
            "name": chart.name,
            "version": chart.version,
            "sha256": digest,
            "file": name,
        }
        try:
            self._prepare()
            _write(archive, content)
            _write(self._ref(chart), json.dumps(document, indent=1).encode())
        except OSError as error:
            raise ChartInvalid(
                f'chart "{chart.name}" cannot be kept in {self._home}: {error.strerror}; '
                "make room there, or set CHART_CACHE_DIR to another directory",
                retry_after=30.0,
            ) from None
        # Another process may do the same.
        with contextlib.suppress(OSError):
            self._make_room()
        return archive

    @contextlib.contextmanager
    def locked(self, chart: ChartRef, seconds: float) -> Iterator[None]:
        """Only one process pulls a chart at a time. The lock ends with the process that holds it.

        Raises ChartPending when another process holds it for longer than `seconds`.
        """
        try:
            self._prepare()
            handle = os.open(self._ref(chart).with_suffix(".lock"), os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise ChartInvalid(
                f"{self._home} cannot be written: {error.strerror}", retry_after=30.0
            ) from None
        try:
            until = time.monotonic() + seconds
            while not _try_lock(handle):
                if time.monotonic() > until:
                    raise ChartPending(f'chart "{chart.name}" is being pulled by another process', 5.0)
                time.sleep(_CHECK_SECONDS)
            yield
        finally:
            os.close(handle)

    def _prepare(self) -> None:
        self._home.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._require_ours()
        for name in ("content", "refs"):
            (self._home / name).mkdir(mode=0o700, exist_ok=True)

    def _require_ours(self) -> None:
        """A directory in a world-writable place could belong to another user, with that user's charts."""
        try:
            stat = self._home.lstat()
        except OSError as error:
            raise ChartInvalid(f"{self._home} cannot be read: {error.strerror}") from None
        if stat.st_uid not in (0, os.geteuid()) or stat.st_mode & 0o002:
            raise ChartInvalid(
                f"{self._home} belongs to someone else or may be written by anyone; "
                "remove it, or set CHART_CACHE_DIR to a directory of your own"
            )

    def _ref(self, chart: ChartRef) -> Path:
        key = json.dumps([chart.repository, chart.name, chart.version]).encode()
        return self._home / "refs" / f"{hashlib.sha256(key).hexdigest()[:40]}.json"

    def _read_ref(self, chart: ChartRef) -> _Ref | None:
        try:
            found: Any = json.loads(self._ref(chart).read_bytes())
            digest, name = str(found["sha256"]), str(found["file"])
        except (OSError, ValueError, KeyError, TypeError):
            return None
        if len(digest) != 64 or not digest.isalnum() or "/" in name:
            return None
        return _Ref(self._home / "content" / digest / name, digest)

    def _is_whole(self, ref: _Ref) -> bool:
        try:
            stamp = stamp_of(ref.path)
        except ChartInvalid:
            return False
        with self._lock:
            if self._verified.get(ref.path) == stamp:
                return True
        if stamp[2] > LARGEST_ARCHIVE:
            return False
        try:
            whole = hashlib.sha256(ref.path.read_bytes()).hexdigest() == ref.digest
        except OSError:
            return False
        if whole:
            with self._lock:
                self._verified[ref.path] = stamp
        return whole

    def _drop(self, chart: ChartRef, ref: _Ref) -> None:
        with contextlib.suppress(OSError):
            self._ref(chart).unlink(missing_ok=True)
            ref.path.unlink(missing_ok=True)

    def _note_use(self, chart: ChartRef) -> None:
        ref = self._ref(chart)
        with contextlib.suppress(OSError):
            if time.time() - ref.stat().st_mtime > _NOTE_USE_EVERY:
                os.utime(ref)

    def _make_room(self) -> None:
        """Removes files of dead pulls, and above the limit the least recently used charts."""
        now = time.time()
        for part in self._home.glob("*/**/*.part"):
            if now - part.stat().st_mtime > STALE_SECONDS:
                part.unlink(missing_ok=True)
        sizes = {path: path.stat().st_size for path in (self._home / "content").glob("*/*.tgz")}
        total = sum(sizes.values())
        if total <= self._limit:
            return
        refs = sorted(
            (path.stat().st_mtime, path, _archive_of(path)) for path in (self._home / "refs").glob("*.json")
        )
        kept = {archive for used, _, archive in refs if now - used <= KEPT_SECONDS}
        for _, ref, archive in refs:
            if total <= self._limit or archive in kept:
                continue
            ref.unlink(missing_ok=True)
            if archive:
                expected = self._home / "content" / archive
                expected.unlink(missing_ok=True)
                expected.parent.rmdir()
                total -= sizes.pop(expected, 0)


def _archive_of(ref: Path) -> str:
    """The path of a ref's archive below `content`, empty when the ref cannot be read."""
    try:
        found = json.loads(ref.read_bytes())
        return f"{found['sha256']}/{found['file']}"
    except (OSError, ValueError, KeyError, TypeError):
        return ""


def _write(path: Path, content: bytes) -> None:
    """Writes a file completely or not at all."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    part = path.parent / f".{os.getpid()}-{threading.get_ident()}.part"
    try:
        with part.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _try_lock(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
