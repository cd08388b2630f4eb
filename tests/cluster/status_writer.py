"""One container's way of writing its part of an osdpl's status, many times, as a process of its own.

    python -m tests.cluster.status_writer KUBECONFIG NAMESPACE NAME CONTAINER ROUNDS

Each round reads the osdpl, looks whether all that it wrote before is still there, and writes the next.
The last line of its output is a JSON object: rounds, and what was lost.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from controller.adapters.clock import SystemClock
from controller.adapters.kube import PykubeClient
from controller.adapters.kube_connection import connect
from controller.domain.conditions import Condition, entries, find
from controller.domain.names import field_manager
from controller.domain.reasons import Reason
from controller.ports import OSDPL
from controller.reconcile.region_status import apply_region_status

# What each container owns beside its condition, and how one round of it looks.
PARTS: dict[str, tuple[str, Reason]] = {
    "core": ("Ready", Reason.APPLYING),
    "helmbundle": ("ReleasesReady", Reason.RELEASES_PENDING),
    "health": ("WorkloadsHealthy", Reason.WORKLOADS_PROGRESSING),
    "secrets": ("SecretsExchanged", Reason.SECRETS_READY),
    "node": ("NodesReady", Reason.NODES_NOT_READY),
}


def fields(container: str, number: int) -> dict[str, Any]:
    """The container's own fields in this round; in every third one something of them goes away."""
    some = {} if number % 3 == 0 else {"second": {"state": f"s{number}"}}
    return {
        "core": {"progress": f"{number}/1000", "state": "Applying"},
        "helmbundle": {"children": {"first": {"ready": False, "message": f"round {number}"}}},
        "health": {"health": {"nova": {"api": {"status": "Progressing", "ready": number, "desired": 1000}}}},
        "secrets": {"secrets": {"first": {"state": f"s{number}"}, **some}},
        "node": {"nodes": {"first": {"state": f"s{number}"}, **some}},
    }[container]


def differences(status: dict[str, Any], container: str, number: int) -> list[str]:
    """What of the container's own round is not in the status any more."""
    type_, _ = PARTS[container]
    lost = [name for name, value in fields(container, number).items() if status.get(name) != value]
    if find(status.get("conditions") or [], type_).get("message") != f"round {number}":
        lost.append(type_)
    return [f"round {number}: {name}" for name in lost]


def write(kubeconfig: Path, namespace: str, name: str, container: str, rounds: int) -> dict[str, Any]:
    """All the rounds of one container."""
    kube, clock = PykubeClient(connect(kubeconfig)), SystemClock()
    type_, reason = PARTS[container]
    lost: list[str] = []
    for number in range(1, rounds + 1):
        osdpl = kube.get(OSDPL, name, namespace)
        assert osdpl is not None
        status = osdpl.get("status") or {}
        if number > 1:
            lost += differences(status, container, number - 1)
        condition = Condition(type_, "False", reason, f"round {number}", 1)
        own = {
            "conditions": entries([condition], status["conditions"], clock.now()),
            **fields(container, number),
        }
        apply_region_status(kube, osdpl, own, manager=field_manager(container))
    return {"rounds": rounds, "lost": lost}


if __name__ == "__main__":
    given = sys.argv[1:]
    print(json.dumps(write(Path(given[0]), given[1], given[2], given[3], int(given[4]))))
