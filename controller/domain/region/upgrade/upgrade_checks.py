"""The checks before an upgrade that are programs of the services: which there are, and their Jobs. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from controller.domain.api.names import (
    DEPLOYMENT_LABEL,
    MANAGED_BY,
    MANAGED_BY_US,
    SERVICE_LABEL,
    UPGRADE_CHECK_LABEL,
)
from controller.domain.api.object_meta import owned_by_region
from controller.domain.values.catalogue import ServiceEntry
from controller.domain.values.upgrade_parts import UpgradeCheck

# Seconds, also while its image is pulled.
CHECK_WITHIN = 900
# Of a migration of data: it goes on where it stopped, in batches, and tables of a region may be large.
MIGRATED_WITHIN = 21600
# A program ends with another code than 0 while something is left, or if the database did not answer.
MIGRATION_TRIES_AGAIN = 5
# An outcome that is older says little about what runs: the check is made again.
CHECK_KEPT = 21600
# Charts distinguish pods of an application by this label. Under another value no Service sends requests.
_COMPONENT = "component"
# What a pod of a check has from the pod that it copies.
_KEPT_OF_POD = (
    "dnsConfig",
    "dnsPolicy",
    "hostAliases",
    "hostNetwork",
    "imagePullSecrets",
    "nodeSelector",
    "priorityClassName",
    "runtimeClassName",
    "schedulerName",
    "securityContext",
    "serviceAccountName",
    "tolerations",
)
_KEPT_OF_CONTAINER = ("env", "envFrom", "imagePullPolicy", "securityContext", "volumeMounts", "workingDir")
# A volume of another kind may be attached to another node, and holds nothing that a check reads.
_KEPT_VOLUMES = ("configMap", "downwardAPI", "emptyDir", "projected", "secret")
_RESOURCES = {"requests": {"cpu": "50m", "memory": "256Mi"}, "limits": {"cpu": "1", "memory": "1Gi"}}
# SQLAlchemy gives it to the driver, which sends it first in each session: the server refuses all writes then.
_ONLY_READS = "init_command=SET SESSION TRANSACTION READ ONLY"


@dataclass(frozen=True)
class ServiceUpgradeCheck:
    """A check of a service."""

    service: str
    about: UpgradeCheck


@dataclass(frozen=True)
class CheckRun:
    """A check that is to run with `image`. `request` says what it answers: for another one it is made
    again."""

    check: ServiceUpgradeCheck
    image: str
    request: str

    @property
    def job(self) -> str:
        """The name of its Job."""
        about = self.check.about
        given = "\n".join((self.request, self.image, *about.command))
        return f"upgrade-check-{about.name[:30]}-{hashlib.sha256(given.encode()).hexdigest()[:10]}"

    @property
    def within(self) -> int:
        """The seconds in which it is to end, with all its tries."""
        return MIGRATED_WITHIN if self.check.about.migrates else CHECK_WITHIN


def upgrade_checks_of(services: Iterable[ServiceEntry]) -> tuple[ServiceUpgradeCheck, ...]:
    """The checks of these services, in the order of the services."""
    return tuple(
        ServiceUpgradeCheck(entry.name, about) for entry in services for about in entry.upgrade_checks
    )


def check_job(run: CheckRun, workload: Mapping[str, Any], osdpl: Mapping[str, Any]) -> dict[str, Any]:
    """The Job of a check, with a pod as that of the workload; it goes with the osdpl."""
    about, meta, owner = run.check.about, workload["metadata"], osdpl["metadata"]
    template = workload["spec"]["template"]
    marks = {UPGRADE_CHECK_LABEL: about.name, SERVICE_LABEL: run.check.service, MANAGED_BY: MANAGED_BY_US}
    marks[DEPLOYMENT_LABEL] = str(owner["name"])
    labels = (template.get("metadata") or {}).get("labels") or {}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": run.job,
            "namespace": meta["namespace"],
            "labels": marks,
            "ownerReferences": [owned_by_region(owner)],
        },
        "spec": {
            "activeDeadlineSeconds": run.within,
            "backoffLimit": MIGRATION_TRIES_AGAIN if about.migrates else 0,
            "ttlSecondsAfterFinished": CHECK_KEPT,
            # A pod that had to leave its node says nothing about the service.
            "podFailurePolicy": {
                "rules": [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}]
            },
            "template": {
                "metadata": {"labels": {**labels, _COMPONENT: "upgrade-check", **marks}},
                "spec": _pod(run, template["spec"]),
            },
        },
    }


def _pod(run: CheckRun, spec: Mapping[str, Any]) -> dict[str, Any]:
    model = spec["containers"][0]
    container = {key: model[key] for key in _KEPT_OF_CONTAINER if key in model}
    env = [*(model.get("env") or ()), *environment_of(run.check.about)]
    volumes = [_volume(one) for one in spec.get("volumes") or ()]
    return {
        **{key: spec[key] for key in _KEPT_OF_POD if key in spec},
        "automountServiceAccountToken": False,
        "restartPolicy": "Never",
        "containers": [
            {
                **container,
                "name": "check",
                "image": run.image,
                "command": list(run.check.about.command),
                "env": env,
                "resources": _RESOURCES,
            }
        ],
        "volumes": volumes,
    }


def environment_of(about: UpgradeCheck) -> list[dict[str, str]]:
    """oslo.config takes options from the environment before those of files."""
    return [
        {"name": f"OS_{group.upper()}__CONNECTION_PARAMETERS", "value": _ONLY_READS}
        for group in about.databases
    ]


def _volume(given: Mapping[str, Any]) -> dict[str, Any]:
    if any(kind in given for kind in _KEPT_VOLUMES):
        return dict(given)
    return {"name": given["name"], "emptyDir": {}}
