"""Exports the administrator's clouds.yaml, for our own containers and for people, as a Secret of the region.

A Secret of that name without our label is the operator's own, for a region that is reached otherwise: it is
used and never touched.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
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
from controller.domain.credentials.x509 import bundle
from controller.domain.region.required_certificates import GATEWAY, PUBLIC_SECRET
from controller.domain.shared.secret_text import decode_text
from controller.domain.values.secret_refs import reserved
from controller.errors import KubeError, is_refusal
from controller.ports.kubernetes import OSDPL, SECRET, Kube, KubeObject
from controller.reconcile.credentials.refused_writes import REFUSED
from controller.reconcile.credentials.region_facts import features_of
from controller.reconcile.credentials.rotation.rotation_records import server_knows
from controller.reconcile.credentials.store import CredentialStore
from controller.reconcile.shared.action_log import log_action
from controller.reconcile.shared.remaining_claims import is_clouds_export


@dataclass(frozen=True)
class ExportedClouds:
    """`keys` that the Secret has by now; `missing`: what the export waits for, empty where for nothing."""

    keys: frozenset[str]
    missing: str = ""


class CloudsExport:
    """Keeps the Secret as the bundle of Keystone and the credentials make it."""

    def __init__(self, kube: Kube) -> None:
        self._kube = kube

    def ensure(
        self,
        osdpl: KubeObject,
        bundles: Iterable[KubeObject],
        *,
        read_only: bool = False,
        is_known: Callable[[KeyOfSecret], bool] = lambda _: False,
    ) -> ExportedClouds:
        """Writes the Secret where it differs. Raises Conflict, and KubeError but for a refusal.

        Nothing is exported before there is a bundle and a password; what was exported stays meanwhile. With
        `read_only` it stays as well, but for a password that Keystone has by now (`is_known`): with the one
        before nobody is let in.
        """
        namespace = str(osdpl["metadata"]["namespace"])
        there = self._kube.get(SECRET, CLOUDS_SECRET, namespace)
        keys = frozenset((there or {}).get("data") or ())
        if there is not None and not is_clouds_export(there["metadata"]):
            return ExportedClouds(keys & {CLOUDS_KEY, CLOUDS_CA_KEY})
        try:
            there, admin = self._disowned(there), administrator_of(bundles, str(namespace))
            follows = not read_only or (
                there is not None
                and admin is not None
                and isinstance(admin.password, KeyOfSecret)
                and is_known(admin.password)
            )
            if admin is None or not follows:
                return ExportedClouds(keys)
            return self._exported(osdpl, there, admin, keys)
        except KubeError as error:
            if not is_refusal(error):
                raise
            return ExportedClouds(keys, REFUSED)

    def publish(
        self,
        osdpl: KubeObject,
        bundles: Iterable[KubeObject],
        store: CredentialStore,
        digest_key: Callable[[], bytes],
        problems: list[CredentialProblem],
        *,
        read_only: bool,
    ) -> dict[str, SecretView]:
        """As `ensure`; what is published of it, nothing while there is none. What is wrong is added to
        `problems`."""
        is_known = partial(server_knows, store)
        exported = self.ensure(osdpl, bundles, read_only=read_only, is_known=is_known)
        if exported.missing:
            problems.append(CredentialProblem(CLOUDS_SECRET, exported.missing))
        if not exported.keys and not exported.missing:
            return {}
        digest = store.digest(CLOUDS_SECRET, digest_key(), exported.keys)
        messages = messages_of(CLOUDS_SECRET, problems)
        return {CLOUDS_SECRET: SecretView(CLOUDS_SECRET, exported.keys, digest, messages)}

    def _exported(
        self,
        osdpl: KubeObject,
        there: KubeObject | None,
        admin: Administrator,
        keys: frozenset[str],
    ) -> ExportedClouds:
        namespace = str(osdpl["metadata"]["namespace"])
        admin = with_public_authority(self._kube, osdpl, admin)
        password = secret_text(self._kube, admin.password, namespace)
        if password is None:
            return ExportedClouds(keys)
        authorities = {
            one: secret_text(self._kube, one, namespace) for one in (admin.ca, admin.public_ca) if one
        }
        if admin.ca is not None and authorities[admin.ca] is None:
            return ExportedClouds(keys, f'it waits for {admin.ca.key} of Secret "{admin.ca.name}"; create it')
        if admin.public_ca is not None and authorities[admin.public_ca] is None:
            # Nothing here waits for the way from outside, whose certificate is not there either.
            admin = replace(admin, public_url="")
        desired = {CLOUDS_KEY: clouds_yaml(admin, password)}
        trusted = [text for text in authorities.values() if text]
        if trusted:
            desired[CLOUDS_CA_KEY] = trusted[0] if len(trusted) == 1 else bundle(trusted)
        self._write(osdpl, there, desired)
        return ExportedClouds(frozenset(desired))

    def remove(self, osdpl: KubeObject) -> None:
        """With the region, whose OpenStack has gone. Raises Conflict, KubeError."""
        namespace = str(osdpl["metadata"]["namespace"])
        there = self._kube.get(SECRET, CLOUDS_SECRET, namespace)
        if there is not None and is_clouds_export(there["metadata"]):
            self._kube.delete(SECRET, CLOUDS_SECRET, namespace, uid=str(there["metadata"]["uid"]))
            text = f"Secret {CLOUDS_SECRET}: deleted, its region has gone"
            log_action("delete", f"{namespace}/{CLOUDS_SECRET}", text)

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

    def _write(self, osdpl: KubeObject, there: KubeObject | None, desired: Mapping[str, str]) -> None:
        body = _secret(osdpl, desired)
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


def secret_text(kube: Kube, source: KeyOfSecret | str, namespace: str) -> str | None:
    """The text that a reference leads to; None where there is none, or none that may be given away. Raises
    KubeError."""
    if isinstance(source, str):
        return source
    secret = kube.get(SECRET, source.name, namespace)
    if reserved(source.name, str((secret or {}).get("type") or "")):
        return None
    return decode_text(((secret or {}).get("data") or {}).get(source.key) or "")


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


def with_public_authority(kube: Kube, osdpl: KubeObject, admin: Administrator) -> Administrator:
    """With whom clients outside the cluster have to trust: whom the spec names, else whom the Secret with the
    certificate of the public endpoints does, as cert-manager writes it. Where neither does, whom the system
    trusts. Raises KubeError."""
    public = features_of(osdpl).public_tls
    if admin.public_ca is not None or not public.enabled:
        return admin
    if public.ca_secret:
        return replace(admin, public_ca=KeyOfSecret(public.ca_secret, CLOUDS_CA_KEY))
    named = KeyOfSecret(admin.shown, CLOUDS_CA_KEY)
    text = secret_text(kube, named, str(osdpl["metadata"]["namespace"])) if admin.shown else None
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
