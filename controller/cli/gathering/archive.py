"""Writes the support file: a tar.gz, entry by entry, within bounds, whole or not at all."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import secrets
import tarfile
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from controller.errors import FileRefused

# Of one entry, before it is compressed; what is larger is cut and says so.
ENTRY_OCTETS = 16 * 1024 * 1024
_IN_MEMORY = 1024 * 1024


@dataclass
class Contents:
    """What the file has and what it lacks, for its last entry, `manifest.json`."""

    entries: list[dict[str, Any]] = field(default_factory=list)
    left_out: list[dict[str, str]] = field(default_factory=list)

    def lacks(self, path: str, why: str) -> None:
        """Notes what is missing, or only a part of it is there."""
        self.left_out.append({"path": path, "why": why})


class _Entry:
    """What the manifest says of an entry."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.size = self._lines = 0
        self._digest = hashlib.sha256()

    def take(self, line: bytes) -> None:
        self._digest.update(line)
        self.size, self._lines = self.size + len(line), self._lines + 1

    def written(self) -> dict[str, Any]:
        return {
            "path": self.path,
            "bytes": self.size,
            "lines": self._lines,
            "sha256": self._digest.hexdigest(),
        }


class Archive:
    """A tar.gz that is being written. `most`: octets of all entries together, before compression."""

    def __init__(self, tar: tarfile.TarFile, root: str, most: int, taken: float) -> None:
        self._tar = tar
        self._root = root
        self._left = most
        self._taken = taken
        self.contents = Contents()

    @property
    def full(self) -> bool:
        """Whether there is no room for a further entry."""
        return self._left <= 0

    def add(self, path: str, lines: Iterable[str]) -> None:
        """Writes an entry, line by line. A line that fits no more ends it.

        An error of `lines` is raised after what came before it was written.
        """
        with tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY) as content:
            entry = _Entry(path)
            whole = False
            try:
                self._copy(entry, lines, content)
                whole = True
            finally:
                if whole or entry.size:
                    content.seek(0)
                    self._write(path, content, entry.size)
                    self.contents.entries.append(entry.written())

    def _copy(self, entry: _Entry, lines: Iterable[str], content: IO[bytes]) -> None:
        room = min(ENTRY_OCTETS, self._left)
        for line in lines:
            octets = f"{line}\n".encode("utf-8", "replace")
            if entry.size + len(octets) > room:
                what = "the file" if room < ENTRY_OCTETS else "the entry"
                self.contents.lacks(entry.path, f"cut: {what} is full")
                return
            content.write(octets)
            entry.take(octets)

    def end(self, about: dict[str, Any]) -> None:
        """Writes `manifest.json`, whatever room is left."""
        document = {**about, "entries": self.contents.entries, "leftOut": self.contents.left_out}
        text = json.dumps(document, indent=2, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
        self._write("manifest.json", io.BytesIO(text), len(text))

    def _write(self, path: str, content: IO[bytes], size: int) -> None:
        entry = tarfile.TarInfo(f"{self._root}/{path}")
        entry.size, entry.mtime, entry.mode = size, int(self._taken), 0o600
        self._tar.addfile(entry, content)
        self._left -= size


@contextmanager
def writing(file: Path, root: str, most: int, taken: float) -> Iterator[Archive]:
    """The archive to fill. The file appears when all is written, for its owner only, and over no other.

    Raises FileRefused where it cannot be written.
    """
    beside = file.with_name(f".{file.name}.{secrets.token_hex(4)}")
    try:
        descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as stream:
                packed = gzip.GzipFile(fileobj=stream, mode="wb", compresslevel=6, mtime=int(taken))
                with packed, tarfile.open(fileobj=packed, mode="w|") as tar:
                    yield Archive(tar, root, most, taken)
                stream.flush()
                os.fsync(stream.fileno())
            os.link(beside, file)
        finally:
            beside.unlink(missing_ok=True)
    except OSError as error:
        raise FileRefused(f"{file} cannot be written: {error.strerror}") from None
