"""Has backups of a region made as its spec says, and sums up what became of them.

The CronJobs are ours: core makes them from the database that runs, so both sources of charts have them.
Kubernetes starts their Jobs, also while no controller runs.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from controller.domain.api.backup_secrets import (
    ACCESS_KEY,
    AUTHORITY_KEY,
    PASSPHRASE_KEY,
    PASSPHRASE_SECRET,
    SECRET_KEY,
)
from controller.domain.api.names import (
    BACKUP_DIGEST_ANNOTATION,
    BACKUP_LABEL,
    DEPLOYMENT_LABEL,
    MANAGED_BY,
    MANAGED_BY_US,
)
from controller.domain.api.reasons import Reason
from controller.domain.api.region_spec import spec_in_force
from controller.domain.backups.backup_jobs import (
    BACKUP_CRONJOB,
    DRILL_CRONJOB,
    NORTHBOUND_STATEFULSET,
    BackupParts,
    backup_claim,
    backup_cronjob,
    digest_of,
    drill_cronjob,
)
from controller.domain.backups.backup_spec import CLAIM, BackupSpec, parse_backup_spec
from controller.domain.backups.backup_state import BackupState, backup_in, changes_at, judged, with_due
from controller.domain.shared.cron_schedule import schedule_problem
from controller.domain.shared.times import seconds_of
from controller.errors import Conflict, Forbidden, ObjectMissing, ObjectRefused
from controller.ports.kubernetes import CRONJOB, PVC, SECRET, STATEFULSET, Events, Kube, KubeObject
from controller.ports.system import Clock
from controller.reconcile.backups.backup_outcomes import with_outcomes
from controller.reconcile.shared.action_log import log_action

DATABASE = "mariadb-server"
CRONJOBS = (BACKUP_CRONJOB, DRILL_CRONJOB)
# No event says that a Job has ended, or that a Secret is there.
AGAIN = 30.0
_PASSPHRASE_OCTETS = 32


@dataclass(frozen=True)
class BackupImage:
    """What the pods of backups run of ours, and the Secrets with which it is pulled."""

    name: str = "openstack-controller"
    pull_secrets: tuple[str, ...] = ()


@dataclass(frozen=True)
class BackupReport:
    """What a pass has found; `state` is None if the region asks for no backups. `again`: seconds until
    another pass may find something else."""

    state: BackupState | None = None
    again: float = field(default=math.inf)


class RegionBackups:
    """Level-triggered: each pass reads the CronJobs and their Jobs."""

    def __init__(
        self,
        kube: Kube,
        clock: Clock,
        events: Events,
        *,
        image: BackupImage,
        octets: Callable[[int], bytes],
    ) -> None:
        self._kube = kube
        self._clock = clock
        self._events = events
        self._image = image
        self._octets = octets

    def follow(self, osdpl: KubeObject, *, paused: bool = False, held: bool = False) -> BackupReport:
        """One pass. `paused`: nothing may be changed. `held`: a restore loads the databases, and none is
        dumped meanwhile. Raises KubeError."""
        spec, before = parse_backup_spec(spec_in_force(osdpl)), backup_in(osdpl.get("status") or {})
        if spec is None:
            if before is None or paused:
                return BackupReport(before)
            self._remove(osdpl)
            return BackupReport()
        meta, now = osdpl["metadata"], self._clock.now()
        obstacle, begun = "", 0.0
        if not paused and not _is_malformed(spec):
            obstacle, begun = self._ensure(spec, osdpl, held, before or BackupState())
        elif held:
            self._suspend(str(meta["namespace"]))
        label = f"{DEPLOYMENT_LABEL}={meta['name']}"
        state = with_outcomes(self._kube, before or BackupState(), str(meta["namespace"]), label)
        state = with_due(replace(state, obstacle=obstacle), spec.schedule, begun)
        soon = changes_at(state, now)
        return BackupReport(judged(state, now), min(AGAIN, soon + 1.0) if soon else AGAIN)

    def _ensure(
        self, spec: BackupSpec, osdpl: KubeObject, held: bool, before: BackupState
    ) -> tuple[str, float]:
        """Makes what is missing and changes what differs; why it cannot, and since when backups are made."""
        namespace = str(osdpl["metadata"]["namespace"])
        database = self._kube.get(STATEFULSET, DATABASE, namespace)
        if database is None:
            return f'there is no StatefulSet "{DATABASE}" to back up yet', 0.0
        northbound = self._kube.get(STATEFULSET, NORTHBOUND_STATEFULSET, namespace)
        parts = BackupParts(
            spec,
            osdpl,
            database,
            northbound,
            self._image.name,
            self._image.pull_secrets,
            held=held,
            prune=before.restorable is not False,
        )
        try:
            lacking = self._lacking_secrets(spec, osdpl, known=before.last_good is not None)
            self._ensure_claim(parts)
            begun = min(self._ensure_cronjob(one) for one in (backup_cronjob(parts), drill_cronjob(parts)))
        except (ObjectRefused, Forbidden) as error:
            return f"the API server has refused what backups need: {error}", 0.0
        return lacking, begun

    def _suspend(self, namespace: str) -> None:
        """No Job begins, whatever else may not be changed now. Without its digest, the CronJob is later made
        as the spec asks."""
        for name in CRONJOBS:
            there = self._kube.get(CRONJOB, name, namespace)
            meta = (there or {}).get("metadata") or {}
            if there and (meta.get("labels") or {}).get(BACKUP_LABEL) and not there["spec"].get("suspend"):
                marks = {"annotations": {BACKUP_DIGEST_ANNOTATION: None}}
                self._kube.merge_patch(
                    CRONJOB, name, namespace, {"metadata": marks, "spec": {"suspend": True}}
                )
                log_action("suspend-cronjob", f"{namespace}/{name}", f"CronJob {name} begins no Job now")

    def _lacking_secrets(self, spec: BackupSpec, osdpl: KubeObject, *, known: bool) -> str:
        """What lacks of the Secrets that the spec names; generates the passphrase, if none is named.

        `known`: whether backups were made before. Then another passphrase opens none of them.
        """
        namespace = str(osdpl["metadata"]["namespace"])
        wanted: dict[str, tuple[str, ...]] = {spec.passphrase: (PASSPHRASE_KEY,)}
        if spec.bucket is not None:
            wanted[spec.bucket.credentials] = (ACCESS_KEY, SECRET_KEY)
            wanted |= {spec.bucket.ca: (AUTHORITY_KEY,)} if spec.bucket.ca else {}
        found = []
        for name, keys in wanted.items():
            secret = self._kube.get(SECRET, name, namespace)
            if secret is None and name == PASSPHRASE_SECRET and not known:
                self._generate(osdpl)
                continue
            data = (secret or {}).get("data") or {}
            if left := [key for key in keys if not data.get(key)]:
                found.append(f'Secret "{name}" lacks {", ".join(left)}')
        return f"{'; '.join(found)}: create or correct it" if found else ""

    def _generate(self, osdpl: KubeObject) -> None:
        """A new passphrase, before the first backup."""
        meta = osdpl["metadata"]
        text = self._octets(_PASSPHRASE_OCTETS).hex()
        labels = {DEPLOYMENT_LABEL: str(meta["name"]), MANAGED_BY: MANAGED_BY_US}
        secret = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": PASSPHRASE_SECRET, "namespace": meta["namespace"], "labels": labels},
            "type": "Opaque",
            "data": {PASSPHRASE_KEY: base64.b64encode(text.encode()).decode()},
        }
        try:
            self._kube.create(secret)
        except Conflict:
            return
        place = f"{meta['namespace']}/{PASSPHRASE_SECRET}"
        said = f"Secret {PASSPHRASE_SECRET} has the new passphrase of the backups"
        log_action("create-secret", place, said)
        reason = Reason.PASSPHRASE_GENERATED
        text = f"{said}: keep a copy outside of the cluster, because without it no backup can be read"
        self._events.emit(osdpl, type_=reason.event, reason=reason, message=text)

    def _ensure_claim(self, parts: BackupParts) -> None:
        claim = backup_claim(parts)
        if claim is None or any(
            one["metadata"]["name"] == CLAIM for one in self._kube.list(PVC, parts.namespace)
        ):
            return
        try:
            self._kube.create(claim)
        except Conflict:
            return
        log_action("create-claim", f"{parts.namespace}/{CLAIM}", f"claim {CLAIM} is for backups")

    def _ensure_cronjob(self, wanted: Mapping[str, Any]) -> float:
        """When the CronJob was made, in seconds since the epoch."""
        name, namespace = wanted["metadata"]["name"], wanted["metadata"]["namespace"]
        there, place = self._kube.get(CRONJOB, name, namespace), f"{namespace}/{name}"
        if there is None:
            try:
                there = self._kube.create(wanted)
            except Conflict:
                return self._clock.now()  # the next pass sees whose it is
            log_action("create-cronjob", place, f"CronJob {name} is made")
        elif (there["metadata"].get("labels") or {}).get(BACKUP_LABEL) is None:
            raise ObjectRefused(f'CronJob "{name}" has another owner; rename or delete it')
        elif digest_of(there) != digest_of(wanted):
            meta = {**wanted["metadata"], "resourceVersion": there["metadata"]["resourceVersion"]}
            self._kube.replace({**wanted, "metadata": meta})
            log_action("change-cronjob", place, f"CronJob {name} matches the spec again")
        return seconds_of(there["metadata"].get("creationTimestamp")) or self._clock.now()

    def _remove(self, osdpl: KubeObject) -> None:
        """Removes the CronJobs; backups, and what opens them, stay."""
        namespace = str(osdpl["metadata"]["namespace"])
        for name in CRONJOBS:
            there = self._kube.get(CRONJOB, name, namespace)
            if there is None or (there["metadata"].get("labels") or {}).get(BACKUP_LABEL) is None:
                continue
            try:
                self._kube.delete(CRONJOB, name, namespace, uid=str(there["metadata"]["uid"]))
            except ObjectMissing:
                continue
            log_action("delete-cronjob", f"{namespace}/{name}", f"CronJob {name} is no longer wanted")
        reason = Reason.BACKUPS_KEPT
        text = f"the controller makes no more backups; existing backups and Secret {PASSPHRASE_SECRET} stay"
        self._events.emit(osdpl, type_=reason.event, reason=reason, message=f"{text} and claim {CLAIM}")


def _is_malformed(spec: BackupSpec) -> bool:
    """Whether the rules of the spec refuse it: what there is stays as it is."""
    keeps = spec.keep.last or spec.keep.daily or spec.keep.weekly
    schedules = (spec.schedule, spec.drill)
    return not keeps or any(one and schedule_problem(one) for one in schedules)
