"""`status.secrets` of the osdpl and the condition SecretsExchanged: names and digests, never values."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from controller.domain.api.conditions import Condition, timestamp
from controller.domain.api.reasons import Reason
from controller.domain.api.shortened_text import shorten
from controller.domain.credentials.certificate_ends import ends_within
from controller.domain.credentials.credential_plan import CredentialProblem
from controller.domain.credentials.credential_warnings import CredentialDoubt
from controller.domain.credentials.rotation.record import RotationView
from controller.domain.credentials.rotation.schedule import RotationTimes
from controller.domain.shared.plurals import count

CONDITION = "SecretsExchanged"
READY = "Ready"
INCOMPLETE = "Incomplete"
# What an entry says of a certificate.
_OF_CERTIFICATES = ("expires", "endsWithin")


@dataclass(frozen=True)
class SecretView:
    """The published state of one Secret.

    `keys` are its present and former keys. `digest` is keyed, and empty while the Secret is missing, or if it
    only holds a certificate. `expires`: the end of its certificate, or None. `rotation`: a requested or
    running one. `last_rotation`, `next_rotation`: the times of its rotations, None for never. Times are in
    seconds since the epoch. `doubts` are reported, but it is ready anyway.
    """

    name: str
    keys: frozenset[str]
    digest: str
    problems: tuple[str, ...] = ()
    expires: float | None = None
    rotation: RotationView | None = None
    last_rotation: float | None = None
    next_rotation: float | None = None
    doubts: tuple[str, ...] = ()


def joined_views(
    views: Mapping[str, SecretView],
    certificates: Mapping[str, SecretView],
    rotations: Mapping[str, RotationView],
) -> dict[str, SecretView]:
    """The views, with those of certificates, and with the progress of rotations; a Secret of both kinds has
    an expiry."""
    both = {
        name: replace(
            view,
            expires=certificates[name].expires,
            problems=view.problems + certificates[name].problems,
        )
        for name, view in views.items()
        if name in certificates
    }
    joined = {**certificates, **views, **both}
    return {name: replace(view, rotation=rotations.get(name)) for name, view in joined.items()}


def with_times(views: Mapping[str, SecretView], times: Mapping[str, RotationTimes]) -> dict[str, SecretView]:
    """The views, with when their Secrets were and will be rotated."""
    found = {name: times.get(name, RotationTimes()) for name in views}
    return {
        name: replace(view, last_rotation=found[name].last, next_rotation=found[name].next)
        for name, view in views.items()
    }


def rotation_notes(rotations: Mapping[str, RotationView]) -> tuple[str, ...]:
    """The progress of rotations, for the condition."""
    return tuple(
        f'the rotation of Secret "{name}" is {view.phase}: {view.message}'
        for name, view in sorted(rotations.items())
    )


def secret_entries(
    views: Iterable[SecretView], before: Mapping[str, Any], now: float
) -> dict[str, dict[str, Any]]:
    """`status.secrets` by name. `rotated` moves to `now` (seconds since the epoch) with the digest."""
    entries: dict[str, dict[str, Any]] = {}
    for view in sorted(views, key=lambda item: item.name):
        known = before.get(view.name) or {}
        entry: dict[str, Any] = {
            "state": INCOMPLETE if view.problems else READY,
            "keys": sorted(view.keys),
        }
        if view.digest:
            same = known.get("digest") == view.digest and known.get("rotated")
            entry["digest"] = view.digest
            entry["rotated"] = same or timestamp(now)
        if view.expires is not None:
            entry["expires"] = timestamp(view.expires)
            within = ends_within(view.expires, now)
            entry |= {"endsWithin": within} if within else {}
        for word, moment in (("lastRotation", view.last_rotation), ("nextRotation", view.next_rotation)):
            if moment is not None:
                entry[word] = timestamp(moment)
        if view.rotation is not None:
            entry["rotation"] = view.rotation.entry()
        if view.problems or view.doubts:
            entry["message"] = shorten("; ".join((*view.problems, *view.doubts)), 32768)
        entries[view.name] = entry
    return entries


def with_certificates(
    before: Mapping[str, Mapping[str, Any]], found: Mapping[str, Mapping[str, Any]]
) -> dict[str, Mapping[str, Any]]:
    """The entries as published `before`, with the present state of certificates in `found`.

    For a Secret with credentials only the end of its certificate is updated.
    """
    merged = {name: entry for name, entry in before.items() if entry.get("digest") or "expires" not in entry}
    for name, entry in found.items():
        known = merged.get(name, {})
        if not known.get("digest"):
            merged[name] = entry
        elif "expires" in entry:
            kept = {key: part for key, part in known.items() if key not in _OF_CERTIFICATES}
            merged[name] = {**kept, **{key: entry[key] for key in _OF_CERTIFICATES if key in entry}}
    return merged


def messages_of(name: str, problems: Iterable[CredentialProblem]) -> tuple[str, ...]:
    """What is wrong with a Secret."""
    return tuple(problem.message for problem in problems if problem.secret == name)


def recorded_keys(status: Mapping[str, Any]) -> dict[str, Collection[str]]:
    """The keys that each Secret has had, from the osdpl's status."""
    return {name: tuple(entry.get("keys") or ()) for name, entry in (status.get("secrets") or {}).items()}


def secrets_condition(
    problems: Iterable[CredentialProblem],
    secrets: int,
    credentials: int,
    generation: int,
    *,
    later: int = 0,
    doubts: Sequence[CredentialDoubt] = (),
    notes: Iterable[str] = (),
) -> Condition:
    """Whether everything is in place: `secrets` and `credentials` count the needs of the region.

    `later` Secrets follow once a plan is approved, or a pause ends. `doubts` and `notes` are also reported;
    without problems, the first doubt provides the reason.
    """
    problems = sorted(problems, key=lambda problem: not problem.lost)
    notes = (*(f'Secret "{one.secret}": {one.message}' for one in doubts), *notes)
    texts = [f'{problem.kind} "{problem.secret}": {problem.message}' for problem in problems]
    if texts:
        reason = Reason.CREDENTIALS_LOST if problems[0].lost else Reason.SECRET_MISSING
        return Condition(CONDITION, "False", reason, "; ".join([*texts, *notes]), generation)
    verb = "is" if credentials == 1 else "are"
    message = f"{count(credentials, 'credential')} in {count(secrets, 'Secret')} {verb} in place"
    if later:
        there = f"{secrets - later} of {count(secrets, 'Secret is', 'Secrets are')} in place"
        message = f"{there}; the others follow once the spec is applied"
    reason = doubts[0].reason if doubts else Reason.SECRETS_READY
    return Condition(CONDITION, "True", reason, "; ".join([message, *notes]), generation)


def waiting_condition(problem: str, generation: int) -> Condition:
    """The spec is unreadable, so the needed credentials are unknown; existing ones are kept."""
    return Condition(CONDITION, "Unknown", Reason.SPEC_INVALID, problem, generation)
