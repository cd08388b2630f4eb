"""Takes the region off as the owner of credentials while nothing else of them may be written."""

from __future__ import annotations

from controller.domain.credentials.credential_plan import SecretChange, plan_disowning
from controller.domain.credentials.recovery.credential_traces import KnownCredentials
from controller.reconcile.credentials.region_pass import RegionPass
from controller.reconcile.credentials.steps import CredentialStep, Published
from controller.reconcile.credentials.store import made_changes

Changes = tuple[SecretChange, ...]


class Disowning(CredentialStep[Changes, Changes]):
    """`Step.DISOWNING`."""

    def observe(self, work: RegionPass, before: Published) -> Changes | None:
        """Credentials that an osdpl owns: they would be deleted together with it."""
        if not work.read_only:
            return None
        if before.fact(KnownCredentials) is None:
            work.store.observe(())
        return plan_disowning(work.store.stored().values()) or None

    def decide(self, work: RegionPass, observed: Changes) -> Changes:
        """All of them."""
        return observed

    def apply(self, work: RegionPass, decided: Changes) -> Published:
        """A refused write gives a problem."""
        return Published(tuple(made_changes(work.store, decided)))
