"""Versions of charts (semver.org): the requested version, and its name in a repository."""

from __future__ import annotations

import re
from collections.abc import Iterable

_NUMBER = r"(\d+|[xX*])"
_VERSION = rf"v?{_NUMBER}(?:\.{_NUMBER})?(?:\.{_NUMBER})?(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?"
_CONSTRAINT = re.compile(rf"(=|!=|>=|=>|<=|=<|>|<|~>|~|\^|)\s*{_VERSION}")
_HYPHEN = re.compile(rf"({_VERSION})\s+-\s+({_VERSION})")
_Numbers = tuple[int, ...]
# Precedence of a version: its three numbers, then whether it is no pre-release, then the pre-release's parts.
_Precedence = tuple[_Numbers, int, tuple[tuple[int, int, str], ...]]


def choose_version(requested: str, known: Iterable[str]) -> str | None:
    """The requested version, or the only one that differs only in build metadata, or None.

    OpenStack-Helm publishes `2026.1.0` as `2026.1.0+<commit>`, and its charts do not say which in advance. If
    a version has several builds, one must be named.
    """
    versions = list(known)
    if requested in versions:
        return requested
    builds = {version for version in versions if is_version(version, requested)}
    return builds.pop() if len(builds) == 1 else None


def is_version(version: str, requested: str) -> bool:
    """Whether a chart with this version matches the request."""
    return version == requested or ("+" not in requested and version.partition("+")[0] == requested)


def satisfies(version: str, constraint: str) -> bool:
    """Whether a chart of this version may serve a dependency with this constraint, as Helm reads both.

    Raises ValueError if one of them is not a version or constraint.
    """
    found = re.fullmatch(_VERSION, version.strip())
    if found is None or not all(number is None or number.isdigit() for number in found.groups()[:3]):
        raise ValueError(f'"{version}" is not a version')
    precedence = _precedence(*_parts(found.groups()))
    ranges = _HYPHEN.sub(lambda match: f">={match.group(1)} <={match.group(6)}", constraint)
    alternatives = [_constraints(each) for each in ranges.split("||")]
    return any(all(_holds(precedence, *each) for each in together) for together in alternatives)


def _constraints(written: str) -> list[tuple[str, _Numbers, str]]:
    """Operators with their versions. All of them must match."""
    found: list[tuple[str, _Numbers, str]] = []
    rest = written.strip()
    while rest or not found:
        match = _CONSTRAINT.match(rest)
        if match is None:
            raise ValueError(f'"{written.strip()}" is not a constraint on versions')
        operator, *expected = match.groups()
        found.append((operator, *_parts(expected)))
        rest = rest[match.end() :].lstrip(" ,")
    return found


def _parts(groups: Iterable[str | None]) -> tuple[_Numbers, str]:
    """The given numbers, up to the first open one, and the pre-release."""
    *written, pre = groups
    numbers: list[int] = []
    for number in written:
        if number is None or not number.isdigit():
            break
        numbers.append(int(number))
    return tuple(numbers), pre or ""


def _precedence(numbers: _Numbers, pre: str = "") -> _Precedence:
    padded = (*numbers, 0, 0, 0)[:3]
    if not pre:
        return padded, 1, ()
    return padded, 0, tuple((0, int(part), "") if part.isdigit() else (1, 0, part) for part in pre.split("."))


def _holds(version: _Precedence, operator: str, numbers: _Numbers, pre: str) -> bool:
    least = _precedence(numbers, pre)
    if not version[1] and not pre:
        return False  # pre-releases must be requested explicitly
    if operator in ("", "=", "!="):
        same = version == least if len(numbers) == 3 else _within(version, numbers, len(numbers))
        return same is (operator != "!=")
    if operator == ">":
        return version > least and (len(numbers) == 3 or not _within(version, numbers, len(numbers)))
    if operator == "<":
        return version < least
    if operator in ("<=", "=<"):
        within = 0 < len(numbers) < 3 and _within(version, numbers, len(numbers))
        return version <= least or within
    if version < least:
        return False
    if operator in ("~", "~>"):
        return numbers == (0, 0, 0) or _within(version, numbers, min(len(numbers), 2))
    if operator == "^":
        numbers = numbers or (0, 0, 0)
        fixed = next((place for place, number in enumerate(numbers, 1) if number), len(numbers))
        return _within(version, numbers, fixed)
    return True


def _within(version: _Precedence, numbers: _Numbers, count: int) -> bool:
    return version[0][:count] == numbers[:count]
