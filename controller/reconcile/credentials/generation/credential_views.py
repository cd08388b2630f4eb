"""What is published of the Secrets with credentials: names, keys and digests."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping

from controller.domain.api.region_spec import OwnSecret
from controller.domain.credentials.credential_plan import CredentialProblem
from controller.domain.credentials.credential_warnings import CredentialDoubt
from controller.domain.credentials.secret_status import SecretView, messages_of
from controller.domain.values.catalogue import CredentialSecret
from controller.domain.values.templates.template_functions import ACCOUNT_SUFFIX
from controller.reconcile.credentials.store import CredentialStore
from controller.reconcile.shared.remaining_claims import credentials_name


class CredentialViews:
    """Of one pass. `digest_key` gives the installation's key for published digests, and makes it when it is
    first needed: where nothing is published, nothing is made."""

    def __init__(
        self,
        store: CredentialStore,
        digest_key: Callable[[], bytes],
        problems: Collection[CredentialProblem],
        doubts: Collection[CredentialDoubt] = (),
    ) -> None:
        self._doubts = doubts
        self._store = store
        self._digest_key = digest_key
        self._problems = problems

    def of_ours(
        self,
        desired: Iterable[CredentialSecret],
        *,
        recorded: Mapping[str, Collection[str]],
        services: Collection[str],
    ) -> dict[str, SecretView]:
        """What was lost of a service whose bundle is there stays recorded, also where it is not asked for any
        more: it may be again before its release has gone. Keys that others put into a Secret do not."""
        wanted_keys = {secret.name: frozenset(secret.credentials) for secret in desired}
        there = self._store.stored()
        kept = {name for name, secret in there.items() if secret.ours}
        used = {name for name in map(credentials_name, services) if recorded.get(name)}
        views = {}
        for name in wanted_keys.keys() | kept | used:
            ours = name in there and not there[name].foreign
            filled = there[name].filled if ours else frozenset[str]()
            emptied = there[name].empty & {ACCOUNT_SUFFIX} if ours else frozenset[str]()
            known = frozenset(recorded.get(name, ())) - emptied
            wanted = wanted_keys.get(name, known if name in used else frozenset[str]())
            lost = known & (wanted | {ACCOUNT_SUFFIX})
            keys = filled | lost
            digest = self._store.digest(name, self._digest_key()) if ours else ""
            view = self._view(name, keys, digest)
            # A Secret that will be created later has no view yet.
            if ours or keys or view.problems:
                views[name] = view
        return views

    def of_own(self, own: Iterable[OwnSecret]) -> dict[str, SecretView]:
        """Of the Secrets that people have made."""
        keys: dict[str, set[str]] = {}
        for secret in own:
            keys.setdefault(secret.name, set()).add(secret.key)
        return {
            name: self._view(name, frozenset(used), self._store.digest(name, self._digest_key(), used))
            for name, used in keys.items()
        }

    def _view(self, name: str, keys: frozenset[str], digest: str) -> SecretView:
        doubts = tuple(one.message for one in self._doubts if one.secret == name)
        return SecretView(name, keys, digest, messages_of(name, self._problems), doubts=doubts)
