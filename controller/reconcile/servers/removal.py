"""Takes away what a server has: the server first, then what it stood on, and nothing that is not ours."""

from __future__ import annotations

import logging
from collections.abc import Collection
from dataclasses import replace

from controller.domain.api.reasons import Reason
from controller.domain.servers.cloud_resources import REMOVAL_ORDER, CloudResource, Kind
from controller.domain.servers.next_step import outstanding_until, pause_until, to_delete
from controller.domain.servers.server_conditions import ASPECT_OF
from controller.errors import CloudRefused, NotOffered
from controller.ports.servers import ServerCloud
from controller.reconcile.servers.creation import Creation
from controller.reconcile.servers.work import ServerPass, ServerStatusWriter

log = logging.getLogger(__name__)

# Seconds until what is going is looked for again.
GOING_EVERY = 2.0


class Removal:
    """Removes things of one kind after another, found by their ids and by their mark."""

    def __init__(self, creation: Creation, status: ServerStatusWriter) -> None:
        self._creation = creation
        self._status = status

    def remove(self, one: ServerPass, cloud: ServerCloud, keep: Collection[Kind] = ()) -> float | None:
        """Seconds to the next pass; None when nothing is left and nothing can come.

        Raises CloudUnavailable, CloudRefused, KubeError.
        """
        kinds = [kind for kind in REMOVAL_ORDER if kind not in keep]
        for kind in kinds:
            one.aspect = ASPECT_OF[kind]
            marked = self.present(one, cloud, kind)
            present = [found for found in marked if _was_made_for(one, found)]
            if present:
                names = ", ".join(found.name or found.id for found in present)
                _tell(one, Reason.DELETING, f"{kind} {names}: being deleted")
                for found in to_delete(present, one.work.plan.mark):
                    self._creation.release(one, cloud, found)
                    self._creation.delete(one, cloud, found)
                return GOING_EVERY
            outstanding = outstanding_until(one.record, [kind], one.now)
            if outstanding:
                text = (
                    f"the answer to the request for a {kind} did not arrive; the controller searches it again"
                )
                _tell(one, Reason.ANSWER_AWAITED, text)
                return pause_until(outstanding, one.now)
            self._tell_kept(one, marked)
            one.record = one.record.without([thing.key for thing in one.record.of(kind) if not thing.let_go])
        return None

    def _tell_kept(self, one: ServerPass, kept: Collection[CloudResource]) -> None:
        if kept:
            names = ", ".join(f"{found.name} ({found.id})" for found in kept)
            text = f"volumes {names} have its mark, but were not created for it, so they are kept"
            log.warning(
                "server %s: %s",
                one.work.place,
                text,
                extra={"object": one.work.place, "reason": str(Reason.VOLUME_KEPT)},
            )
            self._status.tell(one, Reason.VOLUME_KEPT, text)

    def present(self, one: ServerPass, cloud: ServerCloud, kind: Kind) -> list[CloudResource]:
        """All that is there of a kind, by its ids and by the mark. Raises CloudUnavailable, CloudRefused."""
        plan = one.work.plan
        let_go = {thing.id for thing in one.record.of(kind) if thing.let_go}
        known = [thing.id for thing in one.record.of(kind) if thing.id and not thing.let_go]
        found = {id_: cloud.read(kind, id_) for id_ in known}
        try:
            found |= {each.id: each for each in cloud.marked(kind, plan.mark, plan.name)}
        except NotOffered:
            # A cloud without trunks has none of ours.
            if known:
                raise
        except CloudRefused as error:
            # A catalogue that has no service now may have had it. Only what was never asked for is not there.
            asked = kind != Kind.VOLUME or plan.of(kind) or one.record.of(kind)
            if error.code != 404 or asked:
                raise
        own = [each for each in found.values() if each is not None and each.is_of(plan.mark)]
        return [each for each in own if each.id not in let_go]


def _tell(one: ServerPass, reason: Reason, text: str) -> None:
    one.false(one.aspect, reason, text)
    if one.overall is not None:
        one.overall = replace(one.overall, message=f"{one.overall.message}; {text}")


def _was_made_for(one: ServerPass, found: CloudResource) -> bool:
    """Whether it goes with the server: the mark of a volume is also on what was restored of its backup."""
    if found.kind != Kind.VOLUME:
        return True
    known = {thing.id for thing in one.record.of(found.kind)}
    return found.id in known or one.record.is_answer(found)
