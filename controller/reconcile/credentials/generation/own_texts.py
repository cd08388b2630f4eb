"""What may be wrong with the texts of credentials: those that people have made, and generated ones that
somebody has edited."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from functools import partial

from controller.domain.api.region_spec import OwnSecret
from controller.domain.credentials.doubts import (
    CredentialDoubt,
    accounts_left,
    edited_doubt,
    own_doubt,
    served_doubt,
)
from controller.domain.credentials.served_certificate import CHAIN, KEY, certificate_faults
from controller.domain.region.required_certificates import GATEWAY
from controller.domain.values.catalogue import CredentialSecret
from controller.domain.values.template_functions import ACCOUNT_SUFFIX
from controller.ports.kubernetes import KubeObject, KubeObjects
from controller.reconcile.credentials.refused_writes import refusal_of
from controller.reconcile.credentials.region_facts import features_of, services_of
from controller.reconcile.credentials.store import CredentialStore
from controller.reconcile.shared.remaining_claims import credentials_name


def text_doubts(
    store: CredentialStore,
    own: Iterable[OwnSecret],
    desired: Collection[CredentialSecret],
    osdpl: KubeObject,
    *,
    bundles: KubeObjects,
    now: float,
    read_only: bool,
) -> list[CredentialDoubt]:
    """What may be wrong, and what is left of services that have no bundle any more. Notes what
    generated Secrets have of which that is not known yet: made before this was noted, restored, or declared
    as meant. Raises Conflict, KubeError."""
    found = [
        own_doubt(one, store.any_text(one.name, one.key)) for one in own if store.is_text(one.name, one.key)
    ]
    found += _served(store, osdpl, bundles, now)
    writable = store.rotatable()
    for secret in desired:
        edited = store.edited(secret.name)
        found += [edited_doubt(secret.name, edited, str(osdpl["metadata"]["namespace"]))] if edited else []
        if secret.name in writable and not read_only:
            # Another pass tries again, and nothing depends on it.
            refusal_of(partial(store.take_as_written, secret.name, (*secret.credentials, ACCOUNT_SUFFIX)))
    names = {secret.name for secret in desired}
    services = services_of(bundles)
    for name, there in store.stored().items():
        gone = name not in names and there.service not in services
        if gone and there.ours and name == credentials_name(there.service):
            found.append(accounts_left(there, store.text(name, ACCOUNT_SUFFIX)))
    return [one for one in found if one is not None]


def _served(
    store: CredentialStore, osdpl: KubeObject, bundles: KubeObjects, now: float
) -> Iterator[CredentialDoubt]:
    """Of the operator's certificate of the public endpoints, for the names that the gateway is asked to have.
    A Secret that is missing is told elsewhere."""
    public = features_of(osdpl).public_tls
    chain, key = (store.any_text(public.secret, name) if public.secret else "" for name in (CHAIN, KEY))
    if not (public.enabled and (chain or key)):
        return
    releases = (one for bundle in bundles for one in (bundle.get("spec") or {}).get("releases") or ())
    shown = [one.get("values") or {} for one in releases if (one.get("chart") or {}).get("name") == GATEWAY]
    hosts = [str(host) for values in shown for host in values.get("hosts") or ()]
    for fault in certificate_faults(chain, key, hosts, now):
        yield served_doubt(public.secret, fault)
