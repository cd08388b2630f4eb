"""Replaces Jobs that an upgrade would change: Kubernetes allows no change of a Job's template.

Which ones those are is asked of the API server before the upgrade, by a dry run of what Helm would send;
no error text of Helm is read, and nothing is deleted that does not belong to the release.
"""

from __future__ import annotations

from typing import Any

from controller.domain.api.names import HELM_FIELD_MANAGER
from controller.domain.api.object_owner import is_marked
from controller.errors import ObjectRefused
from controller.ports.helm import RenderedRelease
from controller.ports.kubernetes import JOB, Kube
from controller.reconcile.shared.action_log import log_action


def replace_immutable_jobs(
    kube: Kube, rendered: RenderedRelease, release: str, namespace: str
) -> tuple[str, ...]:
    """Deletes the release's plain Jobs that cannot become what is rendered; gives their names.

    Hook Jobs are left alone: Helm replaces those itself. Raises KubeError when the API server does not
    answer; the upgrade is then tried again later.
    """
    replaced = []
    for job in rendered.manifest:
        if job.get("kind") != JOB.kind or job["metadata"].get("namespace", namespace) != namespace:
            continue
        name = str(job["metadata"]["name"])
        live = kube.get(JOB, name, namespace)
        if live is None or not is_marked(live["metadata"], release, namespace):
            continue
        if not _refused(kube, job, namespace):
            continue
        kube.delete(JOB, name, namespace, uid=str(live["metadata"]["uid"]))
        text = f"Job {name}: deleted to be created again, because it cannot be changed"
        log_action("replace", f"{namespace}/{name}", text, release=release)
        replaced.append(name)
    return tuple(replaced)


def _refused(kube: Kube, job: dict[str, Any], namespace: str) -> bool:
    desired = {**job, "metadata": {**job["metadata"], "namespace": namespace}}
    try:
        kube.apply(desired, manager=HELM_FIELD_MANAGER, dry_run=True)
    except ObjectRefused as error:
        # The words of apimachinery's ValidateImmutableField; any other refusal is for Helm to report.
        return "field is immutable" in str(error)
    return False
