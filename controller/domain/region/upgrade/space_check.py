"""The check before an upgrade that looks how full the volumes of the databases are. Pure.

A migration copies whole tables, and a database without room stops in the middle of it. The Job mounts the
claim of a server read-only, on the node where the server has it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from controller.domain.region.upgrade.upgrade_checks import CheckRun, ServiceUpgradeCheck, check_job
from controller.domain.values.upgrade_parts import UpgradeCheck

SERVICE, CHART = "database", "mariadb"
# Both chart sources give them to the pods of database servers.
SERVERS = "application=mariadb,component=server"
# Percent of a volume that are free, and GiB that are enough with any percentage.
FAILS_BELOW, FAILS_BELOW_GIB = 10, 10
WARNS_BELOW, WARNS_BELOW_GIB = 25, 50
_MOUNT, _FOUND = "/volume", "space: "
_SCRIPT = f"""
import os, sys
seen = os.statvfs("{_MOUNT}")
free, whole = seen.f_bavail * seen.f_frsize, seen.f_blocks * seen.f_frsize
part = 100 * free // max(1, whole)
print(f"{_FOUND}{{sys.argv[1]}}: {{free / 2**30:.1f}} of {{whole / 2**30:.1f}} GiB are free, {{part}} %")
fails = part < {FAILS_BELOW} and free < {FAILS_BELOW_GIB} * 2**30
warns = part < {WARNS_BELOW} and free < {WARNS_BELOW_GIB} * 2**30
sys.exit(2 if fails else int(warns))
"""


def claim_of(pod: Mapping[str, Any]) -> str:
    """The claim with the data of a server that runs on a node; empty if there is none."""
    spec = pod.get("spec") or {}
    claims = [one.get("persistentVolumeClaim") for one in spec.get("volumes") or ()]
    claim: Mapping[str, Any] = next((one for one in claims if one), {})
    return str(claim.get("claimName") or "") if spec.get("nodeName") else ""


def space_check(claim: str, image: str, request: str) -> CheckRun:
    """The check of a claim. `image` is the controller's own."""
    about = UpgradeCheck(
        # It is also a label.
        name=f"space-{claim}"[:63].rstrip("-."),
        chart=CHART,
        workload="",
        tag="",
        command=("python3", "-c", _SCRIPT, claim),
        databases=(),
        findings=_FOUND,
        remedy="enlarge the volume, or delete data that you do not need",
    )
    return CheckRun(ServiceUpgradeCheck(SERVICE, about), image, request)


def space_job(
    run: CheckRun, pod: Mapping[str, Any], osdpl: Mapping[str, Any], pull_secrets: tuple[str, ...]
) -> dict[str, Any]:
    """The Job of a check, beside the pod of the server."""
    container = {
        "imagePullPolicy": "IfNotPresent",
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
        "volumeMounts": [{"name": "data", "mountPath": _MOUNT, "readOnly": True}],
    }
    spec = {
        "containers": [container],
        "imagePullSecrets": [{"name": name} for name in pull_secrets],
        # No group of files: Kubernetes would change whose they are.
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": 65532,
            "runAsGroup": 65532,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "tolerations": list((pod.get("spec") or {}).get("tolerations") or ()),
    }
    workload = {"metadata": osdpl["metadata"], "spec": {"template": {"spec": spec}}}
    job = check_job(run, workload, osdpl)
    made = job["spec"]["template"]["spec"]
    made["nodeName"] = pod["spec"]["nodeName"]
    made["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": claim_of(pod)}}]
    return job
