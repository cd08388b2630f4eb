"""Files of a backup in a directory: their digests, and files that are written whole."""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path

from controller.domain.backups.manifest import BackupFile
from controller.errors import FileRefused


def digest_file(directory: Path, path: Path) -> BackupFile:
    """The file as a manifest lists it."""
    with path.open("rb") as opened:
        digest = hashlib.file_digest(opened, "sha256").hexdigest()
        return BackupFile(path.relative_to(directory).as_posix(), os.fstat(opened.fileno()).st_size, digest)


def write_file(path: Path, document: bytes) -> None:
    """The whole file or none. Raises FileRefused."""
    try:
        handle, written = tempfile.mkstemp(dir=path.parent, prefix=".written")
        try:
            with os.fdopen(handle, "wb") as opened:
                opened.write(document)
            # Another user of the pod reads it.
            Path(written).chmod(0o644)
            Path(written).replace(path)
        except BaseException:
            Path(written).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise FileRefused(f"{path} cannot be written: {error.strerror}") from None
