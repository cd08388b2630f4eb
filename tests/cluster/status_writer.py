"""One container's way of writing its part of an osdpl's status, many times, as a process of its own.

    python -m tests.cluster.status_writer KUBECONFIG NAMESPACE NAME CONTAINER ROUNDS

Each round reads the osdpl, looks whether all that it wrote before is still there and what it took away is
gone, and writes the next. The last line of its output is a JSON object: rounds, writes, and what was lost.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from controller.adapters.kubernetes.client import PykubeClient
from controller.adapters.kubernetes.connection import connect
from controller.adapters.system.clock import SystemClock
from controller.domain.api.conditions import WHILE_TRUE, Condition, entries, find
from controller.domain.api.names import CONTAINERS, field_manager
from controller.domain.api.reasons import Reason
from controller.domain.region.facts import ANSWERED_BY, RegionFacts, SilentContainers
from controller.domain.region.plan import RegionPlan
from controller.domain.region.status.summary import OWN_CONDITIONS, OWN_FIELDS, RegionSummary, summarize
from controller.ports.kubernetes import OSDPL
from controller.reconcile.shared.region_status import apply_region_status


@dataclass(frozen=True)
class Part:
    """What a container owns, and what it writes in each round."""

    conditions: tuple[str, ...]
    fields: tuple[str, ...]
    round: Callable[[int], RegionSummary]


def core_round(number: int) -> RegionSummary:
    """As core sums up a region that is applied, cannot be served, runs, or waits with a plan, in turns."""
    turn = number % 4
    facts = RegionFacts(
        name="region-one",
        generation=1,
        version="0.1.0",
        openstack_version="2026.1",
        fingerprint=f"sha256:{number:064d}",
        containers=CONTAINERS,
        before=_before(number),
        bundles=[_bundle("identity", deployed=turn != 1), *([_bundle("image")] if turn > 1 else [])],
        desired=frozenset(("identity", "image") if turn > 1 else ("identity",)),
        problem=f"round {number} cannot be served" if turn == 0 else "",
        warnings=f"round {number}",
        plan=_plan(number) if turn == 3 else None,
        silence=SilentContainers(frozenset({"health"}) if number % 5 == 0 else frozenset()),
    )
    return summarize(facts)


def _before(number: int) -> dict[str, Any]:
    """What the others have said: all is well, but every other round no one knows of any component."""
    said = [
        {"type": type_, "status": "True", "reason": "Ready", "observedGeneration": 1}
        for type_ in ANSWERED_BY.values()
    ]
    health = {"health": {"nova": {"api": {"status": "Ready"}}}} if number % 2 else {}
    return {"conditions": said, "initialization": {"provisioned": True}, **health}


def _bundle(name: str, *, deployed: bool = True) -> dict[str, Any]:
    ready = {"type": "Ready", "status": "True" if deployed else "False", "reason": "ReleasesDeployed"}
    release = {"name": name, "state": "Deployed" if deployed else "Installing"}
    return {
        "metadata": {"name": name, "generation": 1},
        "spec": {"releases": [{"name": name}]},
        "status": {"observedGeneration": 1, "conditions": [ready], "releases": [release]},
    }


def _plan(number: int) -> RegionPlan:
    entry = {"name": "keystone", "service": "identity", "action": "Upgrade"}
    digest, sentence = f"sha256:{number:064d}", f"round {number} would upgrade keystone"
    return RegionPlan((entry,), digest=digest, sentence=sentence)


def _other(container: str, reason: Reason, entry: Callable[[int], Any]) -> Part:
    """A container with one condition and one field; in every third round an entry of it goes away."""
    type_ = ANSWERED_BY[container]

    def made(number: int) -> RegionSummary:
        some = {} if number % 3 == 0 else {"second": entry(number)}
        condition = Condition(type_, "False" if number % 2 else "True", reason, f"round {number}", 1)
        return RegionSummary({_FIELDS[container]: {"first": entry(number), **some}}, (condition,))

    return Part((type_,), (_FIELDS[container],), made)


_FIELDS = {"helmbundle": "children", "health": "health", "secrets": "secrets", "node": "nodes"}

PARTS: dict[str, Part] = {
    "core": Part(OWN_CONDITIONS, ("observedGeneration", *OWN_FIELDS), core_round),
    "helmbundle": _other(
        "helmbundle",
        Reason.RELEASES_PENDING,
        lambda number: {"deployed": False, "message": f"round {number}"},
    ),
    "health": _other(
        "health",
        Reason.WORKLOADS_PROGRESSING,
        lambda number: {"api": {"status": "Progressing", "ready": number, "desired": 1000}},
    ),
    "secrets": _other("secrets", Reason.SECRETS_READY, lambda number: {"state": f"s{number}"}),
    "node": _other("node", Reason.NODES_NOT_READY, lambda number: {"state": f"s{number}"}),
}


def shown_conditions(container: str, number: int) -> set[str]:
    """Types that the container has in the status after this round."""
    made = PARTS[container].round(number).conditions
    return {one.type for one in made if one.type not in WHILE_TRUE or one.status == "True"}


def differences(status: Mapping[str, Any], container: str, number: int) -> list[str]:
    """What of the container's round is not in the status any more, and what is there that it took away."""
    part = PARTS[container]
    desired = part.round(number)
    found = [name for name, value in desired.fields.items() if status.get(name) != value]
    found += [
        f"{name} is still there" for name in part.fields if name in status and name not in desired.fields
    ]
    known, shown = status.get("conditions") or [], shown_conditions(container, number)
    for condition in desired.conditions:
        entry = find(known, condition.type)
        said = (entry.get("status"), entry.get("reason"), entry.get("message"))
        if condition.type not in shown:
            found += [f"{condition.type} is still there"] if entry else []
        elif said != (condition.status, condition.reason, condition.message):
            found.append(condition.type)
    return [f"round {number}: {name}" for name in found]


def write(kubeconfig: Path, namespace: str, name: str, container: str, rounds: int) -> dict[str, Any]:
    """All the rounds of one container."""
    kube, clock = PykubeClient(connect(kubeconfig)), SystemClock()
    part, lost, written = PARTS[container], list[str](), 0
    for number in range(1, rounds + 1):
        osdpl = kube.get(OSDPL, name, namespace)
        assert osdpl is not None
        status = osdpl.get("status") or {}
        if number > 1:
            lost += differences(status, container, number - 1)
        made = part.round(number)
        written += apply_region_status(
            kube,
            osdpl,
            {**made.fields, "conditions": entries(made.conditions, status["conditions"], clock.now())},
            manager=field_manager(container),
            own_conditions=part.conditions,
            own_fields=part.fields,
        )
    return {"rounds": rounds, "written": written, "lost": lost}


if __name__ == "__main__":
    given = sys.argv[1:]
    print(json.dumps(write(Path(given[0]), given[1], given[2], given[3], int(given[4]))))
