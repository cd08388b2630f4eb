"""Follows when certificates of a region end: those of cert-manager, and those that the spec names."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from controller.domain.credentials.certificates import (
    TLS_TYPE,
    CertificateFacts,
    certificate_facts,
    is_issued,
    named_secrets,
)
from controller.domain.credentials.credential_plan import CredentialProblem
from controller.domain.credentials.secret_status import SecretView
from controller.ports.kubernetes import SECRET, Kube
from controller.ports.system import Clock
from controller.reconcile.credentials.region_pass import RegionPass
from controller.reconcile.credentials.steps import SOON_SECONDS, CredentialStep, Published

# Seconds: nothing tells of a renewal, and the status is looked at more often than that matters.
CHECK_SECONDS = 60.0
# Contents read at one pass; where there are more, as with one certificate for each node, the next goes on.
READ_AT_ONCE = 100
# As many as the status is to hold beside the credentials: those that end first.
SHOWN = 200
MISSING = "the Secret does not exist"


@dataclass(frozen=True)
class _Known:
    version: str
    keys: frozenset[str]
    facts: CertificateFacts


@dataclass(frozen=True)
class FollowedCertificates:
    """Secrets of the region whose end counts, each with the key of the certificate."""

    keys: Mapping[str, str] = field(default_factory=dict)


Views = Mapping[str, SecretView]


class CertificateEnds(CredentialStep[Views, tuple[Views, tuple[CredentialProblem, ...]]]):
    """`Step.CERTIFICATE_ENDS`. A content is read once for each version of its Secret, and not kept."""

    def __init__(self, kube: Kube, clock: Clock) -> None:
        self._kube = kube
        self._clock = clock
        self._known: dict[str, _Known] = {}
        self._last_read: tuple[float, tuple[str, Mapping[str, str]]] | None = None
        self._followed: dict[str, str] = {}

    def observe(self, work: RegionPass, before: Published) -> Views:
        """Each Secret with a certificate, and each Secret that the spec names. If no step says which Secrets
        to follow, the Secrets of the previous pass count."""
        followed = before.all_facts(FollowedCertificates)
        if followed:
            self._followed = {name: key for one in followed for name, key in one.keys.items()}
        return self._observed(work.namespace, named_secrets(work.features) | self._followed)

    def decide(self, work: RegionPass, observed: Views) -> tuple[Views, tuple[CredentialProblem, ...]]:
        """What is wrong with those that the spec names is a problem of the region."""
        names = named_secrets(work.features)
        return observed, tuple(
            CredentialProblem(name, text) for name in names for text in observed[name].problems
        )

    def apply(self, work: RegionPass, decided: tuple[Views, tuple[CredentialProblem, ...]]) -> Published:
        """Writes nothing. Contents may be left, or one that is named is not in order."""
        again = SOON_SECONDS if self._last_read is None else math.inf
        return Published(decided[1], certificates=decided[0], again=again)

    def _observed(self, namespace: str, named: Mapping[str, str]) -> dict[str, SecretView]:
        now, asked = self._clock.monotonic(), (namespace, dict(named))
        if (
            self._last_read is None
            or self._last_read[1] != asked
            or now - self._last_read[0] >= CHECK_SECONDS
        ):
            complete = self._read(namespace, named)
            self._last_read = (now, asked) if complete else None
        views = self._views(named)
        if any(views[name].problems for name in named):
            self._last_read = None
        return views

    def _read(self, namespace: str, named: Mapping[str, str]) -> bool:
        """Brings what is known up to date; False while contents are left to be read."""
        listed = self._kube.list_metadata(SECRET, namespace, fields=f"type={TLS_TYPE}")
        issued = {
            str(one["metadata"]["name"]): str(one["metadata"].get("resourceVersion"))
            for one in listed
            if is_issued(one["metadata"])
        }
        for gone in self._known.keys() - issued.keys() - set(named):
            del self._known[gone]
        stale = [name for name, version in sorted(issued.items()) if self._version(name) != version]
        # Those that are named may be of any type, and are few.
        for name in {*named, *stale[:READ_AT_ONCE]}:
            self._learn(name, namespace, named.get(name, ""))
        return len(stale) <= READ_AT_ONCE

    def _version(self, name: str) -> str | None:
        return self._known[name].version if name in self._known else None

    def _learn(self, name: str, namespace: str, key: str) -> None:
        secret = self._kube.get(SECRET, name, namespace)
        if secret is None:
            self._known.pop(name, None)
            return
        data = secret.get("data") or {}
        version = str(secret["metadata"].get("resourceVersion"))
        self._known[name] = _Known(version, frozenset(data), certificate_facts(data, key))

    def _views(self, named: Mapping[str, str]) -> dict[str, SecretView]:
        def first(name: str) -> tuple[bool, float, str]:
            end = self._known[name].facts.end
            return name not in named, math.inf if end is None else end, name

        views = {name: SecretView(name, frozenset(), "", (MISSING,)) for name in named}
        readable = (name for name, one in self._known.items() if one.facts != CertificateFacts(None))
        for name in sorted(readable, key=first)[:SHOWN]:
            known = self._known[name]
            problems = (known.facts.problem,) if known.facts.problem else ()
            views[name] = SecretView(name, known.keys, "", problems, known.facts.end)
        return views
