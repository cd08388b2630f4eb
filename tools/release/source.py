"""The files that a release is made of: those that Git tracks, with one time and plain modes."""

from __future__ import annotations

import os
import shutil
import subprocess
import tomllib
from pathlib import Path

import yaml

CHART = Path("charts") / "openstack-controller"
_GIT_SECONDS = 120


class ReleaseError(Exception):
    """No release can be made of this; the text says why."""


def git(root: Path, *arguments: str) -> str:
    """What Git prints. Raises ReleaseError."""
    command = ["git", "-C", str(root), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=_GIT_SECONDS, check=False)
    if done.returncode != 0:
        raise ReleaseError(f"git {arguments[0]}: {done.stderr.strip()}")
    return done.stdout


def refuse_changes(root: Path) -> None:
    """Raises ReleaseError where the checkout differs from its commit."""
    if changed := git(root, "status", "--porcelain").splitlines():
        raise ReleaseError(
            f"a release is made of a commit, and {changed[0][3:]} differs from it: commit first"
        )


def refuse_version(root: Path, version: str) -> None:
    """Raises ReleaseError where a file names another version than `version`."""
    chart = yaml.safe_load((root / CHART / "Chart.yaml").read_text(encoding="utf-8"))
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = {
        "pyproject.toml: version": project["version"],
        f"{CHART}/Chart.yaml: version": chart["version"],
        f"{CHART}/Chart.yaml: appVersion": chart["appVersion"],
    }
    for place, found in named.items():
        if str(found) != version:
            raise ReleaseError(
                f"{place} is {found}, and the release is to be {version}: set the version first"
            )


def epoch_of(root: Path) -> int:
    """The time of every file: SOURCE_DATE_EPOCH, or that of the commit."""
    text = os.environ.get("SOURCE_DATE_EPOCH") or git(root, "log", "-1", "--format=%ct")
    return int(text)


def copy_source(root: Path, target: Path, epoch: int) -> None:
    """Copies every tracked file that is there into `target`, with the time `epoch`."""
    for name in git(root, "ls-files", "-z").split("\0"):
        source = root / name
        if not name or not (source.is_symlink() or source.is_file()):
            continue
        copy = target / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, copy, follow_symlinks=False)
        if not copy.is_symlink():
            copy.chmod(0o755 if os.access(source, os.X_OK) else 0o644)
        os.utime(copy, (epoch, epoch), follow_symlinks=False)
