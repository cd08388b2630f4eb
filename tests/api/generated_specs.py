"""Specs that are nearly right: a valid one, changed at random places in ways that people and tools err."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator, Mapping
from typing import Any

from tests.api.rule_cases import CASES

_ODD: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 70000, 1.5, 2026.1, "", " ", "x", "no", "Ä", "a\n", "2026.1", "X" * 70,
    "10.0.0.0/8", "9.9.9.9", [], [None], ["x", "x"], {}, {"name": "x"}, {"x": {}}, {"x": None},
)  # fmt: skip


def generated(seed: int, count: int) -> Iterator[dict[str, Any]]:
    """`count` objects, the same for the same seed."""
    choose = random.Random(seed)
    good = [obj for case in CASES for obj in case.good]
    bad = [obj for case in CASES for obj in case.bad]
    for number in range(count):
        obj = copy.deepcopy(choose.choice(good if choose.random() < 0.8 else bad))
        obj["metadata"]["name"] = f"case-{number}"
        for _ in range(choose.choice((0, 1, 1, 2))):
            _change(obj, choose)
        yield obj


def _change(obj: dict[str, Any], choose: random.Random) -> None:
    places = list(_places(obj["spec"]))
    if not places:
        return
    parent, key = choose.choice(places)
    match choose.randint(0, 4):
        case 0:
            del parent[key]
        case 1 if isinstance(parent, dict):
            parent[str(key)[:-1] + "x"] = parent.pop(key)
        case 2 if isinstance(parent, list):
            parent.append(copy.deepcopy(parent[key]))
        case _:
            parent[key] = copy.deepcopy(choose.choice(_ODD))


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every key and index below the value with the map or list it is in."""
    keys = value if isinstance(value, Mapping) else range(len(value)) if isinstance(value, list) else ()
    for key in list(keys):
        yield value, key
        yield from _places(value[key])
