"""What the audit log and Helm's records say of an upgrade: were Jobs over before pods were replaced?"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from itertools import pairwise
from typing import Any

from controller.adapters.helm.records.release_records import SecretRecords
from controller.domain.releases.upgrade_jobs.awaited_jobs import SERVING, all_awaited, upgrade_jobs
from controller.ports.helm import RenderedRelease, Revision
from sandbox import audit
from tests.cluster.region import Region

_RESOURCES = {"Deployment": "deployments", "StatefulSet": "statefulsets", "DaemonSet": "daemonsets"}
# What the controllers of workloads make when pods are to have another template.
_TEMPLATES = ("replicasets", "controllerrevisions")


def waiting_releases(region: Region) -> dict[str, tuple[str, ...]]:
    """The releases with pods that wait for Jobs of theirs, each with those Jobs."""
    found = {}
    for name, (version, _) in region.revisions().items():
        recorded = SecretRecords(region.kube).manifest(name, region.namespace, version)
        jobs = _awaited(region, recorded)
        if jobs:
            found[name] = jobs
    return found


def assert_jobs_came_first(region: Region, since: datetime, expected: dict[str, tuple[str, ...]]) -> None:
    """Of each release the audit log shows in this order: the earlier Jobs were deleted;
    Helm sent workloads; the Jobs of the new pods succeeded; the first template of new pods was made."""
    requests = [one for one in audit.requests(region.sandbox.audit_log, since) if not one.dry_run]
    ours = [one for one in requests if one.namespace == region.namespace and one.code < 300]
    for release, jobs in expected.items():
        half, whole = _halves(region, release)
        recorded = SecretRecords(region.kube).manifest(release, region.namespace, whole.version)
        sent = min(one.time for one in ours if _is_sent(one, recorded))
        for job in jobs:
            gone = min(
                one.time for one in ours if (one.verb, one.resource, one.name) == ("delete", "jobs", job)
            )
            assert gone < sent, (
                f"{release}: Helm sent workloads at {sent} while Job {job} of before was there"
            )
        began = _time_of_record(ours, release, whole.version)
        ended = [one.time for one in ours if one.resource == "jobs/status" and one.name in jobs]
        assert any(sent < time < began for time in ended), f"{release}: no Job ran in revision {half.version}"
        for one in ours:
            if one.verb == "create" and one.resource in _TEMPLATES and _is_of(one, recorded):
                assert one.time > began, f"{release}: pods were replaced in revision {half.version}: {one}"


def _halves(region: Region, release: str) -> tuple[Revision, Revision]:
    history = SecretRecords(region.kube).observe(region.namespace, releases=(release,))[release]
    # Later revisions are of later steps, such as that of the computes.
    pairs = [(half, whole) for half, whole in pairwise(history) if half.jobs_for]
    assert pairs, f"{release} was upgraded in one step: {history}"
    half, whole = pairs[0]
    assert half.jobs_for == whole.digest
    return half, whole


def _awaited(region: Region, recorded: RenderedRelease) -> tuple[str, ...]:
    jobs = upgrade_jobs(recorded.manifest, recorded.hooks)
    workloads = [obj for obj in recorded.manifest if obj["kind"] in SERVING]
    found = all_awaited(workloads, jobs, region.namespace)
    return tuple(str(job["metadata"]["name"]) for job in found)


def _workloads(recorded: RenderedRelease) -> Iterator[dict[str, Any]]:
    return (obj for obj in recorded.manifest if obj["kind"] in SERVING)


def _is_sent(one: audit.Request, recorded: RenderedRelease) -> bool:
    names = {(_RESOURCES[obj["kind"]], obj["metadata"]["name"]) for obj in _workloads(recorded)}
    return one.verb in ("patch", "update", "create") and (one.resource, one.name) in names


def _is_of(one: audit.Request, recorded: RenderedRelease) -> bool:
    names = [str(obj["metadata"]["name"]) for obj in _workloads(recorded)]
    return any(one.name.rpartition("-")[0] == name for name in names)


def _time_of_record(requests: list[audit.Request], release: str, version: int) -> datetime:
    name = f"sh.helm.release.v1.{release}.v{version}"
    return min(
        one.time for one in requests if (one.verb, one.resource, one.name) == ("create", "secrets", name)
    )
