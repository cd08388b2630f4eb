"""Takes away what a server has: the server first, then what it stood on, and nothing that is not ours."""

from __future__ import annotations

from collections.abc import Collection

from controller.domain.api.reasons import Reason
from controller.domain.servers.cloud_resources import REMOVAL_ORDER, CloudResource, Kind
from controller.domain.servers.next_step import outstanding_until, pause_until, to_delete
from controller.domain.servers.server_conditions import ASPECT_OF
from controller.errors import CloudRefused
from controller.ports.servers import ServerCloud
from controller.reconcile.servers.creation import Creation
from controller.reconcile.servers.work import ServerPass

# Seconds until what is going is looked for again.
GOING_EVERY = 2.0


class Removal:
    """Removes things of one kind after another, found by their ids and by their mark."""

    def __init__(self, creation: Creation) -> None:
        self._creation = creation

    def remove(self, one: ServerPass, cloud: ServerCloud, keep: Collection[Kind] = ()) -> float | None:
        """Seconds to the next pass; None when nothing is left and nothing can come.

        Raises CloudUnavailable, CloudRefused, KubeError.
        """
        kinds = [kind for kind in REMOVAL_ORDER if kind not in keep]
        for kind in kinds:
            one.aspect = ASPECT_OF[kind]
            present = self._present(one, cloud, kind)
            if present:
                names = ", ".join(found.name or found.id for found in present)
                one.false(one.aspect, Reason.DELETING, f"{kind} {names}: it is being deleted")
                for found in to_delete(present, one.work.plan.mark):
                    self._creation.delete(one, cloud, found)
                return GOING_EVERY
            outstanding = outstanding_until(one.record, [kind], one.now)
            if outstanding:
                text = f"the answer to the request for a {kind} did not come; it is looked for again"
                one.false(one.aspect, Reason.ANSWER_AWAITED, text)
                return pause_until(outstanding, one.now)
            one.record = one.record.without([thing.key for thing in one.record.of(kind)])
        return None

    def _present(self, one: ServerPass, cloud: ServerCloud, kind: Kind) -> list[CloudResource]:
        plan = one.work.plan
        known = [thing.id for thing in one.record.of(kind) if thing.id]
        found = {id_: cloud.read(kind, id_) for id_ in known}
        try:
            found |= {each.id: each for each in cloud.marked(kind, plan.mark, plan.name)}
        except CloudRefused as error:
            # A cloud without trunks, or without block storage, has none of ours.
            if error.code != 404 or known:
                raise
        return [each for each in found.values() if each is not None and each.is_of(plan.mark)]
