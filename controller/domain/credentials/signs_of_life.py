"""What tells that credentials were there once, although nothing of them is: claims, records, workloads. Pure.

The status of the OpenStackDeployment says which credentials there were, and goes with it. The register says
it too, and stays. Where both are gone and something of an earlier life is left, nobody can tell what is new
from what was lost: nothing is made then.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from controller.domain.api.names import KEPT_LABEL, RELEASE_LABELS, RELEASE_NAME
from controller.domain.credentials.credential_plan import StoredSecret
from controller.domain.shared.times import seconds_of
from controller.domain.values.catalogue import CredentialSecret


@dataclass(frozen=True)
class Sign:
    """One thing of a region that runs, or has run; `made` in seconds since the epoch."""

    what: str
    made: float


@dataclass(frozen=True)
class KnownCredentials:
    """The keys that each Secret is taken to have had, and those `recorded`. `unsure`: Secrets of which
    nothing tells whether they were there, each with what is left of an earlier life."""

    keys: Mapping[str, Collection[str]]
    recorded: Mapping[str, Collection[str]]
    unsure: Mapping[str, str] = field(default_factory=dict)


def sign_of(kind: str, meta: Mapping[str, Any], releases: Collection[str]) -> Sign | None:
    """What an object with this metadata tells; None where it is of none of these releases."""
    labels = meta.get("labels") or {}
    named = [labels.get(KEPT_LABEL), (meta.get("annotations") or {}).get(RELEASE_NAME)]
    named += [labels.get(label) for label in RELEASE_LABELS]
    if not any(name in releases for name in named if name):
        return None
    return Sign(f"{kind} {meta['name']}", seconds_of(meta.get("creationTimestamp")))


def without_knowledge(
    desired: Iterable[CredentialSecret],
    stored: Mapping[str, StoredSecret],
    recorded: Mapping[str, Collection[str]],
) -> tuple[CredentialSecret, ...]:
    """Those with keys that are not there, and of which nothing is recorded."""
    found = []
    for secret in desired:
        there = stored.get(secret.name)
        keys = there.filled | there.empty if there is not None else frozenset[str]()
        if not secret.credentials.keys() <= keys | set(recorded.get(secret.name, ())):
            found.append(secret)
    return tuple(found)


def with_unsure(
    recorded: Mapping[str, Collection[str]], unknown: Iterable[CredentialSecret], older: Sign
) -> KnownCredentials:
    """What is recorded, and the `unknown` as if they had been there: `older` is from before the region."""
    unsure = {secret.name: older.what for secret in unknown}
    taken = {secret.name: tuple(secret.credentials) for secret in unknown}
    keys = {name: (*recorded.get(name, ()), *taken.get(name, ())) for name in recorded.keys() | taken.keys()}
    return KnownCredentials(keys, recorded, unsure)


def joined(
    one: Mapping[str, Collection[str]], other: Mapping[str, Collection[str]]
) -> dict[str, Collection[str]]:
    """The keys that either has."""
    names = one.keys() | other.keys()
    return {name: tuple(sorted({*one.get(name, ()), *other.get(name, ())})) for name in sorted(names)}
