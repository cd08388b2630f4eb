"""What we take of a mapping is what Keystone takes, of every series."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator
from typing import Any

import pytest

from controller.domain.region.federation import provider_problems
from tests.domain.region.mappings import REFUSED, TAKEN
from tests.upstream.option_packages import SERIES, load

pytestmark = [pytest.mark.upstream, pytest.mark.timeout(3600)]

# What comes in the place of a part, or under another key beside it.
PARTS: tuple[Any, ...] = ("x", 1, True, None, [], {}, ["x"], [{"name": "x"}], {"name": "x"}, {"id": "x"})
KEYS = (
    "name",
    "id",
    "type",
    "domain",
    "roles",
    "regex",
    "whitelist",
    "any_one_of",
    "local",
    "remote",
    "other",
)


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield value, key
        yield from places(item)


def changed(chosen: random.Random, rule: dict[str, Any]) -> dict[str, Any]:
    """The rule with another part, without one, or with one more."""
    rule = copy.deepcopy(rule)
    for _ in range(chosen.randint(1, 2)):
        found = list(places(rule))
        if not found:
            break
        holder, key = chosen.choice(found)
        how = chosen.choice(("replace", "remove", "add"))
        if how == "remove":
            del holder[key]
        elif how == "add" and isinstance(holder, dict):
            holder[chosen.choice(KEYS)] = copy.deepcopy(chosen.choice(PARTS))
        else:
            holder[key] = copy.deepcopy(chosen.choice(PARTS))
    return rule


def taken(rule: dict[str, Any]) -> bool:
    provider = {"name": "corp", "issuer": "https://sso.example.org", "metadata": {}, "mapping": [rule]}
    # Keystone looks for the claims of `{0}` at a sign-in only.
    return all("no claim" in problem.message for problem in provider_problems([provider]))


@pytest.mark.parametrize("series", SERIES)
def test_what_keystone_takes_is_taken_and_nothing_else(series: str) -> None:
    chosen = random.Random(19)
    known = [*TAKEN, *(rule for rule, _, _ in REFUSED)]
    rules = [*known, *(changed(chosen, rule) for rule in known for _ in range(300))]
    answers = load(series, "keystone", "mappings", rules=rules)
    assert sum(answers) > 500
    assert [rule for rule, answer in zip(rules, answers, strict=True) if answer != taken(rule)] == []
