"""Signs that lost credentials existed: claims, records, workloads.

Pure. The status of the OpenStackDeployment lists the credentials, and is lost with it. The register also
lists them, and stays. If both are gone and objects from before remain, new and lost credentials cannot be
distinguished, so nothing is generated.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from controller.domain.api.names import KEPT_LABEL, RELEASE_LABELS, RELEASE_NAME
from controller.domain.credentials.credential_plan import (
    EarlierLife,
    StoredSecret,
    keys_of,
    with_earlier_life,
    without_trace,
)
from controller.domain.shared.times import seconds_of
from controller.domain.values.catalogue import CredentialSecret


@dataclass(frozen=True)
class Sign:
    """One object of a present or former region; `made` in seconds since the epoch."""

    what: str
    made: float


@dataclass(frozen=True)
class KnownCredentials:
    """The keys that each Secret is assumed to have had, and those `recorded`.

    `unsure`: Secrets that may have existed, each with an object from before.
    """

    keys: Mapping[str, Collection[str]]
    recorded: Mapping[str, Collection[str]]
    unsure: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class NotedCredentials:
    """The keys by Secret, as the register names them. The register is not `complete` if no record of earlier
    keys existed at its beginning."""

    keys: Mapping[str, Collection[str]] = field(default_factory=dict)
    complete: bool = True


@dataclass(frozen=True)
class Traces:
    """What tells of the credentials of a region: `recorded` are the keys that its status has by Secret,
    `noted` what its register has, None for no register.

    `signs` are of all that lives of it, None where no look was needed. `earlier` tells of a life before the
    osdpl `begun` to be, in seconds since the epoch.
    """

    recorded: Mapping[str, Collection[str]]
    noted: NotedCredentials | None = None
    signs: tuple[Sign, ...] | None = None
    earlier: EarlierLife = field(default_factory=EarlierLife)
    begun: float = 0.0


@dataclass(frozen=True)
class Memory:
    """The keys that are known, and what the register is to have: as it is `noted`, with those that the
    desired Secrets `had`; None where nothing is to be noted, as nothing tells what there was."""

    known: KnownCredentials
    noted: NotedCredentials | None = None
    had: Mapping[str, Collection[str]] = field(default_factory=dict)


def remembered(
    traces: Traces, desired: Collection[CredentialSecret], stored: Mapping[str, StoredSecret]
) -> Memory:
    """The keys that each Secret has had.

    The register says so where anything of the region lives that may know them. Where it does not, the status
    is believed only if nothing of the region is older than the osdpl that has it: one that was made again
    knows nothing of the life before.
    """
    recorded, noted = traces.recorded, traces.noted
    had = {secret.name: recorded[secret.name] for secret in desired if secret.name in recorded}
    if not traces.signs:
        # Without any sign, whatever is noted is of a region that is gone with all that knew its credentials.
        noted = noted if traces.signs is None else NotedCredentials()
        return Memory(KnownCredentials(recorded, recorded), noted, had)
    if noted is not None:
        recorded = joined(recorded, noted.keys)
    older = _older(traces) if noted is None or not noted.complete else None
    noted = noted or NotedCredentials(complete=older is None)
    unknown = without_knowledge(desired, stored, recorded)
    if unknown and older is not None:
        return Memory(with_unsure(recorded, unknown, older))
    traceless = without_trace(desired, stored, recorded)
    if not traceless:
        return Memory(KnownCredentials(recorded, recorded), noted, had)
    found = with_earlier_life(recorded, desired, traceless, traces.earlier)
    had = {secret.name: found[secret.name] for secret in desired if secret.name in found}
    return Memory(KnownCredentials(found, found), noted, had)


def _older(traces: Traces) -> Sign | None:
    """The oldest sign that is from before the osdpl, None where there is none."""
    found = (sign for sign in traces.signs or () if sign.made < traces.begun)
    return min(found, key=lambda one: one.made, default=None)


def sign_of(kind: str, meta: Mapping[str, Any], releases: Collection[str]) -> Sign | None:
    """The sign of an object with this metadata; None if it does not belong to these releases."""
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
    """Secrets with missing keys and without a record."""
    return tuple(
        secret
        for secret in desired
        if not secret.credentials.keys() <= keys_of(stored, secret.name) | {*recorded.get(secret.name, ())}
    )


def with_unsure(
    recorded: Mapping[str, Collection[str]], unknown: Iterable[CredentialSecret], older: Sign
) -> KnownCredentials:
    """The record, with the `unknown` as if they had existed: `older` is from before the region."""
    unsure = {secret.name: older.what for secret in unknown}
    taken = {secret.name: tuple(secret.credentials) for secret in unknown}
    keys = {name: (*recorded.get(name, ()), *taken.get(name, ())) for name in recorded.keys() | taken.keys()}
    return KnownCredentials(keys, recorded, unsure)


def joined(
    one: Mapping[str, Collection[str]], other: Mapping[str, Collection[str]]
) -> dict[str, Collection[str]]:
    """The keys of both."""
    names = one.keys() | other.keys()
    return {name: tuple(sorted({*one.get(name, ()), *other.get(name, ())})) for name in sorted(names)}
