"""The names that are recorded of options and rules are those that the packages have, and no others."""

from __future__ import annotations

import pytest

from controller.domain.values.names.secret_options import known_secrets
from tests.render.region import library
from tests.upstream.option_packages import PACKAGES, SERIES
from tools.known_names import (
    observe_kinds,
    observe_options,
    observe_rules,
    observe_secrets,
)

pytestmark = [pytest.mark.upstream, pytest.mark.timeout(3600)]


@pytest.mark.parametrize("chart", sorted(PACKAGES))
@pytest.mark.parametrize("series", SERIES)
def test_the_names_of_options_are_those_of_the_packages(series: str, chart: str) -> None:
    found = {section: frozenset(names) for section, names in observe_options(series, chart).items()}
    recorded = library().names.sections(chart, series)
    assert {section: names for section, names in recorded.items() if names} == found


@pytest.mark.parametrize("chart", sorted(PACKAGES))
@pytest.mark.parametrize("series", SERIES)
def test_the_kinds_of_options_are_those_of_the_packages(series: str, chart: str) -> None:
    found = {section: set(words) for section, words in observe_kinds(series, chart).items()}
    recorded = library().names.kinds_of(chart, series)
    words = {section: {f"{name}={kind}" for name, kind in by.items()} for section, by in recorded.items()}
    assert {section: known for section, known in words.items() if known} == found


@pytest.mark.parametrize("chart", sorted(PACKAGES))
@pytest.mark.parametrize("series", SERIES)
def test_the_secret_options_are_those_of_the_packages(series: str, chart: str) -> None:
    found = {section: frozenset(names) for section, names in observe_secrets(series, chart).items()}
    recorded = known_secrets(library().names, chart, series)
    assert {section: names for section, names in recorded.items() if names} == found


@pytest.mark.parametrize("chart", sorted(PACKAGES))
@pytest.mark.parametrize("series", SERIES)
def test_the_names_of_rules_are_those_of_the_packages(series: str, chart: str) -> None:
    assert library().names.rules_of(chart, series) == frozenset(observe_rules(series, chart))
