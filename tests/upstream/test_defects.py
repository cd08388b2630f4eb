"""Each defect of a chart is avoided by our values; a test that fails says that they can go."""

from __future__ import annotations

import copy
import dataclasses
from pathlib import Path
from typing import Any

import pytest

from controller.render.region import RegionRelease
from tests.render.region import ROOT
from tests.upstream.defects import DEFECTS, Defect
from tests.upstream.regions import everything, objects, region

LIST = (ROOT / "docs" / "upstream-defects.md").read_text(encoding="utf-8")


def _release(charts: Path, defect: Defect) -> RegionRelease:
    spec = {"preset": defect.preset, "features": {}} if defect.preset else everything()
    release = region(charts, {**spec, "features": {**spec["features"], **defect.features}}).release(
        defect.chart
    )
    assert release is not None
    return release


def _without(release: RegionRelease, defect: Defect) -> RegionRelease:
    path = defect.avoided_by
    values: Any = copy.deepcopy(dict(release.spec.values))
    below = values
    for key in path[:-1]:
        below = below[key]
    if defect.instead is None:
        del below[path[-1]]
    else:
        below[path[-1]] = defect.instead
    return dataclasses.replace(release, spec=dataclasses.replace(release.spec, values=values))


def test_each_defect_has_a_row_in_the_list_and_each_row_a_test() -> None:
    rows = [line.split("`")[1] for line in LIST.splitlines() if line.startswith("| `")]
    assert rows == list(DEFECTS)


@pytest.mark.upstream
@pytest.mark.parametrize("name", DEFECTS)
def test_a_defect_is_avoided(charts: Path, name: str) -> None:
    defect = DEFECTS[name]
    assert not defect.shows(objects(_release(charts, defect)))


@pytest.mark.upstream
@pytest.mark.parametrize("name", DEFECTS)
def test_a_defect_is_still_there(charts: Path, name: str) -> None:
    defect = DEFECTS[name]
    left = _without(_release(charts, defect), defect)
    assert defect.shows(objects(left)), f"{name} is mended: what avoids it, and its row, can go"
