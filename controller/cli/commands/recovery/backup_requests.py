"""osctl backup now, verify, list, delete: Jobs made from the CronJobs of backups."""

from __future__ import annotations

import secrets
import time
from contextlib import suppress
from datetime import UTC, datetime
from typing import Annotated, Any

import typer

from controller.cli.cluster import Cluster
from controller.cli.commands.plan import RegionName
from controller.cli.exit_codes import ExitCode
from controller.cli.on_cluster import on_cluster
from controller.cli.options import Output, parse_wait
from controller.cli.output import Format, print_data, print_table, soft_wrapped, stderr, stdout
from controller.cli.waiting import POLL_SECONDS
from controller.domain.backups.backup_jobs import BACKUP_CRONJOB, DRILL_CRONJOB, STORE_CONTAINER
from controller.domain.backups.backup_state import Outcome, backup_in
from controller.domain.backups.job_ends import MAKING_BACKUPS, ended_at, names_of_running
from controller.domain.backups.manifest import BACKUP_ID
from controller.domain.backups.requested_jobs import (
    DELETE,
    LIST,
    StoredBackup,
    parse_list,
    repository_job,
    requested_job,
)
from controller.errors import KubeError, ObjectMissing, ObjectRefused
from controller.ports.kubernetes import CRONJOB, JOB, POD, KubeObject
from controller.reconcile.backups.backup_outcomes import job_outcome

Wait = Annotated[bool, typer.Option("--wait/--no-wait", help="Wait for its end.")]
BackupTimeout = Annotated[
    float,
    typer.Option(
        "--timeout",
        metavar="DURATION",
        parser=parse_wait,
        show_default="1h",
        help="How long to wait, such as 90m or 4h.",
    ),
]
BackupId = Annotated[
    str, typer.Argument(metavar="[BACKUP]", help="Id of a backup; the newest one by default.")
]
DeletedId = Annotated[str, typer.Argument(metavar="BACKUP", help="Id of the backup.", show_default=False)]
_HOUR = 3600.0


@on_cluster
def now(
    cluster: Cluster,
    name: RegionName = "",
    *,
    wait: Wait = True,
    timeout: BackupTimeout = _HOUR,
) -> None:
    """Make a backup of the region now, and wait for its end."""
    cronjob = _cronjob(cluster, name, BACKUP_CRONJOB)
    if cronjob["spec"].get("suspend"):
        text = "no backup can be made while a restore or an upgrade changes the databases"
        raise ObjectRefused(f"{text}; wait for its end")
    jobs = cluster.kube.list(JOB, str(cronjob["metadata"]["namespace"]), labels=MAKING_BACKUPS)
    if running := names_of_running(jobs):
        raise ObjectRefused(f"a backup is being made ({running}); wait for its end")
    _run(cluster, requested_job(cronjob, _name("region-backup-now")), wait, timeout)


@on_cluster
def verify(
    cluster: Cluster,
    backup: BackupId = "",
    *,
    name: RegionName = "",
    wait: Wait = True,
    timeout: BackupTimeout = _HOUR,
) -> None:
    """Restore a backup into a scratch database, and compare it with its manifest."""
    _check_id(backup)
    cronjob = _cronjob(cluster, name, DRILL_CRONJOB)
    _run(cluster, requested_job(cronjob, _name("region-backup-verify"), backup), wait, timeout)


@on_cluster
def list_backups(
    cluster: Cluster,
    name: RegionName = "",
    *,
    timeout: BackupTimeout = 300.0,
    output: Output = Format.TABLE,
) -> None:
    """Show the backups of the region in its repository, and what the last drill has shown."""
    cronjob = _cronjob(cluster, name, BACKUP_CRONJOB)
    job = repository_job(cronjob, _name("region-backup-list"), LIST)
    try:
        found = parse_list(_repository(cluster, job, timeout))
    except ValueError as error:
        text = f"Job {job['metadata']['name']} succeeded, but its pod printed no list of backups"
        raise ObjectRefused(f"{text}; look at what runs the pods, such as simulated nodes") from error
    state = backup_in(cluster.find_region(name).get("status") or {})
    drilled = {state.drill.id: str(state.drill.result)} if state and state.drill.id else {}
    if output != Format.TABLE:
        print_data([_entry(one, drilled) for one in found], output)
        return
    rows = [(one.id, one.taken, drilled.get(one.id, "")) for one in found]
    print_table(stdout(), ("BACKUP", "STORED", "DRILL"), rows)


@on_cluster
def delete(
    cluster: Cluster,
    backup: DeletedId,
    *,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    name: RegionName = "",
    timeout: BackupTimeout = _HOUR,
) -> None:
    """Delete a backup of the region from its repository."""
    _check_id(backup)
    cronjob = _cronjob(cluster, name, BACKUP_CRONJOB)
    if not yes:
        typer.confirm(f"Delete backup {backup} for good?", abort=True, err=True)
    job = repository_job(cronjob, _name("region-backup-delete"), DELETE, backup)
    _repository(cluster, job, timeout)
    stdout().print(f"{backup} is deleted")


def _cronjob(cluster: Cluster, region: str, name: str) -> KubeObject:
    meta = cluster.find_region(region)["metadata"]
    found = cluster.kube.get(CRONJOB, name, str(meta["namespace"]))
    if found is None:
        text = f'there is no CronJob "{name}" in namespace {meta["namespace"]}'
        raise ObjectMissing(f"{text}: set spec.features.backup of the region, and wait for its database")
    return found


def _name(prefix: str) -> str:
    return f"{prefix}-{datetime.now(UTC):%Y%m%d%H%M%S}-{secrets.token_hex(2)}"


def _check_id(backup: str) -> None:
    if backup and not BACKUP_ID.fullmatch(backup):
        raise typer.BadParameter("an id looks like 20261126T020000Z-0a1b2c", param_hint="BACKUP")


def _run(cluster: Cluster, job: dict[str, Any], wait: bool, timeout: float) -> None:
    made = cluster.kube.create(job)
    name = made["metadata"]["name"]
    stderr().print(soft_wrapped(f"Job {name} is made"))
    if not wait:
        return
    outcome = _follow(cluster, made, timeout)
    if outcome is None:
        stderr().print(soft_wrapped(f"{name}: not done after {timeout:.0f} s; it goes on"))
        raise typer.Exit(ExitCode.NOT_READY)
    if not outcome.good:
        stderr().print(soft_wrapped(f"{name}: {outcome.message}"))
        raise typer.Exit(ExitCode.REFUSED)
    warning = f"; {outcome.message}" if outcome.message else ""
    stdout().print(soft_wrapped(f"{outcome.id or name}: succeeded at {outcome.ended}{warning}"))


def _follow(cluster: Cluster, job: KubeObject, timeout: float) -> Outcome | None:
    """How the Job has ended; None if it goes on."""
    deadline, meta = time.monotonic() + timeout, job["metadata"]
    while True:
        found = cluster.kube.get(JOB, meta["name"], meta["namespace"])
        if found is None:
            raise ObjectMissing(f"Job {meta['name']} is gone")
        if ended_at(found):
            return job_outcome(cluster.kube, found)[0]
        if time.monotonic() > deadline:
            return None
        time.sleep(POLL_SECONDS)


def _repository(cluster: Cluster, job: dict[str, Any], timeout: float) -> str:
    """What the Job prints; it is deleted after that. Raises ObjectRefused if it fails or lasts too long."""
    made = cluster.kube.create(job)
    name, namespace = str(made["metadata"]["name"]), str(made["metadata"]["namespace"])
    try:
        outcome = _follow(cluster, made, timeout)
        if outcome is None:
            raise ObjectRefused(f"Job {name} has not ended after {timeout:.0f} s; look at its pod")
        if not outcome.good:
            raise ObjectRefused(outcome.message)
        pods = cluster.kube.list(POD, namespace, labels=f"job-name={name}")
        if not pods:
            raise ObjectMissing(f"the pod of Job {name} is gone")
        pod = str(pods[0]["metadata"]["name"])
        return cluster.kube.pod_log(pod, namespace, container=STORE_CONTAINER, tail_lines=100000)
    finally:
        with suppress(KubeError):
            cluster.kube.delete(JOB, name, namespace, uid=str(made["metadata"]["uid"]))


def _entry(one: StoredBackup, drilled: dict[str, str]) -> dict[str, Any]:
    found = {"id": one.id, "stored": one.taken}
    return {**found, "drill": drilled[one.id]} if one.id in drilled else found
