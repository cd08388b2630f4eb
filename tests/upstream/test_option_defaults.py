"""The defaults that are recorded of options are those that the packages have."""

from __future__ import annotations

import json

import pytest

from controller.domain.values.names.option_defaults import OptionDefaults
from tests.render.region import library
from tests.upstream.option_packages import PACKAGES, SERIES, pins_digest
from tools.option_defaults import FACTS, observe_defaults

pytestmark = [pytest.mark.upstream, pytest.mark.timeout(3600)]
RECORDED = json.loads(FACTS.read_text(encoding="utf-8"))


@pytest.mark.parametrize("chart", sorted(PACKAGES))
@pytest.mark.parametrize("series", SERIES)
def test_the_defaults_of_options_are_those_of_the_packages(series: str, chart: str) -> None:
    assert RECORDED["pins"][series] == pins_digest(series)
    service, defaults = library().names.of(chart, series), OptionDefaults(RECORDED["defaults"])
    for section, options in observe_defaults(series, chart).items():
        found = {name: defaults.of(service, chart, section, name) for name in options}
        assert {name: one.text for name, one in found.items() if one is not None} == options, section
