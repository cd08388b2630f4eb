"""Facts that name a template of the pinned charts, or a module of a package, are found there."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from tests.render.region import ROOT, library
from tests.upstream.option_packages import SERIES, python_of

pytestmark = pytest.mark.upstream


def test_options_that_charts_read_are_in_the_templates_that_are_named(charts: Path) -> None:
    for chart in library().names.charts.values():
        for option, source in chart.read.items():
            if ": " not in source:
                text = (charts / source).read_text(encoding="utf-8")
                assert option.partition(".")[2] in text, (option, source)


@pytest.mark.parametrize("series", SERIES)
def test_options_that_packages_register_without_a_list_are_in_their_modules(series: str) -> None:
    for chart in library().names.charts.values():
        for source in chart.read.values():
            package, _, module = source.partition(": ")
            if module:
                [found] = python_of(series).parents[1].glob(f"lib/python3*/site-packages/{package}/{module}")
                assert "register_adapter_conf_options" in found.read_text(encoding="utf-8")


def test_relations_name_templates_that_have_their_values(charts: Path) -> None:
    document = yaml.safe_load((ROOT / "values" / "relations.yaml").read_text(encoding="utf-8"))
    for one in (one for kind in document.values() for one in kind):
        if not one["source"].startswith("https://"):
            assert one["of"].rpartition(".")[2] in (charts / one["source"]).read_text(encoding="utf-8")
