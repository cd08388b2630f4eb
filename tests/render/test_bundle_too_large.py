"""A spec whose HelmBundle etcd would not take is refused before anything is sent: by core and offline."""

from __future__ import annotations

import pytest

from controller.errors import SpecInvalid
from controller.render.region import render_region
from tests.render.region import core_spec, deployment, embedded, library

RULES = "".join(f'"os_compute_api:rule-{number}": "rule:admin_or_owner"\n' for number in range(12_000))


@pytest.mark.slow
def test_a_text_for_every_release_that_makes_a_bundle_too_large_is_refused_with_its_sizes() -> None:
    spec = core_spec(charts={}, common={"charts": {"values": {"platform_notes": (RULES * 2)[:900_000]}}})
    with pytest.raises(SpecInvalid) as refused:
        render_region(deployment(spec), library(), embedded())
    [first, *_] = refused.value.problems
    assert first.path.startswith("spec.services.")
    assert "HelmBundle would take" in first.message and "platform_notes" in first.message


def test_the_same_text_once_is_taken() -> None:
    spec = core_spec(charts={}, common={"charts": {"values": {"platform_notes": RULES[:100_000]}}})
    assert render_region(deployment(spec), library(), embedded()).bundles
