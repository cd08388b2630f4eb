"""Makes the credentials that were never there, and keeps those that are."""

from __future__ import annotations

from dataclasses import dataclass, replace

from controller.domain.credentials.credential_plan import (
    CredentialPlan,
    plan_credentials,
    plan_disowning,
    plan_retention,
)
from controller.domain.credentials.recovery.credential_traces import KnownCredentials
from controller.reconcile.credentials.region_pass import RegionPass
from controller.reconcile.credentials.steps import CredentialStep, Published
from controller.reconcile.credentials.store import made_changes


@dataclass(frozen=True)
class _Generated:
    """What is written, and how many Secrets are made once the spec is acted upon."""

    plan: CredentialPlan
    later: int = 0


class Generation(CredentialStep[KnownCredentials, _Generated]):
    """`Step.GENERATION`."""

    def observe(self, work: RegionPass, before: Published) -> KnownCredentials | None:
        """What the region is known to have had."""
        known = before.fact(KnownCredentials)
        if known is None:
            work.store.observe(())
        return known or KnownCredentials({}, {})

    def decide(self, work: RegionPass, observed: KnownCredentials) -> _Generated:
        """Where nothing may be made, no osdpl owns credentials all the same."""
        stored = work.store.stored()
        plan = plan_credentials(work.needs.credentials, stored, recorded=observed.keys)
        if not work.read_only:
            return _Generated(plan)
        later = sum(bool(change.add) for change in plan.changes)
        return _Generated(replace(plan, changes=plan_disowning(stored.values())), later)

    def apply(self, work: RegionPass, decided: _Generated) -> Published:
        """Each Secret in one write, with all its keys."""
        refused = made_changes(work.store, decided.plan.changes)
        return Published((*decided.plan.problems, *refused), later=decided.later)

    def remove(self, work: RegionPass) -> None:
        """With volumes the credentials go: marked in one pass, and deleted in the next."""
        plan = plan_retention(work.store.stored().values(), work.policy, work.services)
        for change in plan.changes:
            work.store.apply(change)
        for secret in plan.remove:
            work.store.remove(secret)
