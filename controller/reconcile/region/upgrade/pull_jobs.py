"""Has nodes pull the images of the target before an upgrade begins, a bounded number of nodes at once."""

from __future__ import annotations

from controller.domain.api.names import DEPLOYMENT_LABEL, UPGRADE_CHECK_LABEL
from controller.domain.region.upgrade.check_outcome import (
    check_end,
    has_failed,
    has_succeeded,
    is_pod_of,
    while_it_runs,
)
from controller.domain.region.upgrade.image_pulls import (
    CHECK,
    PODS_OF_CHARTS,
    NodePull,
    has_pulled,
    node_pulls,
    pull_job,
)
from controller.domain.region.upgrade.upgrade_state import Check, CheckState
from controller.domain.shared.plurals import count
from controller.domain.shared.redaction import redact_urls
from controller.errors import Conflict, Forbidden, ObjectRefused
from controller.ports.kubernetes import JOB, POD, Kube, KubeObject, KubeObjects
from controller.reconcile.region.upgrade.upgrade_check_jobs import CheckView
from controller.reconcile.shared.action_log import log_action

# Pulls at the same time: a registry serves many nodes.
AT_ONCE = 20
_SKIP = f"correct it, or name {CHECK} in spec.upgrade.skipChecks"
_SHOWN = 3


class PullJobs:
    """The Jobs of one pass. `request` says what they answer."""

    def __init__(self, kube: Kube, view: CheckView, request: str) -> None:
        self._kube = kube
        self._view = view
        self._request = request

    def outcome(self) -> Check:
        """How far the nodes are. Begins the next ones; raises KubeError."""
        view = self._view
        pods = self._kube.list(POD, view.namespace, labels=PODS_OF_CHARTS)
        pulls = node_pulls(pods, view.bundles, view.desired)
        if not view.remembered:
            return Check(CHECK, CheckState.RUNNING)
        labels = f"{UPGRADE_CHECK_LABEL}={CHECK}"
        own = f"{labels},{DEPLOYMENT_LABEL}={view.osdpl['metadata']['name']}"
        jobs = {str(job["metadata"]["name"]): job for job in self._kube.list(JOB, view.namespace, labels=own)}
        puller = self._kube.list(POD, view.namespace, labels=labels) if jobs else []
        waiting, failed, running, done = [], [], 0, 0
        for pull in pulls:
            job = jobs.get(pull.job(self._request))
            if job is None:
                waiting.append(pull)
                continue
            ended, text = _judge(job, puller)
            done += ended and not text
            running += not ended
            failed += [f"{pull.node}: {text}"] if text else []
        for pull in waiting[: max(0, AT_ONCE - running)]:
            failed += self._begin(pull)
        return _summed(len(pulls), done, failed)

    def _begin(self, pull: NodePull) -> list[str]:
        """Why the Job of a node was refused; empty if it was not."""
        job = pull_job(pull, self._request, self._view.osdpl)
        try:
            self._kube.create(job)
        except Conflict:
            return []
        except (ObjectRefused, Forbidden) as error:
            return [f"{pull.node}: the Job was refused: {error}"]
        place = f"{self._view.namespace}/{job['metadata']['name']}"
        log_action("create-job", place, f"node {pull.node} pulls {count(len(pull.images), 'image')}")
        return []


def _judge(job: KubeObject, pods: KubeObjects) -> tuple[bool, str]:
    """Whether a Job has ended, and why images are not there."""
    if has_succeeded(job):
        return True, ""
    own = [pod for pod in pods if is_pod_of(pod, str(job["metadata"]["name"]))]
    pod = max(own, key=lambda one: str(one["metadata"].get("creationTimestamp")), default=None)
    if has_failed(job):
        return True, "" if has_pulled(pod) else check_end(job, pod, "").why or "its images are not there"
    state, text = while_it_runs(pod)
    return False, text if state == CheckState.FAILED else ""


def _summed(nodes: int, done: int, failed: list[str]) -> Check:
    if failed:
        more = f" and {len(failed) - _SHOWN} more" if len(failed) > _SHOWN else ""
        return Check(CHECK, CheckState.FAILED, f"{redact_urls('; '.join(failed[:_SHOWN]))}{more}; {_SKIP}")
    text = f"{done} of {count(nodes, 'node')} have the new images" if nodes else "no node needs a new image"
    return Check(CHECK, CheckState.PASSED if done == nodes else CheckState.RUNNING, text)
