"""The files of a packed chart, read as a stream that counts every octet.

`tarfile` takes the size of a long name from the archive, reads the name whole and keeps all of them: a
megabyte of such headers unpacks to gigabytes before the first file is seen. Here a header is what `tarfile`
makes of its 512 octets, and the long names before it (GNU tar; pax, POSIX.1-2001) are bounded.
"""

from __future__ import annotations

import gzip
import io
import os
import tarfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import BinaryIO, cast

from controller.adapters.charts.files import LARGEST_CHART, LARGEST_FILE, MOST_FILES
from controller.adapters.charts.real_paths import open_plain
from controller.errors import ChartInvalid

# Limits of the headers before a file, of one file and of all: no file system allows paths over 4 KiB.
LARGEST_HEADER = 64 * 1024
LARGEST_HEADERS = 16 * 1024 * 1024
# Each file may have two long names and its own header, and each directory one.
_MOST_HEADERS = 4 * MOST_FILES
_BLOCK = tarfile.BLOCKSIZE
_CHUNK = 64 * 1024

_PAX = (tarfile.XHDTYPE, tarfile.SOLARIS_XHDTYPE)
_FILES = (tarfile.REGTYPE, tarfile.AREGTYPE, tarfile.CONTTYPE)
_WITHOUT_CONTENT = (
    *(tarfile.LNKTYPE, tarfile.SYMTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.DIRTYPE, tarfile.FIFOTYPE),
)


def read_archive(archive: Path, packed: bytes | None = None, *, root: Path | None = None) -> dict[str, bytes]:
    """The contents of an archive's files by name in the order of their names, without unpacking to disk.

    Packed again, a chart is still the same. It lies in one directory of its archive, whose name is left out,
    as Helm does. `packed` is the archive if it is not a separate file. A link may lead only below `root`, a
    real path. Raises ChartInvalid if it is not an archive, leaves `root`, or exceeds the bounds.
    """
    real = archive if packed is not None else archive.resolve()
    if root is not None and not real.is_relative_to(root):
        raise ChartInvalid(f"chart {archive}: a file is a link out of {root}")
    try:
        with (
            io.BytesIO(packed) if packed is not None else os.fdopen(open_plain(real), "rb") as file,
            gzip.open(file) as unpacked,
        ):
            stream = _Stream(archive, cast(BinaryIO, unpacked))
            return dict(sorted(_files(stream)))
    except (OSError, tarfile.TarError, EOFError, zlib.error) as error:
        raise ChartInvalid(f"chart {archive} is not an archive of a chart ({type(error).__name__})") from None


def _files(stream: _Stream) -> Iterator[tuple[str, bytes]]:
    for path, size, is_file in _members(stream):
        parts = PurePosixPath(path).parts
        if len(parts) < 2 or not is_file:
            stream.skip(size)
            continue
        name = "/".join(parts[1:])
        if size > LARGEST_FILE:
            raise stream.too_large(name)
        yield name, stream.take(size)


class _Stream:
    """An unpacked archive. No more than LARGEST_CHART octets are ever taken of it."""

    def __init__(self, archive: Path, unpacked: BinaryIO) -> None:
        self._archive = archive
        self._unpacked = unpacked
        self._left = LARGEST_CHART
        self._at = ""

    def header(self) -> tarfile.TarInfo | None:
        """The next header, None at the end."""
        block = self._read(_BLOCK)
        if not block.strip(b"\0"):
            return None
        found = tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
        if found.size < 0:
            raise tarfile.ReadError("a member of negative size")
        self._at = found.name
        if found.type in _WITHOUT_CONTENT:
            found.size = 0
        # Checked before unpacking, even to skip it, because some archives of a few kilobytes are endless.
        if found.size > self._left:
            raise self.too_large(found.name)
        return found

    def take(self, size: int) -> bytes:
        """The content of a member."""
        content = self._read(size)
        if len(content) < size:
            raise tarfile.ReadError("the archive ends within a member")
        self._read(-size % _BLOCK)
        return content

    def skip(self, size: int) -> None:
        left = size + -size % _BLOCK
        while left > 0:
            got = len(self._read(min(left, _CHUNK)))
            if not got:
                raise tarfile.ReadError("the archive ends within a member")
            left -= got

    def too_large(self, name: str) -> ChartInvalid:
        return ChartInvalid(f"chart {self._archive}: too large at {name[:200]} for Helm to load")

    def _read(self, size: int) -> bytes:
        if size > self._left:
            raise self.too_large(self._at)
        self._left -= size
        return self._unpacked.read(size)


def _members(stream: _Stream) -> Iterator[tuple[str, int, bool]]:
    """Name, size and whether it is a plain file, of each member; the caller takes or skips its content."""
    long_name, own_size = "", None
    files = headers = 0
    for _ in range(_MOST_HEADERS):
        header = stream.header()
        if header is None:
            return
        if header.type in (*_PAX, tarfile.XGLTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK):
            headers += header.size
            if header.size > LARGEST_HEADER or headers > LARGEST_HEADERS:
                raise stream.too_large(header.name)
            content = stream.take(header.size)
            if header.type == tarfile.GNUTYPE_LONGNAME:
                long_name = _text(content.split(b"\0", 1)[0])
            elif header.type in _PAX:
                records = _pax_records(content)
                long_name, own_size = records.get("path", long_name), records.get("size", own_size)
            continue
        if header.type == tarfile.GNUTYPE_SPARSE:
            raise tarfile.ReadError("a sparse file")
        files += 1
        if files > MOST_FILES:
            raise stream.too_large(header.name)
        size = header.size
        if own_size is not None and header.type not in _WITHOUT_CONTENT:
            if not own_size.isdecimal() or len(own_size) > 20:
                raise tarfile.ReadError("a size that is no number")
            size = int(own_size)
        name = long_name or header.name
        is_file = header.type in _FILES and not name.endswith("/")
        long_name, own_size = "", None
        yield name, size, is_file
    raise stream.too_large(long_name)


def _pax_records(content: bytes) -> dict[str, str]:
    """`path` and `size` of records `LENGTH KEY=VALUE` and a newline; the last of each counts."""
    found: dict[str, str] = {}
    at, end = 0, len(content.rstrip(b"\0"))
    while at < end:
        digits, _, _ = content[at : at + 20].partition(b" ")
        length = int(digits) if digits.isdigit() else 0
        if not len(digits) + 2 < length <= end - at:
            raise tarfile.ReadError("an extended header that cannot be read")
        keyword, _, value = content[at + len(digits) + 1 : at + length - 1].partition(b"=")
        if keyword.startswith(b"GNU.sparse"):
            raise tarfile.ReadError("a sparse file")
        if keyword in (b"path", b"size"):
            found[keyword.decode()] = _text(value)
        at += length
    return found


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")
