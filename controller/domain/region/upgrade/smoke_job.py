"""The check after a step of an upgrade that uses its service: the Job, and what it says at its end. Pure."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from controller.domain.api.names import (
    CLOUDS_CA_KEY,
    CLOUDS_KEY,
    CLOUDS_SECRET,
    DEPLOYMENT_LABEL,
    MANAGED_BY,
    MANAGED_BY_US,
    SERVICE_LABEL,
    UPGRADE_SMOKE_LABEL,
)
from controller.domain.api.object_meta import owned_by_region
from controller.domain.region.upgrade.upgrade_checks import CHECK_KEPT, CHECK_WITHIN

CONTAINER = "smoke"
# Of one try: its steps. Removal has three minutes more, and two tries end within CHECK_WITHIN.
_STEPS_WITHIN = "4m"
_TRIES_AGAIN = 1
# After SIGTERM a check still removes what it has made.
_GRACE_SECONDS = 200
_MOUNT = "/etc/openstack-clouds"
_RESOURCES = {"requests": {"cpu": "50m", "memory": "128Mi"}, "limits": {"memory": "512Mi"}}
# The pod goes where those of the API go.
_KEPT_OF_POD = ("dnsConfig", "dnsPolicy", "hostAliases", "nodeSelector", "priorityClassName", "tolerations")
_FAILED_STEP = re.compile(r"^failed\s+(\S+)\s+[0-9.]+ s\s*(.*)$")
_TAIL_LINES = 3


@dataclass(frozen=True)
class SmokeCheck:
    """A smoke check of `service` after `step`. `request` says what it answers: for another one it is made
    again. `image` is the controller's own, `pull_secrets` those that the region's namespace pulls it with.
    """

    step: str
    service: str
    image: str
    request: str
    pull_secrets: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """The step in the form of a label."""
        return self.step.replace("/", ".")

    @property
    def job(self) -> str:
        """The name of its Job."""
        digest = hashlib.sha256("\n".join((self.step, self.request)).encode()).hexdigest()[:10]
        return f"upgrade-smoke-{self.service[:30]}-{digest}"


def smoke_job(
    check: SmokeCheck,
    osdpl: Mapping[str, Any],
    keystone: Mapping[str, Any] | None,
    *,
    authority: bool,
) -> dict[str, Any]:
    """The Job of a check. It goes with the osdpl, and its pod to nodes as those of Keystone's API.

    `authority`: the exported Secret has certificates to trust.
    """
    owner = osdpl["metadata"]
    marks = {
        UPGRADE_SMOKE_LABEL: check.label,
        SERVICE_LABEL: check.service,
        MANAGED_BY: MANAGED_BY_US,
        DEPLOYMENT_LABEL: str(owner["name"]),
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": check.job,
            "namespace": owner["namespace"],
            "labels": marks,
            "ownerReferences": [owned_by_region(owner)],
        },
        "spec": {
            "activeDeadlineSeconds": CHECK_WITHIN,
            "backoffLimit": _TRIES_AGAIN,
            "ttlSecondsAfterFinished": CHECK_KEPT,
            # A pod that had to leave its node says nothing about the service.
            "podFailurePolicy": {
                "rules": [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}]
            },
            "template": {"metadata": {"labels": dict(marks)}, "spec": _pod(check, keystone, authority)},
        },
    }


def _command(check: SmokeCheck, authority: bool) -> list[str]:
    trusted = ["--ca", f"{_MOUNT}/{CLOUDS_CA_KEY}"] if authority else []
    clouds = ["--clouds", f"{_MOUNT}/{CLOUDS_KEY}", *trusted]
    return ["osctl", "smoke", *clouds, "--service", check.service, "--timeout", _STEPS_WITHIN]


def _pod(check: SmokeCheck, keystone: Mapping[str, Any] | None, authority: bool) -> dict[str, Any]:
    model = keystone["spec"]["template"]["spec"] if keystone is not None else {}
    return {
        **{key: model[key] for key in _KEPT_OF_POD if key in model},
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": _GRACE_SECONDS,
        "imagePullSecrets": [{"name": name} for name in check.pull_secrets],
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": 65532,
            "runAsGroup": 65532,
            "fsGroup": 65532,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [
            {
                "name": CONTAINER,
                "image": check.image,
                "imagePullPolicy": "IfNotPresent",
                "command": _command(check, authority),
                "env": [{"name": "HOME", "value": "/tmp"}],  # noqa: S108 - in its own pod
                "resources": _RESOURCES,
                "securityContext": {
                    "allowPrivilegeEscalation": False,
                    "readOnlyRootFilesystem": True,
                    "capabilities": {"drop": ["ALL"]},
                },
                # Its log is the table of its steps, of which the end is enough.
                "terminationMessagePolicy": "FallbackToLogsOnError",
                "volumeMounts": [
                    {"name": "clouds", "mountPath": _MOUNT, "readOnly": True},
                    {"name": "tmp", "mountPath": "/tmp"},  # noqa: S108 - in its own pod
                ],
            }
        ],
        "volumes": [
            {"name": "clouds", "secret": {"secretName": CLOUDS_SECRET, "defaultMode": 0o440}},
            {"name": "tmp", "emptyDir": {"sizeLimit": "64Mi"}},
        ],
    }


def smoke_failure(code: int, text: str) -> str:
    """What a check found that ended with this exit code; `text` is the end of its table."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    found = [match for line in lines if (match := _FAILED_STEP.match(line))]
    said = "; ".join(f"{one[1]}: {one[2] or 'no cause is given'}" for one in found)
    said = said or " ".join(lines[-_TAIL_LINES:])
    return f"osctl smoke ended with exit code {code}{': ' if said else ''}{said}"
