"""Evacuates a lost node: makes the ComputeMaintenance that does it."""

from __future__ import annotations

import hashlib
from dataclasses import replace

from controller.domain.api.names import API_VERSION, AUTOMATIC_LABEL, MANAGED_BY, MANAGED_BY_US
from controller.domain.api.region_name import RegionName
from controller.domain.hosts.host_facts import NextStep, Step
from controller.domain.hosts.nodes import NodeFacts
from controller.errors import Conflict
from controller.ports.kubernetes import COMPUTE_MAINTENANCE, Kube
from controller.reconcile.shared.action_log import log_action


def ensure_evacuation(kube: Kube, node: NodeFacts, decision: NextStep, region: RegionName) -> NextStep:
    """Makes the ComputeMaintenance that does it: one for each loss, so that it is made once."""
    if node.declined == node.since > 0:
        text = "the automatic evacuation was deleted; create a ComputeMaintenance of mode Evacuate instead"
        return replace(decision, step=Step.BLOCKED, message=text)
    digest = hashlib.sha256(f"{region} {node.uid} {node.since:.0f}".encode()).hexdigest()[:8]
    name = f"evacuate-{node.name[:200]}-{digest}"
    maintenance = {
        "apiVersion": API_VERSION,
        "kind": COMPUTE_MAINTENANCE.kind,
        "metadata": {
            "name": name,
            "labels": {AUTOMATIC_LABEL: "true", MANAGED_BY: MANAGED_BY_US},
        },
        "spec": {"region": region.written(), "nodeName": node.name, "mode": "Evacuate"},
    }
    try:
        kube.create(maintenance)
    except Conflict:
        return replace(decision, step=Step.WAIT)
    log_action("create-maintenance", name, f"evacuation of node {node.name} begins: {decision.message}")
    return decision
