"""The Jobs of a restore: made once for each attempt, and judged by what became of them."""

from __future__ import annotations

from dataclasses import replace

from controller.domain.api.conditions import find
from controller.domain.backups.backup_jobs import NORTHBOUND_STATEFULSET
from controller.domain.restores.backup_checks import RegionNow, manifest_problem, misfit, read_fetched
from controller.domain.restores.differences import read_report
from controller.domain.restores.next_step import StepFacts
from controller.domain.restores.restore_jobs import FETCH, NORTHBOUND, WORK, RestoreRun, restore_job
from controller.domain.restores.restore_state import LoadedDatabase, Step, StepState
from controller.domain.shared.backoff import delay
from controller.domain.shared.redaction import Redactor, redact_urls
from controller.errors import Conflict, Forbidden, ManifestInvalid, ObjectRefused
from controller.ports.kubernetes import JOB, POD, STATEFULSET, Kube, KubeObject
from controller.reconcile.shared.action_log import log_action
from controller.reconcile.shared.secret_values import SecretValues

DATABASE = "mariadb-server"
LOG_LINES, REPORT_LINES = 20, 2000
# What restic says, or its exit code from version 0.17 on, of what another attempt cannot heal.
_REFUSALS = {
    12: "the key of the repository is wrong; correct RESTIC_PASSWORD in the Secret that spec.from names",
    10: "there is no repository at RESTIC_REPOSITORY of the Secret that spec.from names; correct it",
}
_OWN_REFUSALS = {
    12: "the key of the repository is wrong; correct the Secret of spec.features.backup.passphrase",
    10: "there is no repository at spec.features.backup.destination of the region; name one in spec.from",
}
_TEXTS = {"wrong password": 12, "Is there a repository": 10, "repository does not exist": 10}
_NONE = ("no snapshot found", "no matching ID found")


class RestoreRuns:
    """The Job of one step. `now`: seconds since the epoch."""

    def __init__(self, kube: Kube, run: RestoreRun, now: float) -> None:
        self._kube = kube
        self._run = run
        self._now = now
        self._namespace = str(run.meta["namespace"])

    def facts(self, region: RegionNow) -> StepFacts:
        """How far the step is; begins its Job, if there is none for this attempt. Raises KubeError."""
        if not self._run.spec.secret and self._run.own is None:
            text = "spec.from names no repository, and the region has no spec.features.backup"
            return StepFacts(refused=f"{text}; name a Secret in spec.from of another RegionRestore")
        job = self._kube.get(JOB, self._run.job, self._namespace)
        if job is None:
            return self._begin()
        conditions = (job.get("status") or {}).get("conditions") or ()
        if find(conditions, "Complete").get("status") == "True":
            return self._found(region) if self._run.step.step == Step.CHECK else self._loaded()
        if find(conditions, "Failed").get("status") == "True":
            return self._failed(str(find(conditions, "Failed").get("message") or ""))
        return StepFacts(waiting=f"Job {self._run.job} runs")

    def _begin(self) -> StepFacts:
        step = self._run.step
        pause = delay(step.attempts, 1.0, first=15.0, cap=300.0)
        if step.state == StepState.FAILED and step.ended <= self._now < step.ended + pause:
            return StepFacts(failing=step.message)
        database = self._kube.get(STATEFULSET, DATABASE, self._namespace)
        if database is None:
            return StepFacts(waiting=f'there is no StatefulSet "{DATABASE}" whose image could load it')
        try:
            northbound = self._kube.get(STATEFULSET, NORTHBOUND_STATEFULSET, self._namespace)
            self._kube.create(restore_job(replace(self._run, northbound=northbound), database))
        except Conflict:
            return StepFacts(waiting=f"Job {self._run.job} begins")
        except (ObjectRefused, Forbidden) as error:
            return StepFacts(waiting=f"its Job was refused: {error}")
        place = f"{self._namespace}/{self._run.job}"
        log_action("create-job", place, f"{step.step} of restore {self._run.meta['name']} begins")
        return StepFacts(waiting=f"Job {self._run.job} begins")

    def _found(self, region: RegionNow) -> StepFacts:
        pod = self._pod()
        output = self._log(pod, WORK, 1) if pod else ""
        if not output:
            return self._again("the output of the check cannot be read")
        try:
            fetched = read_fetched(output)
        except ManifestInvalid as error:
            return StepFacts(refused=manifest_problem(error))
        except ValueError as error:
            return StepFacts(refused=f"{error}; use another backup")
        if problem := misfit(fetched, region, self._run.spec.backup):
            return StepFacts(refused=problem)
        digests = {one.path: one.sha256 for one in fetched.manifest.files}
        databases = tuple(
            LoadedDatabase(one.name, one.file, digests[one.file]) for one in fetched.manifest.databases
        )
        return StepFacts(backup=fetched.manifest.id, databases=databases)

    def _loaded(self) -> StepFacts:
        """What the Job says of the backup. It has loaded it, whether its output can be read or not."""
        pod = self._pod()
        if pod is None:
            return StepFacts()
        names = {str(one["name"]) for one in (pod.get("spec") or {}).get("initContainers") or ()}
        northbound = self._log(pod, NORTHBOUND, 1) if NORTHBOUND in names else ""
        return StepFacts(report=read_report(self._log(pod, WORK, REPORT_LINES), northbound))

    def _failed(self, message: str) -> StepFacts:
        pod = self._pod()
        if pod is None:
            return self._again(message or "its pod is gone")
        name, code = _first_failure(pod)
        text = self._log(pod, name, LOG_LINES)
        if name == FETCH:
            code = next((number for words, number in _TEXTS.items() if words in text), code)
            if code in _REFUSALS:
                texts = _REFUSALS if self._run.spec.secret else _OWN_REFUSALS
                return StepFacts(refused=texts[code])
            if any(words in text for words in _NONE):
                return StepFacts(refused=f"there is no backup with the tags {self._run.tag}; name another")
        redactor = Redactor(SecretValues(self._kube, self._namespace).of_no_release())
        last = redact_urls(redactor.redact(" ".join(text.split())))[-500:]
        return self._again(last or message or f"container {name} ended with code {code}")

    def _again(self, text: str) -> StepFacts:
        """A failure of this attempt, with its number: the one before may have had the same cause."""
        return StepFacts(failing=f"attempt {self._run.step.attempts + 1}: {text}")

    def _log(self, pod: KubeObject, container: str, lines: int) -> str:
        name = str(pod["metadata"]["name"])
        return self._kube.pod_log(name, self._namespace, container=container, tail_lines=lines)

    def _pod(self) -> KubeObject | None:
        pods = self._kube.list(POD, self._namespace, labels=f"job-name={self._run.job}")
        return max(pods, key=lambda pod: str(pod["metadata"].get("creationTimestamp")), default=None)


def _first_failure(pod: KubeObject) -> tuple[str, int]:
    """The container that failed, and its exit code."""
    status = pod.get("status") or {}
    for key in ("initContainerStatuses", "containerStatuses"):
        for one in status.get(key) or ():
            ended = (one.get("state") or {}).get("terminated") or {}
            if ended.get("exitCode"):
                return str(one["name"]), int(ended["exitCode"])
    return WORK, 0
