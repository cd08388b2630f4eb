"""The judge of a status: what passes for one container's write of its own, and what does not."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from tests.cluster.status_history import OWN_FIELD, State, read_history, strange, trespasses

MOMENTS = ("2026-01-01T00:00:00Z", "2026-01-01T00:00:01Z")
TYPES = {
    "core": "Ready",
    "helmbundle": "ReleasesReady",
    "health": "WorkloadsHealthy",
    "secrets": "SecretsExchanged",
    "node": "NodesReady",
}


def first() -> dict[str, Any]:
    """A region that all five have written of."""
    conditions = [
        {"type": one, "status": "True", "observedGeneration": 1, "lastTransitionTime": MOMENTS[0]}
        for one in TYPES.values()
    ]
    fields = {
        "fingerprint": "sha256:0",
        "initialization": {"provisioned": True},
        "observedGeneration": 1,
        "children": {"identity": {"deployed": True, "message": "cause-1"}},
        "health": {"nova": {"api": {"status": "Ready", "since": MOMENTS[0]}}},
        "secrets": {"identity-credentials": {"digest": "1", "rotated": MOMENTS[0]}},
        "nodes": {"node1": {"state": "Ready", "since": MOMENTS[0], "message": ""}},
    }
    managed = [
        claim(container, {f"f:{OWN_FIELD[container]}": {}, **condition(TYPES[container])})
        for container in TYPES
    ]
    meta = {"generation": 1, "resourceVersion": "1", "managedFields": managed}
    return {"metadata": meta, "status": {"conditions": conditions, **fields}}


def condition(type_: str) -> dict[str, Any]:
    return {"f:conditions": {".": {}, f"k:{json.dumps({'type': type_})}": {"f:status": {}}}}


def claim(container: str, fields: dict[str, Any], moment: str = MOMENTS[0]) -> dict[str, Any]:
    return {
        "manager": f"osctl-{container}",
        "operation": "Apply",
        "subresource": "status",
        "time": moment,
        "fieldsV1": {"f:status": fields},
    }


def later(by: str, **fields: Any) -> dict[str, Any]:
    """The next version, after a write of that container, with some fields of the status replaced."""
    state = copy.deepcopy(first())
    state["metadata"]["resourceVersion"] = "2"
    state["status"] |= fields
    for entry in state["metadata"]["managedFields"]:
        if entry["manager"] == f"osctl-{by}":
            entry["time"] = MOMENTS[1]
    return state


LESS = {"nova": {"api": {"status": "Unhealthy", "since": MOMENTS[1]}}}


def test_a_write_of_ones_own_part_is_counted() -> None:
    history = read_history([first(), later("health", health=LESS)])
    assert history.findings == []
    assert (history.writes, history.moves) == ({"health": 1}, {"health": 1})


def test_parts_of_two_containers_in_one_write_are_found() -> None:
    (found, *_) = strange(first(), later("health", health=LESS, fingerprint="sha256:1"))
    assert found == "written at once: fingerprint of core, health of health"


def test_a_part_written_by_another_is_found() -> None:
    assert strange(first(), later("node", health=LESS)) == ["health of health by osctl-node"]


def test_a_write_without_a_difference_is_found() -> None:
    assert strange(first(), later("node")) == ["osctl-node wrote without a difference"]


def test_a_foreign_claim_is_found_although_nothing_changed() -> None:
    state = first()
    state["metadata"]["managedFields"][4]["fieldsV1"]["f:status"]["f:health"] = {}
    assert trespasses(first()) == []
    assert trespasses(state) == ["osctl-node claims health"]


@pytest.mark.parametrize(
    ("by", "fields", "words"),
    [
        ("helmbundle", {"children": {}}, "children/identity is forgotten"),
        ("helmbundle", {"children": {"identity": {"message": "cause-0"}}}, "children tells an older cause"),
        ("health", {"health": {}}, "nova/api is forgotten"),
        ("secrets", {"secrets": {}}, "secrets/identity-credentials is forgotten"),
        ("node", {"nodes": {"node1": {"state": "Ready", "since": MOMENTS[1]}}}, "nodes/node1 is so since"),
        ("core", {"observedGeneration": 0}, "observedGeneration"),
    ],
)
def test_what_is_lost_or_goes_back_is_found(by: str, fields: dict[str, Any], words: str) -> None:
    states: list[State] = [first(), later(by, **fields)]
    assert any(words in found for found in read_history(states).findings)
