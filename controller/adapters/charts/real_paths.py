"""Files that others may write while they are read: only links that were checked are followed."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from controller.errors import ChartInvalid

# Directories of the kernel and of the system, which hold tokens, environments and keys.
_SYSTEM = tuple(Path(place) for place in ("/boot", "/dev", "/etc", "/proc", "/run", "/sys", "/var/run"))
# Directories that contain those of others; charts may lie in a directory below.
_PARENTS = frozenset(Path(place) for place in ("/", "/home", "/root", "/usr", "/var", "/var/lib"))

_BELOW = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# A pipe would otherwise wait for its writer.
_PLAIN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def open_plain(real: Path) -> int:
    """A handle of the plain file at an absolute path without links. Raises OSError if one is there."""
    root, *above, name = real.parts
    at = os.open(root, _BELOW)
    try:
        for part in above:
            below = os.open(part, _BELOW, dir_fd=at)
            os.close(at)
            at = below
        handle = os.open(name, _PLAIN, dir_fd=at)
    finally:
        os.close(at)
    if stat.S_ISREG(os.fstat(handle).st_mode):
        return handle
    os.close(handle)
    raise OSError(errno.EINVAL, "not a plain file")


def read_plain(real: Path, most: int) -> bytes:
    """The content of that file, at most `most` octets. Raises OSError."""
    with os.fdopen(open_plain(real), "rb") as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
    return content


def chart_root(directory: Path, what: str) -> Path:
    """The real path of a directory of charts. Raises ChartInvalid for a directory of the system."""
    real = directory.resolve()
    if real in _PARENTS or any(real.is_relative_to(place) for place in _SYSTEM):
        place = str(directory) if real == directory else f"{directory} (a link to {real})"
        raise ChartInvalid(
            f"{what}: {place} is a directory of the system, whose files are not for charts; put the "
            "charts into a directory of their own, such as /charts, and name that one"
        )
    return real
