"""Makes the credentials that were never there, and keeps those that are."""

from __future__ import annotations

from controller.domain.credentials.credential_plan import (
    CredentialPlan,
    plan_credentials,
    plan_retention,
)
from controller.domain.credentials.recovery.credential_traces import KnownCredentials
from controller.reconcile.credentials.region_pass import RegionPass
from controller.reconcile.credentials.steps import CredentialStep, Published
from controller.reconcile.credentials.store import made_changes


class Generation(CredentialStep[KnownCredentials, CredentialPlan]):
    """`Step.GENERATION`."""

    def observe(self, work: RegionPass, before: Published) -> KnownCredentials | None:
        """What the region is known to have had."""
        return before.fact(KnownCredentials)

    def decide(self, work: RegionPass, observed: KnownCredentials) -> CredentialPlan:
        """What the region needs, compared with what there is."""
        return plan_credentials(work.needs.credentials, work.store.stored(), recorded=observed.keys)

    def apply(self, work: RegionPass, decided: CredentialPlan) -> Published:
        """Each Secret in one write, with all its keys; in a pass that only reads, none."""
        if work.read_only:
            return Published(decided.problems, later=sum(bool(change.add) for change in decided.changes))
        return Published((*decided.problems, *made_changes(work.store, decided.changes)))

    def remove(self, work: RegionPass) -> None:
        """With volumes the credentials go: marked in one pass, and deleted in the next."""
        plan = plan_retention(work.store.stored().values(), work.policy, work.services)
        for change in plan.changes:
            work.store.apply(change)
        for secret in plan.remove:
            work.store.remove(secret)
