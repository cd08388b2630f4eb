"""Every container killed in the middle of a change: the end is right, and no state goes backwards."""

from __future__ import annotations

import itertools
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.region import CONTAINERS, Region
from tests.cluster.test_region_health import watching

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.exhaustive,
    pytest.mark.timeout(2400),
    pytest.mark.xdist_group("shared-region"),
]


def conditions(state: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {entry["type"]: entry for entry in state["status"]["conditions"]}


def steps_back(before: dict[str, Any], after: dict[str, Any], lasting: set[tuple[str, str]]) -> list[str]:
    """What in the second state is older than in the first, or ahead of the spec.

    `lasting`: the components that are there to the end.
    """
    found = []
    if after["status"]["observedGeneration"] < before["status"]["observedGeneration"]:
        found.append("observedGeneration")
    was, is_ = conditions(before), conditions(after)
    for type_, entry in is_.items():
        old = was.get(type_, entry)
        if entry.get("observedGeneration", 0) > after["metadata"]["generation"]:
            found.append(f"{type_} is ahead of the spec")
        if entry.get("observedGeneration", 0) < old.get("observedGeneration", 0):
            found.append(f"{type_} speaks of an older spec")
        moments = (datetime.fromisoformat(one["lastTransitionTime"]) for one in (old, entry))
        if next(moments) > next(moments):
            found.append(f"{type_} turned over earlier than before")
        if old["status"] == entry["status"] and old["lastTransitionTime"] != entry["lastTransitionTime"]:
            found.append(f"{type_} moved its time without a change")
    found += components_back(components(before), components(after), lasting)
    if not (after["status"].get("initialization") or {}).get("provisioned"):
        found.append("initialization.provisioned is gone")
    return found


Components = dict[tuple[str, str], dict[str, Any]]


def components_back(was: Components, is_: Components, lasting: set[tuple[str, str]]) -> list[str]:
    """What `status.health` forgot of components that last, or says to be so since another moment."""
    found = [f"{'/'.join(name)} is forgotten" for name in (was.keys() & lasting) - is_.keys()]
    for name in was.keys() & is_.keys():
        old, new = was[name], is_[name]
        if datetime.fromisoformat(new["since"]) < datetime.fromisoformat(old["since"]):
            found.append(f"{'/'.join(name)} is so since earlier than before")
        if old["status"] == new["status"] and old["since"] != new["since"]:
            found.append(f"{'/'.join(name)} moved its time without a change")
        if new["status"] == "Unknown":
            found.append(f"{'/'.join(name)} is not known any more")
    return found


def components(state: dict[str, Any]) -> Components:
    health = state["status"].get("health") or {}
    return {(one, name): entry for one, entries in health.items() for name, entry in entries.items()}


def test_each_container_killed_in_mid_change(shared_region: Region, tmp_path: Path) -> None:
    with watching(shared_region, tmp_path / "states.json") as states:
        for number, container in enumerate(CONTAINERS):
            memory = {"conf": {"memcached": {"memory": 512 + 64 * number}}}
            shared_region.edit(services={"cache": {"memcached": {"values": memory}}})
            shared_region.controllers.kill(container)
            shared_region.controllers.start(container)
            shared_region.wait_ready(timeout=400)
    assert len(states) > len(CONTAINERS)
    lasting = set(components(states[-1]))
    assert lasting
    backwards = [
        (before["metadata"]["resourceVersion"], after["metadata"]["resourceVersion"], found)
        for before, after in itertools.pairwise(states)
        if (found := steps_back(before, after, lasting))
    ]
    assert backwards == []
    last = conditions(states[-1])
    assert last["Ready"]["status"] == "True"
    assert {entry["observedGeneration"] for entry in last.values()} == {states[-1]["metadata"]["generation"]}
