"""Carries OpenStackServers out: resolves each, makes what it asks for, keeps it, and takes it away again.

A pass waits for nothing in OpenStack: it looks, makes things of one kind, notes them, and says when to look
again.
Nothing is made before the finalizer and what was resolved are in the object.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from dataclasses import replace

from controller.domain.api.reasons import Reason
from controller.domain.servers.cloud_resources import CloudResource, Kind
from controller.domain.servers.next_step import is_carried_out
from controller.domain.servers.server_conditions import NOT_REACHED, Aspect, Finding, is_quota
from controller.domain.servers.server_spec import Update
from controller.domain.servers.server_status import Key, Project, Recorded, ServerRecord
from controller.domain.shared.backoff import SHORT_PAUSES
from controller.errors import CloudRefused, CloudUnavailable, CredentialsDenied
from controller.ports.kubernetes import SERVER, Events, Kube
from controller.ports.servers import ServerCloud, ServerClouds
from controller.ports.system import Clock, Randomness
from controller.reconcile.servers.creation import BUSY_EVERY, Creation, Later, is_retained
from controller.reconcile.servers.dependencies import DependencyMissing, resolve
from controller.reconcile.servers.floating_ip import FloatingIp
from controller.reconcile.servers.open_clouds import NoAccess, OpenClouds
from controller.reconcile.servers.removal import Removal
from controller.reconcile.servers.running import RunningServer, VolumeBroken
from controller.reconcile.servers.server_finalizer import has_finalizer, set_finalizer
from controller.reconcile.servers.work import ServerPass, ServerStatusWriter, ServerWork, read_server

log = logging.getLogger(__name__)

# Nothing more is begun in a pass after so many seconds, and no read is waited for longer than the grace.
PASS_WITHIN, PASS_GRACE = 20.0, 10.0
# What follows once all is resolved.
_MADE = (Aspect.PORTS, Aspect.VOLUMES, Aspect.INSTANCE, Aspect.FLOATING_IP)


class ServersReconciler:
    """Serves OpenStackServers, each by one thread at a time."""

    def __init__(
        self,
        *,
        kube: Kube,
        clock: Clock,
        randomness: Randomness,
        events: Events,
        clouds: ServerClouds,
        region_namespace: str,
        resync: float,
    ) -> None:
        self._kube = kube
        self._clock = clock
        self._randomness = randomness
        self._resync = resync
        self._clouds = OpenClouds(kube, clouds, region_namespace)
        self._status = ServerStatusWriter(kube, clock, events)
        self._creation = Creation(kube, clock, self._status)
        self._removal = Removal(self._creation, self._status)
        self._running = RunningServer(self._creation, self._removal)
        self._floating_ip = FloatingIp(self._creation, self._removal)
        # Passes in a row that failed, by uid.
        self._failures: dict[str, int] = {}

    def reconcile(self, namespace: str, name: str) -> float | None:
        """One pass; seconds until the next, None when there is none.

        Raises KubeError, ServerUnreadable.
        """
        obj = self._kube.get(SERVER, name, namespace)
        if obj is None:
            return None
        work = read_server(obj)
        if work.deleting and not has_finalizer(work):
            self._failures.pop(work.uid, None)
            return None
        one = ServerPass(work, self._clock.now(), work.record)
        if work.suspended:
            one.overall = _put_off(work)
            self._status.write(one)
            return self._resync
        try:
            pause = self._serve(one)
        except (NoAccess, DependencyMissing) as error:
            aspect = Aspect.AUTHENTICATION if isinstance(error, NoAccess) else one.aspect
            return self._failed(one, aspect, error.finding)
        except CredentialsDenied as error:
            finding = Finding("False", Reason.CREDENTIALS_DENIED, str(error))
            return self._failed(one, Aspect.AUTHENTICATION, finding)
        except CloudUnavailable as error:
            reason = Reason.CLOUD_BUSY if error.retry_after else Reason.CLOUD_UNKNOWN
            finding = Finding("False", reason, str(error))
            return self._failed(one, one.aspect, finding, error.retry_after or 0.0)
        except CloudRefused as error:
            return self._failed(one, one.aspect, _refusal(error))
        self._failures.pop(work.uid, None)
        return pause

    def _failed(self, one: ServerPass, aspect: Aspect, finding: Finding, not_before: float = 0.0) -> float:
        one.found(aspect, finding)
        if one.work.deleting:
            one.overall = Finding("False", Reason.DELETING, f"{aspect}: {finding.message}")
        else:
            one.overall = Finding("False", finding.reason, finding.message)
        self._status.write(one)
        failures = self._failures[one.work.uid] = self._failures.get(one.work.uid, 0) + 1
        pause = SHORT_PAUSES.after(failures, self._randomness.jitter())
        extra = {"object": one.work.place, "reason": str(finding.reason)}
        log.warning("server %s: %s", one.work.place, finding.message, extra=extra)
        return max(pause, not_before)

    def _serve(self, one: ServerPass) -> float | None:
        work = one.work
        cloud = self._clouds.of(work).until(self._clock.monotonic() + PASS_WITHIN, grace=PASS_GRACE)
        project = cloud.authenticate()
        if has_finalizer(work) and work.record.is_blank:
            self._creation.find_volumes(one, cloud)
        self._require_same_project(one, project)
        one.true(Aspect.AUTHENTICATION, Reason.CREDENTIALS_ACCEPTED, "Keystone accepts the credentials")
        if work.deleting:
            return self._delete(one, cloud)
        if not work.spec.enabled:
            return self._disable(one, cloud)
        if one.record.removing or self._is_to_be_replaced(one):
            return self._replace(one, cloud)
        if not self._is_resolved(one):
            return self._resolve(one, cloud)
        one.true(Aspect.DEPENDENCIES, Reason.DEPENDENCIES_RESOLVED, "all references of the spec were found")
        return self._make(one, cloud)

    def _require_same_project(self, one: ServerPass, project: Project) -> None:
        """Raises NoAccess where its things are elsewhere: what is not found here is not gone."""
        known = one.record.project
        if known is None or not (one.record.things or one.record.resolved):
            one.record = replace(one.record, project=project)
        elif not known.is_same(project):
            text = f"the credentials belong to project {project}, but its objects are in project {known}"
            raise NoAccess(Finding("False", Reason.CREDENTIALS_OF_ANOTHER_PROJECT, text))

    # -- resolve ------------------------------------------------------------------------------------

    def _is_to_be_replaced(self, one: ServerPass) -> bool:
        resolved, work = one.record.resolved, one.work
        return resolved is not None and work.spec.update == Update.REPLACE and resolved.digest != work.digest

    def _is_resolved(self, one: ServerPass) -> bool:
        resolved = one.record.resolved
        if resolved is None or not has_finalizer(one.work):
            return False
        return one.work.spec.floating_ip is None or bool(resolved.floating_network)

    def _resolve(self, one: ServerPass, cloud: ServerCloud) -> float:
        one.aspect = Aspect.DEPENDENCIES
        work, before = one.work, one.record.resolved
        resolved = resolve(work.spec, work.digest, cloud)
        awaited: Collection[Aspect] = _MADE
        if before is not None:
            # What was made from the earlier ids stays: only the floating IP is new.
            resolved = replace(before, floating_network=resolved.floating_network)
            awaited = (Aspect.FLOATING_IP,)
        if not has_finalizer(work):
            # What cannot be resolved has nothing in OpenStack, and can be deleted without it.
            set_finalizer(self._kube, work, present=True)
        one.record = replace(one.record, resolved=resolved)
        for aspect in awaited:
            one.found(aspect, NOT_REACHED)
        one.true(Aspect.DEPENDENCIES, Reason.DEPENDENCIES_RESOLVED, "all references of the spec were found")
        self._status.write(one)
        return 0.0

    # -- make and keep ------------------------------------------------------------------------------

    def _make(self, one: ServerPass, cloud: ServerCloud) -> float:
        server = self._running.observe(one, cloud)
        if server is None and one.record.server_id:
            # Others have deleted the server, which is only reported: its other objects stay as they are.
            self._status.write(one)
            return self._resync
        ports = self._creation.ensure(one, cloud, Kind.PORT)
        if isinstance(ports, Later):
            return ports.seconds
        trunks = self._creation.ensure(one, cloud, Kind.TRUNK)
        if isinstance(trunks, Later):
            return trunks.seconds
        one.true(Aspect.PORTS, Reason.AVAILABLE, f"there: {', '.join(ports)}")
        volumes = self._creation.ensure(one, cloud, Kind.VOLUME)
        if isinstance(volumes, Later):
            return volumes.seconds
        pause = self._running.judge_volumes(one, cloud, volumes)
        if pause is None and server is None:
            made = self._creation.ensure(one, cloud, Kind.SERVER)
            pause = made.seconds if isinstance(made, Later) else 0.0
        elif server is not None:
            pause = self._keep(one, cloud, server, ports)
        self._status.write(one)
        return self._resync if pause is None else pause

    def _keep(
        self, one: ServerPass, cloud: ServerCloud, server: CloudResource, ports: Mapping[str, CloudResource]
    ) -> float | None:
        """Seconds to the next pass, None where nothing is under way."""
        if server.status == "ACTIVE":
            self._running.ensure_attached(one, cloud, server, ports)
            return self._floating_ip.ensure(one, cloud, ports)
        building = one.aspects[Aspect.INSTANCE].reason == Reason.INSTANCE_BUILDING
        return BUSY_EVERY if building or server.task else None

    # -- take away ----------------------------------------------------------------------------------

    def _delete(self, one: ServerPass, cloud: ServerCloud) -> float | None:
        one.overall = Finding("False", Reason.DELETING, "the controller removes the objects in OpenStack")
        pause = self._removal.remove(one, cloud, _kept(one))
        if pause is not None:
            self._status.write(one)
            return pause
        set_finalizer(self._kube, one.work, present=False)
        self._failures.pop(one.work.uid, None)
        return None

    def _disable(self, one: ServerPass, cloud: ServerCloud) -> float:
        one.overall = Finding("False", Reason.DISABLED, "spec.enabled is false, so its objects are removed")
        pause, record = None, one.record
        lost = has_finalizer(one.work) and one.work.record.is_blank
        if record.things or record.resolved is not None or record.removing or lost:
            pause = self._begun_removal(one, cloud, _kept(one))
        if pause is None:
            things = {thing.key: thing for kind in _kept(one) for thing in one.record.of(kind)}
            one.record = _emptied(one.record, things)
            for aspect in _MADE:
                one.false(aspect, Reason.DISABLED, "spec.enabled is false")
        self._status.write(one)
        return self._resync if pause is None else pause

    def _begun_removal(self, one: ServerPass, cloud: ServerCloud, keep: tuple[Kind, ...]) -> float | None:
        """As `Removal.remove`; noted before, as an edit that is taken back finds a part of it gone."""
        if not one.record.removing:
            one.record = replace(one.record, removing=True)
            self._status.write(one)
        return self._removal.remove(one, cloud, keep)

    def _replace(self, one: ServerPass, cloud: ServerCloud) -> float:
        text = (
            "the controller deletes the server and creates it again, because the spec has "
            "changed; the floating IP stays"
        )
        one.overall = Finding("False", Reason.REPLACING, text)
        pause = self._begun_removal(one, cloud, (Kind.FLOATING_IP,))
        if pause is None:
            kept = {thing.key: thing for thing in one.record.of(Kind.FLOATING_IP)}
            one.record = _emptied(one.record, kept)
            pause = 0.0
        self._status.write(one)
        return pause


def _emptied(record: ServerRecord, kept: Mapping[Key, Recorded]) -> ServerRecord:
    """What is remembered once all but these was removed."""
    let_go = {thing.key: thing for thing in record.things.values() if thing.let_go}
    return ServerRecord(project=record.project, provisioned=record.provisioned, things={**let_go, **kept})


def _kept(one: ServerPass) -> tuple[Kind, ...]:
    """What a removal leaves. Of one that the spec has no more, as it was to be when it was made."""
    held = [thing for thing in one.record.of(Kind.FLOATING_IP) if not thing.let_go]
    keep = is_retained(one, Kind.FLOATING_IP)
    if one.work.spec.floating_ip is None:
        keep = any(thing.retain for thing in held)
    return (Kind.FLOATING_IP,) if keep else ()


def _put_off(work: ServerWork) -> Finding | None:
    """What Ready says of one that is suspended, where that is not what it said before."""
    if work.deleting:
        text = "the object is suspended; after a resume, the controller removes its objects in OpenStack"
        return Finding("False", Reason.DELETING, text)
    if not is_carried_out(work.spec, work.digest, work.record):
        text = "the object is suspended; after a resume, the controller applies its spec"
        return Finding("False", Reason.SUSPENDED, text)
    return None if work.spec.enabled else Finding("False", Reason.DISABLED, "spec.enabled is false")


def _refusal(error: CloudRefused) -> Finding:
    if isinstance(error, VolumeBroken):
        return Finding("False", Reason.VOLUME_ERROR, str(error))
    reason = Reason.QUOTA_EXCEEDED if is_quota(error.code, str(error)) else Reason.CLOUD_REFUSED
    return Finding("False", reason, f"OpenStack refused: {error}")
