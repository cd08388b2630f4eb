"""Tells a Ceph cluster, in its namespace, what the region needs: as Rook's objects, or in a Secret."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from functools import partial

from controller.domain.credentials.ceph.capabilities import is_administrator, lacking
from controller.domain.credentials.ceph.request import (
    CLIENT_KIND,
    GATEWAY_SECRET,
    POOL_KIND,
    REQUEST,
    REQUEST_SECRET,
    GatewayUser,
    RookObject,
    gateway_texts,
    request_document,
    rook_objects,
)
from controller.domain.credentials.clouds_yaml import KeyOfSecret, gateway_user
from controller.domain.credentials.credential_plan import CredentialProblem
from controller.domain.values.ceph_needs import ROOK, CephNeeds
from controller.domain.values.secret_refs import reserved
from controller.errors import Forbidden, ObjectMissing, ObjectRefused
from controller.ports.kubernetes import SECRET, Kube, KubeObject, KubeObjects, Resource
from controller.reconcile.credentials.exchanged_objects import ExchangedObjects

_ROOK_API = "ceph.rook.io/v1"
ROOK_KINDS = {
    POOL_KIND: Resource(_ROOK_API, POOL_KIND, "cephblockpools"),
    CLIENT_KIND: Resource(_ROOK_API, CLIENT_KIND, "cephclients"),
}
_GATEWAY_CHART = "ceph-rgw"
_NO_RIGHT = (
    "the controller may not write it; name the namespace in ceph.namespaces of its chart's values, "
    "with rookObjects for Rook's objects"
)
_NOT_THERE = "the namespace, or the definition of this kind, does not exist; is Rook installed?"


class CephRequest:
    """Of one region, for one pass."""

    def __init__(self, kube: Kube, osdpl: KubeObject) -> None:
        self._kube = kube
        self._osdpl = osdpl
        self._namespace = str(osdpl["metadata"]["namespace"])

    def ensure(self, needs: CephNeeds, bundles: KubeObjects) -> tuple[CredentialProblem, ...]:
        """Writes what differs; what could not be asked for. Raises Conflict, KubeError."""
        objects = ExchangedObjects(self._kube, self._osdpl, needs.namespace)
        gateway = self._gateway_user(needs, bundles) if needs.gateway else None
        secrets: dict[str, dict[str, str]] = {}
        problems = []
        if needs.request == ROOK:
            for one in rook_objects(needs):
                text = _asked(partial(_left, objects, one))
                problems += _problems(needs, one.place.name, text, one.place.kind)
            if gateway is not None:
                secrets[GATEWAY_SECRET] = gateway_texts(gateway)
        else:
            region = f"{self._namespace}/{self._osdpl['metadata']['name']}"
            secrets[REQUEST_SECRET] = {REQUEST: request_document(needs, region, gateway)}
        for name, texts in secrets.items():
            text = _asked(partial(objects.ensure, SECRET, name, texts))
            problems += _problems(needs, name, text, SECRET.kind)
        return tuple(problems)

    def _gateway_user(self, needs: CephNeeds, bundles: KubeObjects) -> GatewayUser | None:
        """As the release of the gateway's account is asked to make it; None before there is one."""
        for bundle in bundles:
            for release in (bundle.get("spec") or {}).get("releases") or ():
                if (release.get("chart") or {}).get("name") != _GATEWAY_CHART:
                    continue
                values = release.get("values") or {}
                found = gateway_user(values, self._namespace, public=needs.source != ROOK)
                password = self._text(found[2]) if found else None
                if found and password:
                    account = found[1]
                    domain = account["user_domain_name"]
                    return GatewayUser(
                        found[0], account["username"], password, account["project_name"], domain
                    )
        return None

    def _text(self, source: KeyOfSecret | str) -> str | None:
        if isinstance(source, str):
            return source
        secret = self._kube.get(SECRET, source.name, self._namespace) or {}
        if reserved(source.name, str(secret.get("type") or "")):
            return None
        try:
            return base64.b64decode((secret.get("data") or {}).get(source.key) or "", validate=True).decode()
        except (binascii.Error, UnicodeDecodeError):
            return None


def _left(objects: ExchangedObjects, wanted: RookObject) -> str:
    """Asks for one object; what is wrong with one that others have made."""
    theirs = objects.ensure_spec(ROOK_KINDS[wanted.place.kind], wanted.place.name, wanted.spec)
    caps = (theirs or {}).get("spec", {}).get("caps")
    if theirs is None or wanted.place.kind != CLIENT_KIND:
        return ""
    given = {str(kind): str(text) for kind, text in (caps or {}).items()}
    if is_administrator(given):
        return "it is not the controller's, and gives an administrator's capabilities; narrow them"
    if lacking(wanted.spec["caps"], given):
        needed = ", ".join(f"{kind} '{text}'" for kind, text in wanted.spec["caps"].items())
        return f"it is not the controller's, and lacks capabilities; give it {needed}"
    return ""


def _asked(ask: Callable[[], str]) -> str:
    """What came of it, in words; empty where it was done."""
    try:
        return ask()
    except Forbidden:
        return _NO_RIGHT
    except ObjectMissing:
        # Not the region's own object: that is never written here.
        return _NOT_THERE
    except ObjectRefused:
        return "the API server refuses it"


def _problems(needs: CephNeeds, name: str, text: str, kind: str) -> list[CredentialProblem]:
    return [CredentialProblem(f"{needs.namespace}/{name}", text, kind)] if text else []
