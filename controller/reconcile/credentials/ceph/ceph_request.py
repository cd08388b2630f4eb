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
from controller.domain.credentials.clouds_yaml import gateway_user
from controller.domain.credentials.credential_plan import CredentialProblem
from controller.domain.values.ceph_needs import ROOK, CephNeeds, joined_capabilities
from controller.errors import Forbidden, ObjectMissing, ObjectRefused
from controller.ports.kubernetes import SECRET, Kube, Resource
from controller.reconcile.credentials.ceph.exchanged_objects import ExchangedObjects, texts_of
from controller.reconcile.credentials.region_pass import RegionPass
from controller.reconcile.credentials.secret_text import secret_text
from controller.reconcile.credentials.steps import CredentialStep, Published

_ROOK_API = "ceph.rook.io/v1"
ROOK_KINDS = {
    POOL_KIND: Resource(_ROOK_API, POOL_KIND, "cephblockpools"),
    CLIENT_KIND: Resource(_ROOK_API, CLIENT_KIND, "cephclients"),
}
_GATEWAY_CHART = "ceph-rgw"
_NO_RIGHT = (
    "the controller may not write it; name the namespace in ceph.namespaces of the controller's "
    "chart, with rookObjects for Rook's objects"
)
_NOT_THERE = "the namespace, or the definition of this kind, does not exist; check that Rook is installed"


@dataclass(frozen=True)
class CephAdministrators:
    """The clients that may do everything, each with what is wrong; their keys are not taken."""

    wrong: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class _There:
    """The account that the gateway works with, None where there is none. `before`: the clients that the last
    document asked for; `unread`: why that cannot be read, empty where it can."""

    needs: CephNeeds
    gateway: GatewayUser | None
    before: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    unread: str = ""


@dataclass(frozen=True)
class _Request:
    """What is asked for: objects of Rook, and Secrets with texts. `more`: clients that the document asks for
    with more than is needed."""

    needs: CephNeeds
    objects: tuple[RookObject, ...] = ()
    texts: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    more: tuple[str, ...] = ()
    unread: str = ""


class CephRequest(CredentialStep[_There, _Request]):
    """`Step.CEPH_REQUEST`."""

    def __init__(self, kube: Kube) -> None:
        self._kube = kube

    def observe(self, work: RegionPass, before: Published) -> _There | None:
        """What was asked for before, and the account of the gateway."""
        needs = work.needs.ceph
        if needs is None or work.read_only:
            return None
        gateway = self._gateway_user(work, needs) if needs.gateway else None
        if needs.request == ROOK:
            return _There(needs, gateway)
        clients: dict[str, Mapping[str, str]] = {}

        def read() -> str:
            there = self._kube.get(SECRET, REQUEST_SECRET, needs.namespace)
            clients.update(requested_clients(texts_of(there or {}).get(REQUEST, "")))
            return ""

        unread = _asked(read)
        return _There(needs, gateway, clients, unread)

    def decide(self, work: RegionPass, observed: _There) -> _Request:
        """Capabilities are added only, as servers that run may still use those of an earlier spec."""
        needs, gateway, before = observed.needs, observed.gateway, observed.before
        if needs.request == ROOK:
            texts = {GATEWAY_SECRET: gateway_texts(gateway)} if gateway is not None else {}
            return _Request(needs, tuple(rook_objects(needs)), texts)
        region = f"{work.namespace}/{work.osdpl['metadata']['name']}"
        text = request_document(needs, region, gateway, before)
        needed = {one.name: one.capabilities for one in needs.clients}
        more = tuple(user for user, caps in sorted(before.items()) if unneeded(caps, needed.get(user, {})))
        return _Request(needs, (), {REQUEST_SECRET: {REQUEST: text}}, more, observed.unread)

    def apply(self, work: RegionPass, decided: _Request) -> Published:
        """Writes what differs."""
        needs = decided.needs
        objects = ExchangedObjects(self._kube, work.osdpl, needs.namespace)
        problems: list[CredentialProblem] = []
        notes: list[str] = []
        administrators: dict[str, str] = {}
        for one in decided.objects:
            text = _asked(partial(_left, objects, one, needs.namespace, notes, administrators))
            problems += _problems(needs, one.place.name, text, one.place.kind)
        for name, texts in decided.texts.items():
            refused = decided.unread or _asked(partial(objects.ensure, SECRET, name, texts))
            problems += _problems(needs, name, refused, SECRET.kind)
            if decided.more and not refused:
                notes.append(
                    f"Secret {needs.namespace}/{name} requests more capabilities than needed, for "
                    f"{', '.join(decided.more)}; once no server uses them, delete it to renew it: "
                    f"kubectl -n {needs.namespace} delete secret {name}"
                )
        return Published(tuple(problems), tuple(notes), facts=(CephAdministrators(administrators),))

    def _gateway_user(self, work: RegionPass, needs: CephNeeds) -> GatewayUser | None:
        """As the release of the gateway's account is asked to make it; None before there is one."""
        for bundle in work.bundles:
            for release in (bundle.get("spec") or {}).get("releases") or ():
                if (release.get("chart") or {}).get("name") != _GATEWAY_CHART:
                    continue
                values = release.get("values") or {}
                found = gateway_user(values, work.namespace, public=needs.source != ROOK)
                password = secret_text(self._kube, found[2], work.namespace) if found else None
                if found and password:
                    account = found[1]
                    domain = account["user_domain_name"]
                    return GatewayUser(
                        found[0], account["username"], password, account["project_name"], domain
                    )
        return None


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
            text = (
                "the CephClient grants an administrator's capabilities; reduce them to "
                f"{_shown(wanted.spec['caps'])}"
            )
            administrators[name] = text
            return text
        if more := unneeded(ours, wanted.spec["caps"]):
            notes.append(
                f"CephClient {namespace}/{name} has more capabilities than needed: {_shown(more)}; "
                f"once no server uses them, reduce them with kubectl -n {namespace} edit cephclient "
                f"{name}"
            )
        return ""
    given = _capabilities(theirs.get("spec") or {})
    if is_administrator(given):
        text = (
            "the CephClient does not belong to the controller, and grants an administrator's "
            "capabilities; reduce them"
        )
        administrators[name] = text
        return text
    if lacking(wanted.spec["caps"], given):
        return (
            "the CephClient does not belong to the controller, and lacks capabilities; grant it "
            f"{_shown(wanted.spec['caps'])}"
        )
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
