"""Archives of files, unpacked on every Python that the project runs on: `tarfile` has had filters since
3.11.4 only, and later releases warn without one."""

from __future__ import annotations

import subprocess
from pathlib import Path


def unpack(archive: bytes, directory: Path) -> None:
    """A tar archive, compressed by gzip or not, with the modes and times that it has."""
    compressed = ["-z"] if archive.startswith(b"\x1f\x8b") else []
    directory.mkdir(parents=True, exist_ok=True)
    subprocess.run(["tar", "-xp", *compressed, "-C", str(directory)], input=archive, check=True)
