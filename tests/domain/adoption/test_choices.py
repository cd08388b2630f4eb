"""What the search may try."""

from __future__ import annotations

from controller.domain.adoption.choices import feature_choices
from tests.render.region import schema


def test_a_feature_that_a_release_decides_has_no_other_choice() -> None:
    features = schema().root["properties"]["spec"]["properties"]["features"]
    field = ("features", "compute", "console", "type")

    def values(**running: object) -> tuple[object, ...]:
        return next(one.values for one in feature_choices(features, running) if one.field == field)

    assert values() == ("novnc", "spice", "none")
    assert values(nova={"console": {"console_kind": "novnc"}}) == ("novnc",)
    assert values(nova={"console": {"console_kind": "serial"}}) == ("novnc", "spice", "none")
