"""Every version of one osdpl, in order: who wrote what of its status, and whether it was theirs. Pure.

A state is the object as the API server gives it, with `metadata.managedFields`.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise
from typing import Any

from controller.domain.api.conditions import WHILE_TRUE
from controller.domain.api.names import CONTAINERS, field_manager
from controller.domain.region.facts import ANSWERED_BY
from controller.domain.region.status.summary import OWN_CONDITIONS, OWN_FIELDS
from tests.cluster.regions.test_region_restarts import components, steps_back

State = Mapping[str, Any]

# What moves with a cause of the container's own and with nothing else: not with the generation of the spec,
# which every container repeats in its condition.
OWN_FIELD = {
    "core": "fingerprint",
    "helmbundle": "children",
    "health": "health",
    "secrets": "secrets",
    "node": "nodes",
}
_CORE_FIELDS = ("observedGeneration", "state", "deployed", "version", "progress", *OWN_FIELDS)
# Who may write which part of the status; a condition is a part of its own.
OWNERS = {
    **dict.fromkeys(_CORE_FIELDS, "core"),
    **{name: container for container, name in OWN_FIELD.items()},
    "healthOf": "health",
    **{f"conditions/{type_}": "core" for type_ in OWN_CONDITIONS},
    **{f"conditions/{type_}": container for container, type_ in ANSWERED_BY.items()},
}
MANAGERS = {field_manager(container): container for container in CONTAINERS}
# By such names causes are reported in the order in which they came.
NUMBERED = re.compile(r"\bcause-(\d+)\b")
SHOWN = 20


def parts(state: State) -> dict[str, Any]:
    """The status by the names of `OWNERS`."""
    status = state["status"]
    found = {name: value for name, value in status.items() if name != "conditions"}
    return found | {f"conditions/{entry['type']}": entry for entry in status["conditions"]}


def claims(state: State) -> dict[str, dict[str, Any]]:
    """The entries of managedFields for the status, by field manager."""
    fields = state["metadata"]["managedFields"]
    return {entry["manager"]: entry for entry in fields if entry.get("subresource") == "status"}


def claimed(entry: Mapping[str, Any]) -> set[str]:
    """The parts of the status that an entry of managedFields claims."""
    found = set()
    for key, below in (entry["fieldsV1"].get("f:status") or {}).items():
        if key == "f:conditions":
            found |= {f"conditions/{json.loads(one[2:])['type']}" for one in below if one.startswith("k:")}
        elif key != ".":
            found.add(key.removeprefix("f:"))
    return found


def trespasses(state: State) -> list[str]:
    """Parts of the status that a field manager claims and that are not its container's."""
    return [
        f"{manager} claims {part}"
        for manager, entry in claims(state).items()
        for part in sorted(claimed(entry))
        if OWNERS.get(part) is None or OWNERS[part] != MANAGERS.get(manager)
    ]


def changed_parts(before: State, after: State) -> set[str]:
    """The parts of the status that differ between two states."""
    was, is_ = parts(before), parts(after)
    return {name for name in was.keys() | is_.keys() if was.get(name) != is_.get(name)}


def writers(before: State, after: State) -> set[str]:
    """The field managers whose claim, or the time of whose last write, differs between two states.

    The time is reported in seconds: two writes of one manager within one pass alike.
    """
    was, is_ = claims(before), claims(after)
    return {name for name in was.keys() | is_.keys() if was.get(name) != is_.get(name)}


def strange(before: State, after: State) -> list[str]:
    """What of the way from one state to the next is not one container's write of its own parts."""
    changed = changed_parts(before, after)
    owners = {OWNERS.get(part, "nobody") for part in changed}
    reported = ", ".join(f"{part} of {OWNERS.get(part, 'nobody')}" for part in sorted(changed))
    found = [f"written at once: {reported}"] if len(owners) > 1 else []
    found += [f"changed, and nobody's: {reported}"] if owners == {"nobody"} else []
    wrote = writers(before, after)
    if not changed and wrote:
        found.append(f"{', '.join(sorted(wrote))} wrote without a difference")
    elif wrote - {field_manager(owner) for owner in owners}:
        found.append(f"{reported} by {', '.join(sorted(wrote))}")
    if changed and before["metadata"]["generation"] != after["metadata"]["generation"]:
        found.append(f"changed with the spec: {reported}")
    return found


def _names(state: State) -> set[str]:
    """The entries that no one has a reason to take away while the region stays as it is."""
    status = state["status"]
    fields = {f"{field}/{name}" for field in ("children", "secrets", "nodes") for name in status[field]}
    types = {entry["type"] for entry in status["conditions"]} - set(WHILE_TRUE)
    return fields | {f"conditions/{type_}" for type_ in types} | (status.keys() - {"conditions"})


def _moments(state: State) -> dict[str, tuple[Any, datetime]]:
    """When nodes and Secrets came to be as they are: what they are, and since when."""
    status = state["status"]
    nodes = {
        f"nodes/{name}": (one["state"], datetime.fromisoformat(one["since"]))
        for name, one in status["nodes"].items()
    }
    rotated = {
        f"secrets/{name}": (one["digest"], datetime.fromisoformat(one["rotated"]))
        for name, one in status["secrets"].items()
        if "rotated" in one
    }
    return nodes | rotated


def numbers(state: State) -> dict[str, int]:
    """The newest numbered cause that `children` and `secrets` tell of, where they tell of one."""
    reported = {name: NUMBERED.findall(json.dumps(state["status"][name])) for name in ("children", "secrets")}
    return {name: max(map(int, found)) for name, found in reported.items() if found}


def backwards(before: State, after: State, first: State) -> list[str]:
    """What the second state has lost of what was there at the `first`, or tells older than before."""
    found = steps_back(dict(before), dict(after), set(components(dict(first))))
    found += [f"{name} is forgotten" for name in sorted(_names(first) - _names(after))]
    was, is_ = _moments(before), _moments(after)
    for name in was.keys() & is_.keys():
        (old, since), (new, now) = was[name], is_[name]
        if now < since or (old == new and now != since):
            found.append(f"{name} is so since another moment without a change")
    reported, tells = numbers(before), numbers(after)
    found += [
        f"{name} tells an older cause"
        for name in reported.keys() & tells.keys()
        if tells[name] < reported[name]
    ]
    return found


@dataclass
class History:
    """What a walk through all versions found.

    `writes` by container; `moves`: of these, the writes that changed what only the container's own causes
    change; `turns`: how often another container wrote than the time before; `findings` in words, with the
    resourceVersion.
    """

    versions: int = 0
    turns: int = 0
    writes: Counter[str] = field(default_factory=Counter)
    moves: Counter[str] = field(default_factory=Counter)
    findings: list[str] = field(default_factory=list)

    def figures(self) -> dict[str, Any]:
        """All of it but the findings."""
        return {
            "versions": self.versions,
            "turns": self.turns,
            "writes": dict(self.writes),
            "moves": dict(self.moves),
        }


def read_history(states: Iterable[State]) -> History:
    """Walks through the states in their order; the first counts as right, except what is claimed in it."""
    history, first, last_writer = History(versions=1), None, ""
    for before, after in pairwise(states):
        if first is None:
            first = before
            history.findings += trespasses(first)
        history.versions += 1
        found = [*strange(before, after), *trespasses(after), *backwards(before, after, first)]
        version = after["metadata"]["resourceVersion"]
        history.findings += [f"{version}: {text}" for text in found]
        changed = changed_parts(before, after)
        for container in {OWNERS.get(part, "nobody") for part in changed}:
            history.writes[container] += 1
            history.moves[container] += OWN_FIELD.get(container) in changed
            history.turns += container != last_writer
            last_writer = container
    return history
