"""Exports the administrator's clouds.yaml, for our own containers and for people, as a Secret of the region.

A Secret of that name without our label is the operator's own, for a region that is reached otherwise: it is
used and never touched.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from controller.domain.api.names import (
    CA_BUNDLE_SECRET,
    CLOUDS_CA_KEY,
    CLOUDS_KEY,
    CLOUDS_SECRET,
    DEPLOYMENT_LABEL,
    MANAGED_BY,
    MANAGED_BY_US,
)
from controller.domain.credentials.clouds_yaml import (
    IDENTITY,
    KEYSTONE,
    Administrator,
    KeyOfSecret,
    administrator,
    clouds_yaml,
)
from controller.domain.credentials.credential_plan import CredentialProblem
from controller.domain.credentials.secret_status import SecretView, messages_of
from controller.domain.credentials.x509.read import bundle
from controller.domain.region.required_certificates import GATEWAY, PUBLIC_SECRET
from controller.errors import KubeError, is_refusal
from controller.ports.kubernetes import OSDPL, SECRET, Kube, KubeObject
from controller.reconcile.credentials.refused_writes import REFUSED, refusal_of
from controller.reconcile.credentials.region_pass import RegionPass
from controller.reconcile.credentials.rotation.rotation_records import server_knows
from controller.reconcile.credentials.secret_text import secret_text
from controller.reconcile.credentials.steps import CredentialStep, Published
from controller.reconcile.shared.action_log import log_action
from controller.reconcile.shared.remaining_claims import is_clouds_export


@dataclass(frozen=True)
class _Sources:
    """The Secret `there`, and what it is made of; no `admin` where it stays as it is. Not `ours`: it is the
    operator's own. `refused`: why a source cannot be read."""

    there: KubeObject | None
    ours: bool = True
    admin: Administrator | None = None
    password: str | None = None
    authorities: Mapping[KeyOfSecret, str | None] = field(default_factory=dict)
    refused: str = ""


@dataclass(frozen=True)
class _Clouds:
    """The Secret `there`; the `texts` that it is to have, None where it stays as it is; and what the export
    is `missing`, empty for nothing. Not `ours`: it is the operator's own."""

    there: KubeObject | None
    ours: bool = True
    texts: Mapping[str, str] | None = None
    missing: str = ""

    @property
    def keys(self) -> frozenset[str]:
        """Those that count of what the Secret has."""
        keys = frozenset((self.there or {}).get("data") or ())
        return keys if self.ours else keys & {CLOUDS_KEY, CLOUDS_CA_KEY}


class CloudsExport(CredentialStep[_Sources, _Clouds]):
    """`Step.CLOUDS`: keeps the Secret as the bundle of Keystone and the credentials make it."""

    def __init__(self, kube: Kube) -> None:
        self._kube = kube

    def observe(self, work: RegionPass, before: Published) -> _Sources:
        """What there is, and the password and certificates that are to be in it."""
        there = self._kube.get(SECRET, CLOUDS_SECRET, work.namespace)
        if there is not None and not is_clouds_export(there["metadata"]):
            return _Sources(there, ours=False)
        admin = administrator_of(work.bundles, work.namespace)
        if admin is None or not _follows(work, there, admin):
            return _Sources(there)
        try:
            admin = with_public_authority(self._kube, work, admin)
            password = secret_text(self._kube, admin.password, work.namespace)
            authorities = {
                one: secret_text(self._kube, one, work.namespace)
                for one in (admin.ca, admin.public_ca)
                if one and password is not None
            }
        except KubeError as error:
            if not is_refusal(error):
                raise
            return _Sources(there, refused=REFUSED)
        return _Sources(there, admin=admin, password=password, authorities=authorities)

    def decide(self, work: RegionPass, observed: _Sources) -> _Clouds:
        """Nothing is exported before there is a bundle and a password; what was exported stays meanwhile."""
        admin, password, authorities = observed.admin, observed.password, observed.authorities
        if admin is None or password is None:
            return _Clouds(observed.there, observed.ours, missing=observed.refused)
        if admin.ca is not None and authorities[admin.ca] is None:
            text = f'the Secret waits for {admin.ca.key} of Secret "{admin.ca.name}"; create it'
            return _Clouds(observed.there, missing=text)
        if admin.public_ca is not None and authorities[admin.public_ca] is None:
            # Nothing here waits for the way from outside, whose certificate is not there either.
            admin = replace(admin, public_url="")
        desired = {CLOUDS_KEY: clouds_yaml(admin, password)}
        trusted = [text for text in authorities.values() if text]
        if trusted:
            desired[CLOUDS_CA_KEY] = trusted[0] if len(trusted) == 1 else bundle(trusted)
        return _Clouds(observed.there, texts=desired)

    def apply(self, work: RegionPass, decided: _Clouds) -> Published:
        """Writes the Secret where it differs."""
        exported = decided
        if decided.ours:
            refused = refusal_of(partial(self._write, work.osdpl, decided))
            if refused:
                exported = replace(decided, missing=refused)
            elif decided.texts is not None:
                exported = replace(decided, there={"data": decided.texts})
        problems = (CredentialProblem(CLOUDS_SECRET, exported.missing),) if exported.missing else ()
        if not exported.keys and not exported.missing:
            return Published()
        digest = work.store.digest(CLOUDS_SECRET, work.digest_key(), exported.keys)
        messages = messages_of(CLOUDS_SECRET, problems)
        view = SecretView(CLOUDS_SECRET, exported.keys, digest, messages)
        return Published(problems, views={CLOUDS_SECRET: view})

    def remove(self, work: RegionPass) -> None:
        """With the region, whose OpenStack has gone."""
        there = None if work.bundles else self._kube.get(SECRET, CLOUDS_SECRET, work.namespace)
        if there is not None and is_clouds_export(there["metadata"]):
            self._kube.delete(SECRET, CLOUDS_SECRET, work.namespace, uid=str(there["metadata"]["uid"]))
            text = f"Secret {CLOUDS_SECRET}: deleted, because its region is gone"
            log_action("delete", f"{work.namespace}/{CLOUDS_SECRET}", text)

    def _disowned(self, there: KubeObject | None) -> KubeObject | None:
        """An osdpl that is lost, and comes back, must not take it along: who reads it works on meanwhile."""
        owners = (there or {"metadata": {}})["metadata"].get("ownerReferences") or []
        others = [one for one in owners if one.get("kind") != OSDPL.kind]
        if there is None or others == owners:
            return there
        meta = there["metadata"]
        patch = {"metadata": {"resourceVersion": meta["resourceVersion"], "ownerReferences": others or None}}
        unowned = self._kube.merge_patch(SECRET, CLOUDS_SECRET, meta["namespace"], patch)
        text = f"Secret {CLOUDS_SECRET}: no OpenStackDeployment owns it any more"
        log_action("disown", f"{meta['namespace']}/{CLOUDS_SECRET}", text)
        return unowned

    def _write(self, osdpl: KubeObject, decided: _Clouds) -> None:
        there = self._disowned(decided.there)
        if decided.texts is None:
            return
        body = _secret(osdpl, decided.texts)
        if there is None:
            self._kube.create(body)
        elif (there.get("data") or {}) != body["data"]:
            meta = {**there["metadata"]}
            meta["labels"] = {**(meta.get("labels") or {}), **body["metadata"]["labels"]}
            self._kube.replace({**there, "metadata": meta, "data": body["data"]})
        else:
            return
        name = f"{body['metadata']['namespace']}/{CLOUDS_SECRET}"
        log_action("export", name, f"Secret {name}: clouds.yaml exported")


def _follows(work: RegionPass, there: KubeObject | None, admin: Administrator) -> bool:
    """Whether the Secret is written now: where nothing may change, only for a password that Keystone has by
    now; the one before is refused."""
    known = isinstance(admin.password, KeyOfSecret) and server_knows(work.store, admin.password)
    return not work.read_only or (there is not None and known)


def administrator_of(bundles: Iterable[KubeObject], namespace: str) -> Administrator | None:
    """Keystone's, as its bundle asks for it; None before there is one."""
    releases = {
        str((release.get("chart") or {}).get("name")): release
        for one in bundles
        if one["metadata"]["name"] in (IDENTITY, GATEWAY)
        for release in (one.get("spec") or {}).get("releases") or ()
    }
    keystone, gateway = releases.get(KEYSTONE), releases.get(GATEWAY) or {}
    if keystone is None:
        return None
    admin = administrator(keystone.get("values") or {}, str(keystone.get("namespace") or namespace))
    public = (gateway.get("values") or {}).get("tls") or {}
    if admin is None or not public.get("enabled"):
        return admin
    if public.get("secretName") != PUBLIC_SECRET:
        return replace(admin, shown=str(public.get("secretName") or ""))
    return replace(admin, public_ca=KeyOfSecret(CA_BUNDLE_SECRET, CLOUDS_CA_KEY))


def with_public_authority(kube: Kube, work: RegionPass, admin: Administrator) -> Administrator:
    """With whom clients outside the cluster have to trust: whom the spec names, else whom the Secret with the
    certificate of the public endpoints does, as cert-manager writes it. Where neither does, whom the system
    trusts. Raises KubeError."""
    public = work.features.public_tls
    if admin.public_ca is not None or not public.enabled:
        return admin
    if public.ca_secret:
        return replace(admin, public_ca=KeyOfSecret(public.ca_secret, CLOUDS_CA_KEY))
    named = KeyOfSecret(admin.shown, CLOUDS_CA_KEY)
    text = secret_text(kube, named, work.namespace) if admin.shown else None
    return replace(admin, public_ca=named) if text and bundle([text]) else admin


def _secret(osdpl: KubeObject, texts: Mapping[str, str]) -> KubeObject:
    return {
        "apiVersion": SECRET.api_version,
        "kind": SECRET.kind,
        "metadata": {
            "name": CLOUDS_SECRET,
            "namespace": osdpl["metadata"]["namespace"],
            "labels": {MANAGED_BY: MANAGED_BY_US, DEPLOYMENT_LABEL: osdpl["metadata"]["name"]},
        },
        "type": "Opaque",
        "data": {key: base64.b64encode(text.encode()).decode() for key, text in texts.items()},
    }
