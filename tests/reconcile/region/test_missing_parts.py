"""A release that cannot work as the spec has it is refused, unless it runs: no region is stopped for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from controller.errors import Problem
from controller.ports.kubernetes import HELMBUNDLE
from controller.render.missing_parts import MissingPart
from controller.render.region import Region
from tests.reconcile.region.test_deployment import KEY
from tests.reconcile.region.test_kept_services import World as RunningWorld
from tests.reconcile.region.test_kept_services import chosen

PROBLEM = Problem("spec.services.dns", "Designate has no name servers", "name yours")


class World(RunningWorld):
    """A region that is Ready, and a controller that asks for name servers once it is `strict`."""

    strict = False

    def __init__(self, preset: tuple[str, ...]) -> None:
        self.first = preset
        super().__init__()

    def render(self, obj: Mapping[str, Any]) -> Region:
        self.preset = self.first
        region = super().render(obj)
        lacks = self.strict and any(bundle.name == "dns" for bundle in region.bundles)
        return replace(region, lacking=(MissingPart("designate", PROBLEM),) if lacks else ())

    def size_of(self, bundle: str) -> str:
        found = self.kube.get(HELMBUNDLE, bundle, KEY[0])
        assert found is not None
        [release] = found["spec"]["releases"]
        return str(release["values"]["size"])


@pytest.fixture
def running() -> World:
    """With dns, which ran before a controller asked for name servers."""
    world = World(("identity", "dns"))
    world.strict = True
    world.restart("0.2.0")
    world.core.reconcile(KEY)
    return world


def test_what_runs_is_warned_of(running: World) -> None:
    assert running.dns() == "there"
    valid, message = running.said("SpecValid")
    assert valid == "True" and "Designate has no name servers; name yours" in message


def test_every_other_edit_of_what_runs_is_served(running: World) -> None:
    running.edited(size="small")
    assert running.size_of("identity") == running.size_of("dns") == "small"


def test_what_does_not_run_is_refused_and_nothing_of_the_edit_is_begun() -> None:
    world = World(("identity",))
    world.strict = True
    world.edited(size="small", features=chosen(enabled=["dns"]))
    valid, message = world.said("SpecValid")
    assert valid == "False" and "Designate has no name servers; name yours" in message
    assert world.dns() == "gone"
    assert world.size_of("identity") != "small"


def test_it_is_served_once_the_spec_brings_what_was_missing() -> None:
    world = World(("identity",))
    world.strict = True
    world.edited(features=chosen(enabled=["dns"]))
    world.strict = False
    world.core.reconcile(KEY)
    assert world.dns() == "there"
    assert world.said("SpecValid")[0] == "True"
