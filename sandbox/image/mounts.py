"""Shell commands that mount, for a mount namespace of their own: what they mount goes with their process."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path


def overlay(layers: Sequence[Path], root: Path, upper: Path | None = None) -> str:
    """Mounts `layers`, the topmost last, at `root`; with `upper`, what is written goes there."""
    lower = ":".join(str(layer) for layer in reversed(layers))
    options = f"lowerdir={lower}"
    if upper is not None:
        work = upper.with_name(f"{upper.name}.work")
        options += f",upperdir={upper},workdir={work}"
        make = shlex.join(["mkdir", "-p", str(root), str(upper), str(work)])
    else:
        make = shlex.join(["mkdir", "-p", str(root)])
    return f"{make}\nmount -t overlay overlay -o {shlex.quote(options)} {shlex.quote(str(root))}"


def bind(source: Path, target: str, root: Path | None = None) -> str:
    """Mounts a file or directory at `target`, whose place is made where it is missing.

    With `root`, as a process sees it for which that is `/`: its links do not lead out of it.
    """
    at, what = shlex.quote(target), shlex.quote(str(source))
    if root is not None:
        at = f'"{root}$(chroot {root} readlink -m {at})"'
    make = f"mkdir -p {at}" if source.is_dir() else f'mkdir -p "$(dirname {at})" && touch -a {at}'
    return f"{make}\nmount --bind {what} {at}"
