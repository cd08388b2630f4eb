"""The guards of docs/safety.md that releases have, each with what switches it off in a test."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import Any
from unittest.mock import patch

from controller.adapters.helm.records.release_records import SecretRecords
from controller.domain.api.object_owner import Owner, Ownership
from controller.domain.api.region_spec import VolumePolicy
from controller.domain.credentials.recovery.credential_traces import KnownCredentials, Memory
from controller.domain.credentials.secret_status import recorded_keys
from controller.reconcile.credentials.recovery.credential_history import CredentialHistory, Remembered
from controller.reconcile.credentials.region_pass import RegionPass
from controller.reconcile.region.bundle_writer import BundleWriter
from controller.reconcile.releases.actions.object_owners import ObjectOwners, OwnerGuard
from controller.reconcile.releases.kept_claims.keep_marks import VolumeKeeper
from controller.reconcile.releases.release_owner import ReleaseOwners
from controller.reconcile.shared.leases.lease import WriterLease
from tests.world.guards import Guard, Off
from tests.world.releases.truth import CREDENTIALS, DATA, OTHERS, TWO

GUARDS: dict[str, Guard] = {}
CLAIMS, SERVICE, REGION, NAMES, PODS, LOSSES, BUNDLES = (
    "claims come and go",
    "a service goes and comes back",
    "the region comes back",
    "others have our names",
    "two of us",
    "all is lost and found",
    "bundles of our names",
)


def guard(name: str, hazard: str, theme: str = "") -> Callable[[Off], Off]:
    def noted(off: Off) -> Off:
        GUARDS[name] = Guard(name, hazard, theme, off)
        return off

    return noted


def _set(stack: ExitStack, where: str, what: Any) -> None:
    stack.enter_context(patch(where, what))


@guard("a claim that an upgrade, a rollback or an uninstall drops is kept", DATA, CLAIMS)
def _keeps_none(stack: ExitStack) -> None:
    _looks_not_again(stack)
    stack.enter_context(patch.object(VolumeKeeper, "keep", lambda *_, **__: ()))


@guard("the mark is in the cluster", DATA, CLAIMS)
def _no_mark(stack: ExitStack) -> None:
    stack.enter_context(patch.object(VolumeKeeper, "_mark", lambda *_: None))


@guard("and in Helm's records", DATA, SERVICE)
def _no_note(stack: ExitStack) -> None:
    _looks_not_again(stack)
    _set(
        stack, "controller.adapters.helm.records.release_records.SecretRecords.keep_volumes", lambda *_: None
    )


@guard("a revision that another Helm makes meanwhile ends the action", DATA, CLAIMS)
def _minds_no_other_helm(stack: ExitStack) -> None:
    actions = "controller.reconcile.releases.actions"
    _set(stack, f"{actions}.helm_request._insist_on_newest", lambda *_: None)
    for module in ("preparation", "uninstall"):
        _set(stack, f"{actions}.{module}.insist_on_revisions", lambda *_: None)
    _looks_not_again(stack)


def _looks_not_again(stack: ExitStack) -> None:
    """What an uninstall would delete is compared with what is there right before: that catches the same."""
    stack.enter_context(patch.object(VolumeKeeper, "insist_on_marks", lambda *_: None))


@guard("what is lost is reported", CREDENTIALS, REGION)
def _forgets(stack: ExitStack) -> None:
    _knows(stack, lambda status: {})


@guard("so it is where the record is lost too", CREDENTIALS, LOSSES)
def _remembers_no_earlier_life(stack: ExitStack) -> None:
    _knows(stack, recorded_keys)


def _knows(stack: ExitStack, of_status: Callable[[Mapping[str, Any]], Any]) -> None:
    """What credentials there were, by the status of the osdpl alone."""

    def decide(self: CredentialHistory, work: RegionPass, observed: Any) -> Remembered:
        keys = of_status(work.osdpl.get("status") or {})
        return Remembered(observed.register, Memory(KnownCredentials(keys, keys)))

    stack.enter_context(patch.object(CredentialHistory, "decide", decide))


@guard("a foreign HelmBundle with the name of a service is left as it is", OTHERS, BUNDLES)
def _takes_any_name(stack: ExitStack) -> None:
    _set(stack, "controller.reconcile.region.taken_names._is_free", lambda *_: True)


@guard("an object of others refuses the action", OTHERS, NAMES)
def _refuses_nothing(stack: ExitStack) -> None:
    stack.enter_context(patch.object(OwnerGuard, "observe", lambda *_: ObjectOwners((), ())))


@guard("what another release has taken is left to it", OTHERS, NAMES)
def _leaves_nothing(stack: ExitStack) -> None:
    stack.enter_context(patch.object(OwnerGuard, "leave_to_others", lambda self, rendered, before: before))


@guard("a release of others is left alone", OTHERS, NAMES)
def _any_release(stack: ExitStack) -> None:
    stack.enter_context(patch.object(ReleaseOwners, "of_another", lambda *_: ""))


@guard("and is not corrected as drift", OTHERS, NAMES)
def _corrects_all(stack: ExitStack) -> None:
    _set(stack, "controller.reconcile.releases.drift.compare.owner_of", lambda *_: Owner(Ownership.OURS))


@guard("the Lease: a holder gives up before another may take over", TWO, PODS)
def _never_gives_up(stack: ExitStack) -> None:
    stack.enter_context(patch.object(WriterLease, "lost", lambda self: False))


@guard("what others have put in the place of a hook's Job is theirs", OTHERS, NAMES)
def _any_job_is_the_hooks(stack: ExitStack) -> None:
    stack.enter_context(patch.object(SecretRecords, "_is_made_by_hook", lambda *_: True))


@guard("`volumes: Retain` reaches", CREDENTIALS, SERVICE)
def _reaches_none_on_its_way_out(stack: ExitStack) -> None:
    remove = BundleWriter.remove

    def removed(self: BundleWriter, bundle: Any, volumes: VolumePolicy) -> None:
        if not bundle["metadata"].get("deletionTimestamp"):
            remove(self, bundle, volumes)

    stack.enter_context(patch.object(BundleWriter, "remove", removed))
    stack.enter_context(patch.object(BundleWriter, "spare", lambda self, existing, volumes: existing))
