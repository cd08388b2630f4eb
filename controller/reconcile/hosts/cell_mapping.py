"""Maps a new compute host to a cell of Nova, by the region's own Job for it."""

from __future__ import annotations

import hashlib
from dataclasses import replace

from controller.domain.api.conditions import find
from controller.domain.api.names import MANAGED_BY, MANAGED_BY_US
from controller.domain.hosts.host_facts import HostFacts, NextStep, Step
from controller.errors import Conflict
from controller.ports.kubernetes import CRONJOB, JOB, Kube, KubeObject
from controller.reconcile.shared.action_log import log_action

# The CronJob of the charts that maps new computes to their cell.
CELL_SETUP = "nova-cell-setup"
# Jobs that we made of it: each maps every host, so that one at a time is enough.
MAPS_CELLS = "osctl.dev/maps-cells"
# Seconds, from its creation on, also while its pod finds no node.
JOB_WITHIN = 900
# A Job that has ended is kept so long, in seconds, before there may be another.
MAP_AGAIN = 3600


def ensure_cell_mapping(kube: Kube, namespace: str, host: HostFacts, decision: NextStep) -> NextStep:
    """Starts the region's own Job that maps hosts, if none is at work; one for each host and Node."""
    cron = kube.get(CRONJOB, CELL_SETUP, namespace)
    if cron is None:
        text = f'{decision.message}, and there is no CronJob "{CELL_SETUP}" to map it'
        return replace(decision, step=Step.BLOCKED, message=text)
    uid = host.node.uid if host.node is not None else ""
    digest = hashlib.sha256(f"{host.name} {uid}".encode()).hexdigest()[:8]
    name = f"{CELL_SETUP}-{digest}"
    for other in kube.list(JOB, namespace, labels=MAPS_CELLS):
        if other["metadata"]["name"] != name and not _has_ended(other):
            text = f'the Job "{other["metadata"]["name"]}" maps all hosts'
            return replace(decision, step=Step.WAIT, message=text)
    template = cron["spec"]["jobTemplate"]
    meta = template.get("metadata") or {}
    job: KubeObject = {
        "apiVersion": JOB.api_version,
        "kind": JOB.kind,
        "metadata": {
            "name": name,
            "namespace": namespace,
            "labels": {**(meta.get("labels") or {}), MANAGED_BY: MANAGED_BY_US, MAPS_CELLS: "true"},
            "annotations": {
                **(meta.get("annotations") or {}),
                "cronjob.kubernetes.io/instantiate": "manual",
            },
        },
        "spec": {
            "activeDeadlineSeconds": JOB_WITHIN,
            **template["spec"],
            "ttlSecondsAfterFinished": MAP_AGAIN,
        },
    }
    try:
        kube.create(job)
    except Conflict:
        return _outcome(kube, namespace, decision, name)
    log_action("create-job", f"{namespace}/{name}", f"host {host.name}: mapping to a cell begins")
    return decision


def _outcome(kube: Kube, namespace: str, decision: NextStep, name: str) -> NextStep:
    """What became of the Job that is there already."""
    live = kube.get(JOB, name, namespace) or {}
    conditions = (live.get("status") or {}).get("conditions") or ()
    again = f"the Job starts again {MAP_AGAIN // 60} minutes after its end, or when you delete it"
    if find(conditions, "Failed").get("status") == "True":
        text = f'{decision.message}; the Job "{name}" failed, see its log; {again}'
        return replace(decision, step=Step.BLOCKED, message=text)
    if find(conditions, "Complete").get("status") == "True":
        text = f'{decision.message}, although the Job "{name}" succeeded; {again}'
        return replace(decision, step=Step.BLOCKED, message=text)
    return replace(decision, step=Step.WAIT, message=f'the Job "{name}" maps it')


def _has_ended(job: KubeObject) -> bool:
    conditions = (job.get("status") or {}).get("conditions") or ()
    return any(find(conditions, type_).get("status") == "True" for type_ in ("Complete", "Failed"))
