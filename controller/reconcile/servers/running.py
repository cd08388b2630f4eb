"""A server that is there: its state, its ports and its floating IP, kept as they were asked for."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from controller.domain.api.reasons import Reason
from controller.domain.servers.cloud_resources import CloudResource, Kind
from controller.domain.servers.next_step import outstanding_until, pause_until
from controller.domain.servers.server_conditions import Aspect, Finding, judge_instance
from controller.domain.servers.server_spec import OnExternalDeletion
from controller.domain.servers.server_status import Recorded
from controller.errors import CloudRefused
from controller.ports.servers import ServerCloud
from controller.reconcile.servers.creation import BUSY_EVERY, Creation, Later
from controller.reconcile.servers.removal import Removal
from controller.reconcile.servers.work import ServerPass
from controller.reconcile.shared.action_log import log_action

_BUSY_VOLUMES = frozenset(
    ("creating", "downloading", "attaching", "reserved", "detaching", "uploading", "deleting")
)
_LEADS = "the floating IP leads to the first port"


class RunningServer:
    """What follows once everything has been made."""

    def __init__(self, creation: Creation, removal: Removal) -> None:
        self._creation = creation
        self._removal = removal

    def judge_volumes(
        self, one: ServerPass, cloud: ServerCloud, volumes: Mapping[str, CloudResource]
    ) -> float | None:
        """Seconds to wait until a server may be made on them, None where it may.

        One that Cinder could not make is deleted, and made again in the next pass. Of one that could be used
        once Cinder says so after a failed extension or restore, too: it is only told.
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

        One that others have deleted is told, and made again only where the spec wants that.
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

    def ensure_floating_ip(
        self, one: ServerPass, cloud: ServerCloud, ports: Mapping[str, CloudResource]
    ) -> float | None:
        """Seconds to the next pass while it is being made, None once it leads to the first port."""
        one.aspect = Aspect.FLOATING_IP
        spec = one.work.spec.floating_ip
        if spec is None:
            return self._release(one, cloud)
        found = self._creation.ensure(one, cloud, Kind.FLOATING_IP)
        if isinstance(found, Later):
            return found.seconds
        (floating,) = found.values()
        held = one.record.things[Kind.FLOATING_IP, one.work.plan.name]
        one.record = one.record.with_things([replace(held, retain=spec.keep)])
        port = ports[one.work.plan.port_name(0)]
        address = next((address for _, address in floating.addresses), "")
        if floating.used_by != port.id:
            one.false(Aspect.FLOATING_IP, Reason.CREATING, f"{address}: not on the first port yet")
            cloud.point_floating_ip(floating.id, port.id)
            log_action("point-floating-ip", one.work.place, f"{address}: attached to port {port.name}")
        one.true(Aspect.FLOATING_IP, Reason.AVAILABLE, f"{address}: {_LEADS}")
        known = {known for _, known in one.record.addresses}
        if address and address not in known and one.record.addresses:
            # Nova learns of it some time later.
            one.record = replace(one.record, addresses=(*one.record.addresses, ("ExternalIP", address)))
        return None

    def _release(self, one: ServerPass, cloud: ServerCloud) -> float | None:
        """One that the spec had once, and has no more: it is deleted, or let go of where it is to be kept.

        Seconds to the next pass, None once there is none.
        """
        held = [thing for thing in one.record.of(Kind.FLOATING_IP) if not thing.let_go]
        pause = None
        if any(thing.retain for thing in held):
            pause = self._let_go(one, cloud, held)
        elif held:
            pause = self._removal.remove(one, cloud, [kind for kind in Kind if kind != Kind.FLOATING_IP])
        if pause is None:
            text = "no floating IP is requested"
            one.found(Aspect.FLOATING_IP, Finding("True", Reason.NOT_REQUIRED, text))
        return pause

    def _let_go(self, one: ServerPass, cloud: ServerCloud, held: Collection[Recorded]) -> float | None:
        """Remembers it under its id: its mark stays, and is no reason to delete it any more."""
        found = self._removal.present(one, cloud, Kind.FLOATING_IP)
        outstanding = outstanding_until(one.record, [Kind.FLOATING_IP], one.now)
        if not found and outstanding:
            text = (
                "the answer to the request for a floating IP did not arrive; the controller searches it again"
            )
            one.false(Aspect.FLOATING_IP, Reason.ANSWER_AWAITED, text)
            return pause_until(outstanding, one.now)
        for floating in found:
            if floating.used_by:
                cloud.point_floating_ip(floating.id, "")
            log_action("release-floating-ip", one.work.place, f"floating IP {floating.id}: released")
        kept = [Recorded(Kind.FLOATING_IP, floating.id, floating.id, retain=True) for floating in found]
        one.record = one.record.without([thing.key for thing in held]).with_things(kept)
        return None


def _usable(volume: CloudResource | None) -> bool:
    return volume is not None and volume.status in ("available", "in-use")


class VolumeBroken(CloudRefused):
    """Cinder could not make a volume, or what was to be done with it."""
