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


def steps_back(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """What in the second state is older than in the first, or ahead of the spec."""
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
    if not (after["status"].get("initialization") or {}).get("provisioned"):
        found.append("initialization.provisioned is gone")
    return found


def test_each_container_killed_in_mid_change(shared_region: Region, tmp_path: Path) -> None:
    with watching(shared_region, tmp_path / "states.json") as states:
        for number, container in enumerate(CONTAINERS):
            memory = {"conf": {"memcached": {"memory": 512 + 64 * number}}}
            shared_region.edit(services={"cache": {"memcached": {"values": memory}}})
            shared_region.controllers.kill(container)
            shared_region.controllers.start(container)
            shared_region.wait_ready(timeout=400)
    assert len(states) > len(CONTAINERS)
    backwards = [
        (before["metadata"]["resourceVersion"], after["metadata"]["resourceVersion"], found)
        for before, after in itertools.pairwise(states)
        if (found := steps_back(before, after))
    ]
    assert backwards == []
    last = conditions(states[-1])
    assert last["Ready"]["status"] == "True"
    assert {entry["observedGeneration"] for entry in last.values()} == {states[-1]["metadata"]["generation"]}
