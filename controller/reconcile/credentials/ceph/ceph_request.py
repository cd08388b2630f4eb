"""Tells a Ceph cluster, in its namespace, what the region needs: as Rook's objects, or in a Secret."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

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
    requested_clients,
    rook_objects,
    unneeded,
)
from controller.domain.credentials.clouds_yaml import KeyOfSecret, gateway_user
from controller.domain.credentials.credential_plan import CredentialProblem
from controller.domain.shared.secret_text import decode_text
from controller.domain.values.ceph_needs import ROOK, CephNeeds, joined_capabilities
from controller.domain.values.secret_refs import reserved
from controller.errors import Forbidden, ObjectMissing, ObjectRefused
from controller.ports.kubernetes import SECRET, Kube, KubeObject, KubeObjects, Resource
from controller.reconcile.credentials.ceph.exchanged_objects import ExchangedObjects, texts_of

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


@dataclass(frozen=True)
class Asked:
    """What could not be asked for, and what was asked for earlier and is not needed any more, in words.

    `administrators`: the clients that may do everything, each with what is wrong; nobody gets their keys.
    """

    problems: tuple[CredentialProblem, ...] = ()
    unneeded: tuple[str, ...] = ()
    administrators: Mapping[str, str] = field(default_factory=dict)


class CephRequest:
    """Of one region, for one pass."""

    def __init__(self, kube: Kube, osdpl: KubeObject) -> None:
        self._kube = kube
        self._osdpl = osdpl
        self._namespace = str(osdpl["metadata"]["namespace"])

    def ensure(self, needs: CephNeeds, bundles: KubeObjects) -> Asked:
        """Writes what differs. Raises Conflict, KubeError."""
        objects = ExchangedObjects(self._kube, self._osdpl, needs.namespace)
        gateway = self._gateway_user(needs, bundles) if needs.gateway else None
        problems: list[CredentialProblem] = []
        notes: list[str] = []
        administrators: dict[str, str] = {}
        if needs.request == ROOK:
            for one in rook_objects(needs):
                text = _asked(partial(_left, objects, one, needs.namespace, notes, administrators))
                problems += _problems(needs, one.place.name, text, one.place.kind)
            if gateway is not None:
                text = _asked(partial(objects.ensure, SECRET, GATEWAY_SECRET, gateway_texts(gateway)))
                problems += _problems(needs, GATEWAY_SECRET, text, SECRET.kind)
        else:
            text = _asked(partial(self._document, objects, needs, gateway, notes))
            problems += _problems(needs, REQUEST_SECRET, text, SECRET.kind)
        return Asked(tuple(problems), tuple(notes), administrators)

    def _document(
        self, objects: ExchangedObjects, needs: CephNeeds, gateway: GatewayUser | None, notes: list[str]
    ) -> str:
        """Tells the needs in one document; why it could not be told."""
        there = self._kube.get(SECRET, REQUEST_SECRET, needs.namespace)
        before = requested_clients(texts_of(there or {}).get(REQUEST, ""))
        region = f"{self._namespace}/{self._osdpl['metadata']['name']}"
        text = request_document(needs, region, gateway, before)
        needed = {one.name: one.capabilities for one in needs.clients}
        more = [user for user, caps in sorted(before.items()) if unneeded(caps, needed.get(user, {}))]
        refused = objects.ensure(SECRET, REQUEST_SECRET, {REQUEST: text})
        if more and not refused:
            notes.append(
                f"Secret {needs.namespace}/{REQUEST_SECRET} asks for more than is needed, for "
                f"{', '.join(more)}; once no server uses it, have it written again with "
                f"kubectl -n {needs.namespace} delete secret {REQUEST_SECRET}"
            )
        return refused

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
        return decode_text((secret.get("data") or {}).get(source.key) or "")


def _left(
    objects: ExchangedObjects,
    wanted: RookObject,
    namespace: str,
    notes: list[str],
    administrators: dict[str, str],
) -> str:
    """Asks for one object; what is wrong with what others have made or changed."""
    kind, name = wanted.place.kind, wanted.place.name
    ours: dict[str, str] = {}

    def spec_for(there: Mapping[str, Any]) -> Mapping[str, Any]:
        """Capabilities are added only: servers that run may still use those of an earlier spec."""
        if kind != CLIENT_KIND:
            return wanted.spec
        ours.update(_capabilities(there))
        return {"caps": joined_capabilities(ours, wanted.spec["caps"])}

    theirs = objects.ensure_spec(ROOK_KINDS[kind], name, spec_for)
    if kind != CLIENT_KIND:
        return ""
    if theirs is None:
        if is_administrator(ours):
            text = f"it gives an administrator's capabilities; narrow them to {_shown(wanted.spec['caps'])}"
            administrators[name] = text
            return text
        if more := unneeded(ours, wanted.spec["caps"]):
            notes.append(
                f"CephClient {namespace}/{name} may do more than is needed: {_shown(more)}; once no server "
                f"uses it, narrow it with kubectl -n {namespace} edit cephclient {name}"
            )
        return ""
    given = _capabilities(theirs.get("spec") or {})
    if is_administrator(given):
        text = "it is not the controller's, and gives an administrator's capabilities; narrow them"
        administrators[name] = text
        return text
    if lacking(wanted.spec["caps"], given):
        return f"it is not the controller's, and lacks capabilities; give it {_shown(wanted.spec['caps'])}"
    return ""


def _capabilities(spec: Mapping[str, Any]) -> dict[str, str]:
    return {str(kind): str(text) for kind, text in (spec.get("caps") or {}).items()}


def _shown(capabilities: Mapping[str, str]) -> str:
    return ", ".join(f"{kind} '{text}'" for kind, text in capabilities.items())


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
