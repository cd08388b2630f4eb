"""The leaves in which the values of a region differ from those of a release that runs. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from controller.domain.values.chart_values import (
    SECRET_REF,
    DocumentPath,
    Path,
    Values,
    is_map,
    is_secret_ref,
    leaves,
)
from controller.domain.values.values_diff import ABSENT, Absent

# Whether the text at a path of the running release is what a reference of ours stands for.
StandsFor = Callable[[DocumentPath, Mapping[str, str], Any], bool]


@dataclass(frozen=True)
class Difference:
    """One value that differs: `ours` of the region, `theirs` of the release; ABSENT where there is none."""

    path: Path
    ours: Any
    theirs: Any

    @property
    def weight(self) -> int:
        """The number of leaves that it consists of."""
        return max(_count(self.ours), _count(self.theirs))


def any_text(path: DocumentPath, target: Mapping[str, str], theirs: Any) -> bool:
    """Any text counts, because the credential can be brought along. A name of an account must be the same."""
    del path
    return bool(theirs == target["prefix"]) if "prefix" in target else theirs not in (None, "", ABSENT)


def differences(ours: Values, theirs: Values, *, stands_for: StandsFor = any_text) -> tuple[Difference, ...]:
    """All of them, in the order of their paths. A value of null is none, and an empty map is none either:
    templates see no difference."""
    return tuple(_compared(ours, theirs, (), stands_for))


def weight(found: tuple[Difference, ...]) -> int:
    """The number of leaves that differ."""
    return sum(one.weight for one in found)


def _compared(ours: Values, theirs: Values, path: Path, stands_for: StandsFor) -> Iterator[Difference]:
    for key in sorted(ours.keys() | theirs.keys()):
        here = (*path, key)
        mine, other = _given(ours, key), _given(theirs, key)
        if is_map(mine) and is_map(other):
            yield from _compared(mine, other, here, stands_for)
        elif not _same(mine, other, here, stands_for):
            yield Difference(here, mine, other)


def _given(values: Values, key: str) -> Any:
    found = values.get(key)
    return ABSENT if found is None else found


def _is_empty(value: Any) -> bool:
    """Whether nothing is set in it, however deep."""
    if isinstance(value, Absent) or value is None:
        return True
    return is_map(value) and all(_is_empty(part) for part in value.values())


def _same(mine: Any, other: Any, path: DocumentPath, stands_for: StandsFor) -> bool:
    if _is_empty(mine) and _is_empty(other):
        return True
    if is_secret_ref(mine):
        return stands_for(path, mine[SECRET_REF], other)
    if isinstance(mine, list) and isinstance(other, list):
        pairs = enumerate(zip(mine, other, strict=False))
        return len(mine) == len(other) and all(_same(a, b, (*path, i), stands_for) for i, (a, b) in pairs)
    if is_map(mine) and is_map(other):  # in a list
        return mine.keys() == other.keys() and all(
            _same(mine[key], other[key], (*path, key), stands_for) for key in mine
        )
    return bool(mine == other) and isinstance(mine, bool) == isinstance(other, bool)


def _count(value: Any) -> int:
    if isinstance(value, Absent):
        return 0
    return sum(1 for _ in leaves(value)) or 1 if is_map(value) else 1
