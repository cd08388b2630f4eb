"""Makes what a server needs, each thing once: what is not known is looked for by its mark before."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from controller.domain.api.reasons import Reason
from controller.domain.servers.cloud_resources import CloudResource, Kind
from controller.domain.servers.next_step import decide_missing, pause_until, to_delete, volumes_of_lost_status
from controller.domain.servers.plan import PlannedThing, with_user_data
from controller.domain.servers.server_conditions import ASPECT_OF, Aspect
from controller.domain.servers.server_status import Recorded, Resolved, ServerRecord
from controller.errors import CloudRefused, CloudUnavailable
from controller.ports.kubernetes import SECRET, Kube
from controller.ports.servers import ServerCloud
from controller.ports.system import Clock
from controller.reconcile.servers.dependencies import DependencyMissing
from controller.reconcile.servers.work import ServerPass, ServerStatusWriter
from controller.reconcile.shared.action_log import log_action

# Seconds until what OpenStack is at work on is looked at again.
BUSY_EVERY = 3.0
# Keys of a Secret with user data: that of Cluster API, and a plain one.
USER_DATA_KEYS = ("value", "userData")
_REFUSED = (Reason.CLOUD_REFUSED, Reason.QUOTA_EXCEEDED)
_NEUTRON = (Kind.PORT, Kind.TRUNK, Kind.FLOATING_IP)


@dataclass(frozen=True, slots=True)
class Later:
    """Something is still to be done or waited for: seconds to the next pass."""

    seconds: float


class Creation:
    """Makes things of one kind after another. A pass that made something ends there: the next one goes on."""

    def __init__(self, kube: Kube, clock: Clock, status: ServerStatusWriter) -> None:
        self._kube = kube
        self._clock = clock
        self._status = status

    def ensure(self, one: ServerPass, cloud: ServerCloud, kind: Kind) -> dict[str, CloudResource] | Later:
        """All things of a kind by their names once they are there.

        Raises CloudUnavailable, CloudRefused, DependencyMissing, KubeError.
        """
        planned = one.work.plan.of(kind)
        one.aspect = ASPECT_OF[kind]
        there = self._observe(one, cloud, planned)
        missing = [thing for thing in planned if thing.name not in there]
        if missing:
            return self._make_missing(one, cloud, kind, missing)
        if kind in _NEUTRON:
            self._ensure_tags(cloud, planned, there)
        return there

    def find_volumes(self, one: ServerPass, cloud: ServerCloud) -> None:
        """Takes up those of a server whose status was lost; later the mark alone makes no volume its own.

        Raises CloudUnavailable, CloudRefused.
        """
        plan, one.aspect = one.work.plan, Aspect.VOLUMES
        planned = plan.of(Kind.VOLUME)
        if planned:
            marked = cloud.marked(Kind.VOLUME, plan.mark, plan.name)
            one.record = one.record.with_things(volumes_of_lost_status(planned, marked, plan.mark))

    def _observe(
        self, one: ServerPass, cloud: ServerCloud, planned: tuple[PlannedThing, ...]
    ) -> dict[str, CloudResource]:
        """Those that are there; what is gone, or is not ours, is forgotten."""
        there: dict[str, CloudResource] = {}
        for thing in planned:
            id_ = one.record.id_of(thing.kind, thing.name)
            if not id_:
                continue
            found = cloud.read(thing.kind, id_)
            if found is not None and found.is_of(one.work.plan.mark):
                there[thing.name] = found
            else:
                one.record = one.record.without([thing.key])
        return there

    def _make_missing(
        self, one: ServerPass, cloud: ServerCloud, kind: Kind, missing: list[PlannedThing]
    ) -> Later:
        mark = one.work.plan.mark
        marked = cloud.marked(kind, mark, one.work.plan.name)
        decision = decide_missing(missing, one.record, marked, mark, one.now)
        one.record = one.record.with_things(decision.adopted)
        for surplus in to_delete(decision.surplus, mark):
            self.delete(one, cloud, surplus)
        if decision.make:
            self._make(one, cloud, decision.make)
        elif decision.until:
            text = (
                f"the answer to the request for a {kind} did not arrive; the controller searches the "
                f"{kind} before it repeats the request"
            )
            one.false(one.aspect, Reason.ANSWER_AWAITED, text)
            self._status.write(one)
            return Later(pause_until(decision.until, one.now))
        self._status.write(one)
        return Later(0.0)

    def _make(self, one: ServerPass, cloud: ServerCloud, things: tuple[PlannedThing, ...]) -> None:
        resolved = one.record.resolved
        if resolved is None:
            raise ValueError("nothing is created before all references are found")
        # Not the start of the pass: a request may be carried out so long after it was sent.
        now = self._clock.now()
        noted = one.record.with_things(
            Recorded(thing.kind, thing.name, requested=now, retain=is_retained(one, thing.kind))
            for thing in things
        )
        bodies = [(thing, self._body(one, thing, resolved, noted)) for thing in things]
        names = ", ".join(thing.name for thing in things)
        being_made = f"{things[0].kind} {names}: being created"
        # Until OpenStack takes what it refused before, that is what there is to tell.
        if one.told(one.aspect) not in _REFUSED:
            one.false(one.aspect, Reason.CREATING, being_made)
        one.record = noted
        # Noted before it is asked for: whoever goes on after us knows that an answer may be out.
        self._status.write(one)
        waiting = [thing.key for thing in things]
        try:
            for thing, body in bodies:
                try:
                    made = cloud.create(thing.kind, body)
                finally:
                    waiting.remove(thing.key)
                known = replace(noted.things[thing.key], id=made.id, requested=0.0)
                one.record = one.record.with_things([known])
                log_action(f"create-{_word(thing.kind)}", one.work.place, f"{thing.kind} {thing.name} made")
        except (CloudRefused, CloudUnavailable) as error:
            undone = isinstance(error, CloudRefused) or error.untouched
            one.record = one.record.without([*waiting, *([thing.key] if undone else [])])
            raise
        one.false(one.aspect, Reason.CREATING, being_made)

    def _body(
        self, one: ServerPass, thing: PlannedThing, resolved: Resolved, noted: ServerRecord
    ) -> Mapping[str, Any]:
        body = one.work.plan.body(thing, resolved, noted)
        if thing.kind == Kind.SERVER and one.work.spec.user_data:
            return with_user_data(body, self._user_data(one))
        return body

    def _user_data(self, one: ServerPass) -> bytes:
        name = one.work.spec.user_data
        data = (self._kube.get(SECRET, name, one.work.namespace) or {}).get("data") or {}
        text = next((data[key] for key in USER_DATA_KEYS if data.get(key)), None)
        try:
            if text is not None:
                return base64.b64decode(text, validate=True)
        except (binascii.Error, ValueError):
            pass
        one.aspect = Aspect.DEPENDENCIES
        keys = " or ".join(USER_DATA_KEYS)
        raise DependencyMissing(
            f'there is no Secret "{name}" with user data under {keys}', Reason.USER_DATA_MISSING
        )

    def _ensure_tags(
        self, cloud: ServerCloud, planned: tuple[PlannedThing, ...], there: Mapping[str, CloudResource]
    ) -> None:
        for thing in planned:
            found = there[thing.name]
            if not thing.tags <= found.tags:
                cloud.set_tags(found, thing.tags | found.tags)

    def release(self, one: ServerPass, cloud: ServerCloud, volume: CloudResource) -> bool:
        """Whether a volume was left reserved by a request for a server that Nova refused, and is free now.

        Not while the answer to such a request is out: Nova reserves before it knows the server.
        """
        freed = volume.status == "reserved" and cloud.release_volume(volume.id)
        if freed:
            text = f"volume {volume.name}: released from a server request that Nova refused"
            log_action("release-volume", one.work.place, text)
        return freed

    def delete(self, one: ServerPass, cloud: ServerCloud, found: CloudResource) -> None:
        """Asks for the deletion of what is ours."""
        cloud.delete(found)
        log_action(
            f"delete-{_word(found.kind)}",
            one.work.place,
            f"{found.kind} {found.name or found.id}: deletion requested",
        )


def is_retained(one: ServerPass, kind: Kind) -> bool:
    """Whether the spec wants a thing of this kind to outlive the object."""
    floating = one.work.spec.floating_ip
    return kind == Kind.FLOATING_IP and floating is not None and floating.keep


def _word(kind: Kind) -> str:
    return str(kind).lower().replace(" ", "-")
