"""Looks how full the volumes of the databases are, by a Job beside each server."""

from __future__ import annotations

from collections.abc import Iterator

from controller.domain.region.upgrade.space_check import SERVERS, claim_of, space_check, space_job
from controller.domain.region.upgrade.upgrade_checks import CheckRun
from controller.domain.region.upgrade.upgrade_state import Check
from controller.ports.kubernetes import POD, Kube, KubeObject
from controller.reconcile.region.parts import OwnPods
from controller.reconcile.region.upgrade.upgrade_check_jobs import CheckJobs, CheckView


class SpaceJobs(CheckJobs):
    """The Jobs of one pass."""

    def __init__(self, kube: Kube, view: CheckView, own: OwnPods) -> None:
        super().__init__(kube, view)
        self._own = own
        self._servers: dict[str, KubeObject] = {}

    def _runs(self) -> Iterator[CheckRun | Check]:
        for pod in self._kube.list(POD, self._view.namespace, labels=SERVERS):
            if claim := claim_of(pod):
                run = space_check(claim, self._own.image, self._view.request)
                self._servers[run.job] = pod
                yield run

    def _begin(self, run: CheckRun) -> Check:
        pod = self._servers[run.job]
        return self._make(run, space_job(run, pod, self._view.osdpl, self._own.pull_secrets))
