"""What each ComputeMaintenance may do beside the others: its turn, and how many servers it may move."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from controller.domain.hosts.host_facts import is_automatic
from controller.domain.maintenance.budgets import (
    Availability,
    BudgetRequest,
    QueuedMaintenance,
    decide_queue,
    share_slots,
    waits_for_slots,
)
from controller.domain.maintenance.move_choice import Mode
from controller.domain.maintenance.server_moves import may_begin
from controller.domain.shared.cloud_facts import MARK, CloudView
from controller.reconcile.hosts.last_host_findings import LastHostFindings
from controller.reconcile.maintenance.errors import REFUSED
from controller.reconcile.maintenance.maintained_hosts import missing
from controller.reconcile.maintenance.out_of_service import HostDisabler
from controller.reconcile.maintenance.status import MaintenanceWork


@dataclass(frozen=True, slots=True)
class Share:
    """What one maintenance may do beside the others.

    `queue_reason`: why it may not begin; `slots`: how many servers it may begin to move now; `waits`: who
    has them, where it has none.
    """

    queue_reason: str = ""
    slots: int = 0
    waits: str = ""


class MaintenanceShares:
    """Shares the budgets of a region among its maintenances."""

    def __init__(self, out: HostDisabler, findings: LastHostFindings) -> None:
        self._out = out
        self._findings = findings

    def of(self, works: Sequence[MaintenanceWork], view: CloudView) -> dict[str, Share]:
        """The share of each, by its name."""
        queue = self._queue(works, view)
        claims = [self._claim(work, view, queue) for work in works]
        slots = share_slots(claims)
        waits = waits_for_slots(claims, slots)
        return {
            work.name: Share(queue.get(work.name, ""), slots[work.name], waits.get(work.name, ""))
            for work in works
        }

    def stopped(self, work: MaintenanceWork) -> str:
        """Why an evacuation that began by itself goes no further, empty while it does."""
        return self._findings.stopped() if is_automatic(work.obj) else ""

    @staticmethod
    def _queue(works: Sequence[MaintenanceWork], view: CloudView) -> dict[str, str]:
        # One for a dead node takes nothing out of service that is in it, and one for a host that is nowhere
        # nothing at all. One that is rolled back has its host until that is done.
        wanting = [
            work
            for work in works
            if work.spec.mode != Mode.EVACUATE
            and (work.started or not work.deleting)
            and missing(work, view) is None
        ]
        queued = [_queued(work) for work in wanting if not work.planning]
        away = frozenset(
            one.host
            for one in view.services
            if not one.up or (not one.enabled and one.reason.startswith(MARK))
        )
        availability = Availability(away, view.aggregates)
        queue = decide_queue(queued, availability)
        for plan in (work for work in wanting if work.planning):
            # It takes no place; its status says what a maintenance in its place would say.
            queue[plan.name] = decide_queue([*queued, _queued(plan)], availability)[plan.name]
        return queue

    def _claim(self, work: MaintenanceWork, view: CloudView, queue: Mapping[str, str]) -> BudgetRequest:
        """What begins nothing leaves the slots to others."""
        now = work.now
        idle = (
            work.planning
            or work.deleting
            or bool(queue.get(work.name) or self.stopped(work))
            or now - work.started > work.spec.deadline
            or self._out.obstacle(work, view) is not None
            or work.reason in REFUSED
        )
        waiting = [one for one in work.entries.values() if may_begin(one, now)]
        return BudgetRequest(
            name=work.name,
            created=work.created,
            waiting=0 if idle else len(waiting),
            moving=work.moving,
            per_host=work.spec.per_host,
            per_region=work.spec.per_region,
        )


def _queued(work: MaintenanceWork) -> QueuedMaintenance:
    most = work.spec.most_unavailable
    return QueuedMaintenance(work.name, work.host, work.created, bool(work.started), most)
