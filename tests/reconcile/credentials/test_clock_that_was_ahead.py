"""A clock that was ahead for minutes leaves nothing that is not valid once it is right."""

from __future__ import annotations

import pytest

from controller.domain.credentials.x509.read import validity
from controller.reconcile.credentials.certificates.clock_patience import PATIENCE
from tests.reconcile.credentials.test_own_certificates import DAY, Bed


def settled() -> Bed:
    bed = Bed()
    bed.put_releases()
    for _ in range(3):
        bed.reconcile()
        bed.clock.advance(300)
    for release in ("keystone", "nova"):
        bed.deploy(release)
    bed.reconcile()
    return bed


def is_ahead_for_a_while(bed: Bed, days: float) -> None:
    bed.clock.jump(days * DAY)
    for _ in range(3):
        bed.reconcile()
        bed.clock.advance(60)
    bed.clock.jump(-days * DAY)


def goes_on(bed: Bed, seconds: float, step: float = 60.0) -> None:
    for _ in range(int(seconds / step)):
        bed.clock.advance(step)
        bed.reconcile()
        for release in ("keystone", "nova"):
            bed.deploy(release)


def is_valid(bed: Bed) -> bool:
    begin, end = validity(bed.text("keystone-tls-api", "tls.crt"))
    return begin <= bed.clock.now() < end


@pytest.mark.slow
@pytest.mark.parametrize("days", [2, 40, 800, 1200, 4000])
def test_certificates_are_valid_again_within_a_quarter_of_an_hour(days: int) -> None:
    bed = settled()
    is_ahead_for_a_while(bed, days)
    goes_on(bed, PATIENCE + 300)
    assert is_valid(bed)
    assert bed.condition()["status"] == "True"


@pytest.mark.slow
@pytest.mark.parametrize("days", [800, 4000])
def test_they_are_renewed_as_ever_from_then_on(days: int) -> None:
    bed = settled()
    is_ahead_for_a_while(bed, days)
    goes_on(bed, 70 * DAY, step=DAY)
    assert is_valid(bed)


def test_a_clock_that_is_behind_for_minutes_replaces_no_authority() -> None:
    bed = settled()
    before = bed.text("osctl-authority", "tls.crt")
    bed.clock.jump(-100 * DAY)
    for _ in range(5):
        bed.reconcile()
        bed.clock.advance(60)
    bed.clock.jump(100 * DAY)
    bed.reconcile()
    assert bed.text("osctl-authority", "tls.crt") == before


def test_meanwhile_the_condition_says_that_it_is_about_clocks() -> None:
    bed = settled()
    is_ahead_for_a_while(bed, 4000)
    bed.reconcile()
    assert "check the clocks" in bed.condition()["message"]
