"""SHA256SUMS of a directory, and its signature: what sha256sum and ssh-keygen check."""

from __future__ import annotations

import hashlib
import subprocess
from pathlib import Path

from tools.release.source import ReleaseError

SUMS = "SHA256SUMS"
NAMESPACE = "file"
_SECONDS = 300


def write_sums(directory: Path) -> Path:
    """Writes the digests of all files of the directory, as sha256sum does."""
    lines = []
    for path in sorted(path for path in directory.iterdir() if not path.name.startswith(SUMS)):
        with path.open("rb") as stream:
            lines.append(f"{hashlib.file_digest(stream, 'sha256').hexdigest()}  {path.name}\n")
    sums = directory / SUMS
    sums.write_text("".join(lines), encoding="utf-8")
    return sums


def sign(sums: Path, key: Path) -> None:
    """Signs with an SSH key: a private one, or the public one of a key that the agent holds.

    ssh-keygen asks for a passphrase itself. Raises ReleaseError.
    """
    sums.with_name(f"{sums.name}.sig").unlink(missing_ok=True)
    command = ["ssh-keygen", "-Y", "sign", "-f", str(key), "-n", NAMESPACE, str(sums)]
    done = subprocess.run(command, stderr=subprocess.PIPE, text=True, timeout=_SECONDS, check=False)
    if done.returncode != 0:
        raise ReleaseError(f"{sums.name} was not signed: {done.stderr.strip()}")
