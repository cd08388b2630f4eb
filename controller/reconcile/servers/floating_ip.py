"""The floating IP of an OpenStackServer: made, pointed at the first port, and let go."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from controller.domain.api.reasons import Reason
from controller.domain.servers.cloud_resources import CloudResource, Kind
from controller.domain.servers.next_step import outstanding_until, pause_until
from controller.domain.servers.server_conditions import Aspect, Finding
from controller.domain.servers.server_status import Recorded
from controller.ports.servers import ServerCloud
from controller.reconcile.servers.creation import Creation, Later
from controller.reconcile.servers.removal import Removal
from controller.reconcile.servers.work import ServerPass
from controller.reconcile.shared.action_log import log_action

_LEADS = "the floating IP leads to the first port"


class FloatingIp:
    """Raises CloudUnavailable, CloudRefused, KubeError."""

    def __init__(self, creation: Creation, removal: Removal) -> None:
        self._creation = creation
        self._removal = removal

    def ensure(self, one: ServerPass, cloud: ServerCloud, ports: Mapping[str, CloudResource]) -> float | None:
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
