"""What differs between two merged sets of values, by which layers, and as people read it. Pure."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from controller.domain.values.chart_values import SECRET_REF, Path, is_secret_ref, leaves
from controller.domain.values.merge import MergedValues
from controller.domain.values.value_provenance import CHART_DEFAULTS, Deleted

# Characters of a value that people read in one line.
WIDTH = 80


@dataclass(frozen=True)
class Absent:
    """Stands for the value of a path that is not there."""


ABSENT = Absent()


@dataclass(frozen=True)
class ValueChange:
    """One leaf that differs: `before` or `after` is ABSENT where there is none.

    The layers are those that set it, empty where it is not there; `place` is `file:line` of the newer
    one if it is known.
    """

    path: Path
    before: Any
    after: Any
    layer_before: str = ""
    layer_after: str = ""
    place: str = ""


def diff_values(old: MergedValues | None, new: MergedValues | None) -> tuple[ValueChange, ...]:
    """Every leaf that differs, in the order of its path; None stands for a release that is not there."""
    before = dict(leaves(old.values)) if old is not None else {}
    after = dict(leaves(new.values)) if new is not None else {}
    different = [
        path
        for path in sorted(before.keys() | after.keys())
        if not _same(before.get(path, ABSENT), after.get(path, ABSENT))
    ]
    above = {path[:length] for path in different for length in range(len(path))}
    changes = []
    for path in different:
        if path in above:
            continue  # a map that has become empty, or is no longer: its keys tell that
        was, becomes = before.get(path, ABSENT), after.get(path, ABSENT)
        changes.append(
            ValueChange(
                path,
                was,
                becomes,
                layer_before=old.history.origin(path) if old is not None and was is not ABSENT else "",
                layer_after=_layer_after(new, path, becomes),
                place=_place(new, path),
            )
        )
    return tuple(changes)


def _same(was: Any, becomes: Any) -> bool:
    """Equal as JSON: `true` is not `1`."""
    return bool(was == becomes) and isinstance(was, bool) == isinstance(becomes, bool)


def _layer_after(merged: MergedValues | None, path: Path, becomes: Any) -> str:
    """The layer that set the leaf, or deleted it; empty where it is simply not there any more."""
    layers = merged.history.chain(path) if merged is not None else ()
    if layers:
        return layers[-1].layer
    return "" if becomes is ABSENT else CHART_DEFAULTS


def _place(merged: MergedValues | None, path: Path) -> str:
    layers = merged.history.chain(path) if merged is not None else ()
    return layers[-1].place if layers else ""


def value_text(value: Any, width: int = WIDTH) -> str:
    """JSON in one line; `secret <name>/<key>` for a reference, words for what is not there."""
    if isinstance(value, Absent):
        return "(not set)"
    if isinstance(value, Deleted):
        return "(deleted)"
    if is_secret_ref(value):
        target = value[SECRET_REF]
        prefix = f"{target['prefix']} + " if "prefix" in target else ""
        return f"{prefix}secret {target['name']}/{target['key']}"
    text = value if _plain(value) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= width else f"{text[: width - 1]}…"


def _plain(value: Any) -> bool:
    """Whether a text reads the same without quotes."""
    return isinstance(value, str) and bool(value) and value.isprintable() and value.strip() == value
