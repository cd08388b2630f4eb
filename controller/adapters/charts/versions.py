"""Versions of charts (semver.org): what was asked for, and what a repository calls it."""

from __future__ import annotations

from collections.abc import Iterable


def choose_version(requested: str, known: Iterable[str]) -> str | None:
    """The version wanted, or the only one that is the same but for its build metadata; None without.

    OpenStack-Helm publishes `2026.1.0` as `2026.1.0+<commit>`, and its charts do not say which in
    advance. Where there are several builds of a version, one has to be named.
    """
    versions = list(known)
    if requested in versions:
        return requested
    builds = {version for version in versions if is_version(version, requested)}
    return builds.pop() if len(builds) == 1 else None


def is_version(version: str, requested: str) -> bool:
    """Whether a chart of this version is what was asked for."""
    return version == requested or ("+" not in requested and version.partition("+")[0] == requested)
