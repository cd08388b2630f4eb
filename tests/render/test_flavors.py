"""A flavor that the bootstrap Job cannot make is reported; one that it can is not."""

from __future__ import annotations

from typing import Any

from tests.render.region import core_spec, render

OPTIONS = "spec.services.compute.nova.values.bootstrap.structured.flavors.options"


def told(**flavors: Any) -> list[tuple[str, str]]:
    values = {"bootstrap": {"structured": {"flavors": {"enabled": True, "options": flavors}}}}
    region = render(core_spec(services={"compute": {"nova": {"values": values}}}))
    return [(one.path, one.message) for one in region.warnings]


def test_an_option_that_no_flavor_has_is_reported() -> None:
    path, message = next(iter(told(big={"name": "big", "rams": 4096, "vcpus": 2, "disk": 10})))
    assert path == f"{OPTIONS}.big"
    assert message == (
        'flavor "big" has rams, which openstack flavor create does not know, so the flavor is not made'
    )


def test_a_property_without_a_value_is_reported() -> None:
    big = {"name": "big", "ram": 4096, "vcpus": 2, "disk": 10, "extra_specs": ["hw:cpu_policy"]}
    assert told(big=big) == [
        (
            f"{OPTIONS}.big",
            'flavor "big" has the property hw:cpu_policy without a value, so the flavor is not made',
        )
    ]


def test_a_flavor_that_can_be_made_is_not_reported() -> None:
    big = {"name": "big", "ram": 4096, "vcpus": 2, "disk": 10, "is_public": False, "rxtx-factor": 1}
    assert told(big={**big, "extra_specs": ["hw:cpu_policy=dedicated", "billing:class=gold"]}) == []
