"""Whether a region runs with what a Secret of credentials says: its releases, and their pods."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Any

from controller.domain.api.names import RELEASE_LABELS
from controller.domain.credentials.rotation.accounts import Release, references_to
from controller.domain.health.workloads import Workload, parse_workload
from controller.domain.shared.times import seconds_of
from controller.domain.values.chart_values import lookup
from controller.domain.values.option_files import OptionFiles
from controller.domain.values.secret_refs import resolve
from controller.errors import HelmFailed, SecretMissing
from controller.ports.helm import ReleaseRecords
from controller.ports.kubernetes import DAEMONSET, DEPLOYMENT, POD, STATEFULSET, Kube, KubeObject
from controller.reconcile.shared.secret_values import SecretValues

_ENDED = ("Succeeded", "Failed")


class CredentialUptake:
    """Looks at Helm's records and at workloads, not at what a status says of them: that may be older."""

    def __init__(self, kube: Kube, records: ReleaseRecords, files: OptionFiles) -> None:
        self._files = files
        self._kube = kube
        self._records = records

    def waits(
        self, namespace: str, secret: str, releases: Iterable[Release], since: float
    ) -> tuple[str, ...]:
        """What does not run yet with what the Secret says now, in words; empty once everything does.

        `since`: when it began to say so, in seconds since the epoch. Raises SpecInvalid and KubeError.
        """
        consumers = [one for one in releases if references_to(secret, one)]
        found = self.behind(namespace, secret, consumers)
        # Pods of what is not upgraded yet say nothing.
        return found or tuple(self._pods(namespace, frozenset(one.name for one in consumers), since))

    def behind(self, namespace: str, secret: str, consumers: Collection[Release]) -> tuple[str, ...]:
        """Which of the releases that refer to the Secret do not use yet what it says now, in words.

        Of Helm's records alone: their pods may still be replaced. Raises SpecInvalid and KubeError.
        """
        names = frozenset(one.name for one in consumers)
        values = SecretValues(self._kube, namespace)
        histories = self._records.observe(namespace, releases=names) if names else {}
        found: list[str] = []
        for release in consumers:
            history = histories.get(release.name, ())
            if not history or history[-1].status != "deployed":
                found.append(f"release {release.name} is not deployed")
            elif not self._is_made_of(release, namespace, history[-1].version, secret, values):
                found.append(f"release {release.name} does not use it yet")
        return tuple(found)

    def _is_made_of(
        self, release: Release, namespace: str, version: int, secret: str, values: SecretValues
    ) -> bool:
        try:
            desired = resolve(
                release.values,
                values.lookup,
                self._files,
                release=release.name,
                upstream=release.upstream,
            ).values
            given = self._records.given_values(release.name, namespace, version)
        except (SecretMissing, HelmFailed):
            return False
        paths = [one.path for one in references_to(secret, release)]
        return all(lookup(given, path) == lookup(desired, path) for path in paths)

    def _pods(self, namespace: str, releases: frozenset[str], since: float) -> Iterator[str]:
        for kind in (DEPLOYMENT, STATEFULSET, DAEMONSET):
            for obj in self._kube.list(kind, namespace):
                workload = parse_workload({**obj, "kind": kind.kind})
                if workload is not None and workload.release in releases and not _is_replaced(workload):
                    yield f"{kind.kind} {workload.name} has old pods, or pods that are not ready"
        for pod in self._kube.list(POD, namespace):
            meta = pod["metadata"]
            if not releases & {(meta.get("labels") or {}).get(label) for label in RELEASE_LABELS}:
                continue
            if meta.get("deletionTimestamp"):
                yield f"Pod {meta['name']} has not ended yet"
            elif _is_run_of_before(pod, since):
                yield f"Pod {meta['name']} of a Job started before"


def _is_replaced(workload: Workload) -> bool:
    """Whether all of its pods are of the newest template, and ready."""
    rollout = workload.rollout
    if workload.off:
        return True
    newest = rollout.updated >= rollout.desired and rollout.current <= rollout.updated
    seen = workload.observed >= workload.generation
    return seen and newest and rollout.ready >= rollout.desired


def _is_run_of_before(pod: KubeObject, since: float) -> bool:
    meta: dict[str, Any] = pod["metadata"]
    of_job = any(one.get("kind") == "Job" for one in meta.get("ownerReferences") or ())
    ended = (pod.get("status") or {}).get("phase") in _ENDED
    return of_job and not ended and seconds_of(meta.get("creationTimestamp")) < since
