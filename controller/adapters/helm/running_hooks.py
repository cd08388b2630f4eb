"""Ends the Jobs and pods of hooks that an action of Helm waits for."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

from controller.adapters.helm.input_and_output import hook_phase
from controller.adapters.helm.manifests import parse_manifests
from controller.adapters.helm.records.release_records import SecretRecords
from controller.errors import ControllerError
from controller.ports.kubernetes import JOB, POD, Kube, Resource
from controller.reconcile.shared.action_log import log_action

_KINDS: Mapping[str, Resource] = {"Job": JOB, "Pod": POD}


def fail_running_hooks(kube: Kube, records: SecretRecords, release: str, namespace: str) -> None:
    """Lets Kubernetes fail the hook of the newest revision, so that Helm records the failure.

    May be called repeatedly. Errors do not matter, because the process is killed anyway.
    """
    with suppress(ControllerError):
        for hook in records.recorded_hooks(release, namespace):
            resource = _KINDS.get(str(hook.get("kind", "")))
            if resource is None or hook_phase(hook) != "Running":
                continue
            for obj in parse_manifests(str(hook.get("manifest", ""))):
                metadata = obj["metadata"]
                name, where = str(metadata["name"]), str(metadata.get("namespace") or namespace)
                kube.merge_patch(resource, name, where, {"spec": {"activeDeadlineSeconds": 1}})
                text = f"{resource.kind} {name}: stopped, because the Helm action was cancelled"
                log_action("end-hook", f"{where}/{name}", text, release=release)
