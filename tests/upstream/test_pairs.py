"""The regions of pairs have each pair of features that can be in one region; each other pair is refused."""

from __future__ import annotations

from functools import reduce
from itertools import combinations
from pathlib import Path

import pytest

from controller.errors import SpecInvalid
from tests.render.specs import FEATURES
from tests.upstream.covering import laid_over
from tests.upstream.pairs import REFUSED, agree, pairs, regions_of_pairs
from tests.upstream.regions import objects, region, releases


def test_every_two_features_meet_but_those_that_contradict_each_other() -> None:
    met = {frozenset(pair) for features in regions_of_pairs().values() for pair in combinations(features, 2)}
    apart = {pair for pair in combinations(sorted(FEATURES), 2) if frozenset(pair) not in met}
    contradicting = {pair for pair in apart if not agree(*(FEATURES[name] for name in pair))}
    assert apart - contradicting == set(REFUSED)


@pytest.mark.upstream
@pytest.mark.parametrize("pair", REFUSED, ids="+".join)
def test_two_that_are_not_to_meet_are_refused(charts: Path, pair: tuple[str, str]) -> None:
    spec = reduce(laid_over, (FEATURES[name] for name in pair), {"preset": "compute"})
    if any(FEATURES[name].get("preset") == "core" for name in pair):
        spec["preset"] = "core"
    with pytest.raises(SpecInvalid):
        region(charts, spec)


@pytest.mark.upstream
@pytest.mark.parametrize("name", regions_of_pairs())
def test_features_that_meet_render(charts: Path, name: str, record_property: pytest.RecordProperty) -> None:
    record_property("feature", name)
    assert all(objects(release) for release in releases(region(charts, pairs()[name])))
