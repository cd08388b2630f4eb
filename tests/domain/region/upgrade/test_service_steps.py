"""The steps of services are those that their folders name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from controller.adapters.system.values_files import load_library
from controller.domain.region.upgrade.staged_releases import staged_spec
from controller.domain.region.upgrade.upgrade_steps import upgrade_steps

LIBRARY = load_library(Path(__file__).parents[4] / "values")
STEPS = upgrade_steps(LIBRARY.catalogue.services.values())
DATABASES = ("ovn_ovsdb_nb", "ovn_ovsdb_sb", "ovn_northd")


def ovn(version: str) -> dict[str, Any]:
    tags = dict.fromkeys((*DATABASES, "ovn_controller"), f"ovn:{version}")
    return {"releases": [{"name": "ovn", "chart": {"name": "ovn"}, "values": {"images": {"tags": tags}}}]}


def test_ovn_controller_is_upgraded_before_its_databases_and_northd() -> None:
    own = [step for step in STEPS if step.service == "networking"]
    names = [step.name for step in own]
    assert names.index("networking/switch") < names.index("networking/ovn-databases")
    staged = staged_spec(ovn("new"), ovn("old"), own, {"networking/switch"})
    assert staged is not None
    tags = staged["releases"][0]["values"]["images"]["tags"]
    assert tags["ovn_controller"] == "ovn:new"
    assert {tags[name] for name in DATABASES} == {"ovn:old"}
    staged = staged_spec(ovn("new"), staged, own, {"networking/switch", "networking/ovn-databases"})
    assert staged is not None and staged["releases"] == ovn("new")["releases"]


def test_infrastructure_comes_before_the_services_that_use_it() -> None:
    phases = [str(step.phase) for step in STEPS]
    assert phases.index("ControlPlane") > max(
        place for place, phase in enumerate(phases) if phase == "Infrastructure"
    )
