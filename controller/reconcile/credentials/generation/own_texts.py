"""What may be wrong with the texts of credentials: those that people have made, and generated ones that
somebody has edited."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import partial

from controller.domain.api.region_spec import OwnSecret
from controller.domain.credentials.doubts import CredentialDoubt, accounts_left, edited_doubt, own_doubt
from controller.domain.values.catalogue import CredentialSecret
from controller.domain.values.template_functions import ACCOUNT_SUFFIX
from controller.ports.kubernetes import KubeObject
from controller.reconcile.credentials.refused_writes import refusal_of
from controller.reconcile.credentials.store import CredentialStore
from controller.reconcile.shared.remaining_claims import credentials_name


def text_doubts(
    store: CredentialStore,
    own: Iterable[OwnSecret],
    desired: Collection[CredentialSecret],
    osdpl: KubeObject,
    *,
    services: Collection[str],
    read_only: bool,
) -> list[CredentialDoubt]:
    """What may be wrong, and what is left of services that are not among `services` any more. Notes what
    generated Secrets have of which that is not known yet: made before this was noted, restored, or declared
    as meant. Raises Conflict, KubeError."""
    found = [
        own_doubt(one, store.any_text(one.name, one.key)) for one in own if store.is_text(one.name, one.key)
    ]
    writable = store.rotatable()
    for secret in desired:
        edited = store.edited(secret.name)
        found += [edited_doubt(secret.name, edited, str(osdpl["metadata"]["namespace"]))] if edited else []
        if secret.name in writable and not read_only:
            # Another pass tries again, and nothing depends on it.
            refusal_of(partial(store.take_as_written, secret.name, (*secret.credentials, ACCOUNT_SUFFIX)))
    names = {secret.name for secret in desired}
    for name, there in store.stored().items():
        gone = name not in names and there.service not in services
        if gone and there.ours and name == credentials_name(there.service):
            found.append(accounts_left(there, store.text(name, ACCOUNT_SUFFIX)))
    return [one for one in found if one is not None]
