"""A server that is there: its state, its volumes and its ports, kept as they were asked for."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from controller.domain.api.reasons import Reason
from controller.domain.servers.cloud_resources import CloudResource, Kind
from controller.domain.servers.next_step import outstanding_until
from controller.domain.servers.server_conditions import Aspect, judge_instance
from controller.domain.servers.server_spec import OnExternalDeletion
from controller.errors import CloudRefused
from controller.ports.servers import ServerCloud
from controller.reconcile.servers.creation import BUSY_EVERY, Creation
from controller.reconcile.servers.removal import Removal
from controller.reconcile.servers.work import ServerPass
from controller.reconcile.shared.action_log import log_action

_BUSY_VOLUMES = frozenset(
    ("creating", "downloading", "attaching", "reserved", "detaching", "uploading", "deleting")
)


class RunningServer:
    """What follows once everything has been made."""

    def __init__(self, creation: Creation, removal: Removal) -> None:
        self._creation = creation
        self._removal = removal

    def judge_volumes(
        self, one: ServerPass, cloud: ServerCloud, volumes: Mapping[str, CloudResource]
    ) -> float | None:
        """Seconds to wait until a server may be made on them, None where it may.

        A volume that Cinder could not create is deleted, and created again in the next pass. A volume that
        was usable once may also have an error, after a failed extension or restore. Its error is only
        reported.
        """
        usable = [thing for thing in one.record.of(Kind.VOLUME) if _usable(volumes.get(thing.name))]
        one.record = one.record.with_things(replace(thing, available=True) for thing in usable)
        broken = [volume for volume in volumes.values() if volume.status.startswith("error")]
        if broken:
            unmade = [volume for volume in broken if self._was_never_made(one, volume)]
            for volume in unmade:
                self._creation.delete(one, cloud, volume)
            told = [
                f"volume {volume.name}: Cinder reports {volume.status}; it is "
                + ("made again" if volume in unmade else "kept unchanged")
                for volume in broken
            ]
            raise VolumeBroken("; ".join(told))
        busy = self._busy(one, cloud, volumes.values()) if not one.record.server_id else ()
        if busy:
            text = ", ".join(f"{volume.name} is {volume.status}" for volume in busy)
            one.false(Aspect.VOLUMES, Reason.CREATING, text)
            return BUSY_EVERY
        if not volumes:
            one.true(Aspect.VOLUMES, Reason.NOT_REQUIRED, "no volume is requested")
        else:
            one.true(Aspect.VOLUMES, Reason.AVAILABLE, f"there: {', '.join(volumes)}")
        return None

    def _busy(
        self, one: ServerPass, cloud: ServerCloud, volumes: Collection[CloudResource]
    ) -> list[CloudResource]:
        """Those that no server can be made on yet; what a refused request has left reserved can be freed."""
        busy = [volume for volume in volumes if volume.status in _BUSY_VOLUMES]
        if outstanding_until(one.record, [Kind.SERVER], one.now):
            return busy
        return [volume for volume in busy if not self._creation.release(one, cloud, volume)]

    def _was_never_made(self, one: ServerPass, volume: CloudResource) -> bool:
        held = one.record.things.get((Kind.VOLUME, volume.name))
        once = one.record.provisioned or (held is not None and held.available)
        return volume.status == "error" and not volume.used_by and not once

    def observe(self, one: ServerPass, cloud: ServerCloud) -> CloudResource | None:
        """The server, where its id is known, and what it says of InstanceReady.

        A server that others have deleted is reported, and created again only if the spec requests this.
        """
        one.aspect = Aspect.INSTANCE
        id_ = one.record.server_id
        if not id_:
            return None
        mark, key = one.work.plan.mark, (Kind.SERVER, one.work.plan.name)
        server = cloud.read(Kind.SERVER, id_)
        # What a cell that is down hides of a server is also whose it is.
        if server is not None and server.status != "UNKNOWN" and not server.is_of(mark):
            one.record = one.record.without([key])
            return None
        finding = judge_instance(server)
        one.found(Aspect.INSTANCE, finding)
        state = server.status if server is not None else "DELETED"
        one.record = replace(one.record, instance_state=state)
        if finding.reason == Reason.INSTANCE_DELETED:
            one.record = replace(one.record, addresses=())
            if one.work.spec.on_external_deletion == OnExternalDeletion.RECREATE:
                self._end_kept(one, cloud, server)
                one.record = one.record.without([key])
            return None
        if server is not None and server.status == "ACTIVE":
            one.record = replace(one.record, provisioned=True, addresses=server.addresses)
        return server

    def _end_kept(self, one: ServerPass, cloud: ServerCloud, server: CloudResource | None) -> None:
        """One that Nova only keeps for a while still has the ports and volumes of the next."""
        if server is not None and server.status == "SOFT_DELETED":
            self._creation.delete(one, cloud, server)

    def ensure_attached(
        self, one: ServerPass, cloud: ServerCloud, server: CloudResource, ports: Mapping[str, CloudResource]
    ) -> None:
        """A port that was made in the place of one that is gone is put to the running server."""
        one.aspect = Aspect.PORTS
        for port in ports.values():
            if server.status == "ACTIVE" and not server.task and not port.used_by:
                cloud.attach_port(server.id, port.id)
                log_action("attach-port", one.work.place, f"port {port.name}: attached to the server")


def _usable(volume: CloudResource | None) -> bool:
    return volume is not None and volume.status in ("available", "in-use")


class VolumeBroken(CloudRefused):
    """Cinder could not make a volume, or what was to be done with it."""
