"""A region cannot have the release that the controller itself was installed as."""

from __future__ import annotations

import pytest

from controller.domain.releases.bundle import BundleSpec, ChartRef, ReleaseSpec
from controller.errors import Problem, SpecInvalid
from controller.render.region import Region, RegionBundle
from controller.render.reserved_release import refuse_reserved

RELEASE = ReleaseSpec("keystone", "openstack", ChartRef("keystone", path="keystone"))
REGION = Region((RegionBundle("identity", "identity", (), BundleSpec((RELEASE,))),), ())


def refusals(reserved: tuple[str, str] | None) -> tuple[Problem, ...]:
    try:
        refuse_reserved(REGION, reserved)
    except SpecInvalid as refusal:
        return tuple(refusal.problems)
    return ()


def test_it_is_refused_with_the_service_that_asks_for_it() -> None:
    [problem] = refusals(("openstack", "keystone"))
    assert problem.path == "spec.services.identity"
    assert 'release "keystone" is the controller\'s own installation' in problem.message


@pytest.mark.parametrize("reserved", [None, ("openstack", "osctl"), ("openstack-controller", "keystone")])
def test_another_name_or_namespace_is_no_harm(reserved: tuple[str, str] | None) -> None:
    assert refusals(reserved) == ()
