"""The files of options of the charts that the product knows, and what charts make of names of options."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from pathlib import Path

from controller.adapters.system.service_folders import read_entries
from controller.domain.values.catalogue import Catalogue
from controller.domain.values.names.chart_options import ChartOptions
from controller.domain.values.option_files import OptionFiles


@functools.cache
def _catalogue() -> Catalogue:
    return read_entries(Path(__file__).parents[2] / "values")


def option_files() -> OptionFiles:
    return _catalogue().option_files


def chart_options() -> Mapping[str, ChartOptions]:
    return _catalogue().chart_options
