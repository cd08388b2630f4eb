"""The record of a rotation and its progress: one annotation of the rotated Secret.

Pure. The first write puts new passwords and a new suffix into the Secret, and the accounts to remove into the
annotation. From then on the Secret is the desired state. The last write removes the annotation once nothing
uses these accounts, and they are deleted. In between there are writes only for pairs of keys, one for each
further stage. Nothing else needs to be remembered.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from controller.domain.api.conditions import timestamp
from controller.domain.api.shortened_text import shorten
from controller.domain.credentials.rotation.accounts import Account, Server
from controller.domain.credentials.rotation.barbican_key import FORMER, IN_USE, KEYS, NEXT, kept_name
from controller.domain.credentials.rotation.in_place import SSH_STAGES, coming_name
from controller.domain.shared.times import seconds_of

_MESSAGE = 2048
# About a hundred accounts.
_RECORD = 16384


class Phase(StrEnum):
    """The progress of a rotation."""

    WAITING = "Waiting"  # asked for, and not begun
    ROLLING = "Rolling"  # releases and pods take up the new accounts
    REMOVING = "Removing"  # nothing needs the accounts before any more, and they go


@dataclass(frozen=True)
class RotationRecord:
    """A rotation that runs since `since`, and the accounts to remove, whose names ended with `suffix_before`.

    `shared` are the keys that were replaced in one write. The `pairs` of keys, by their private ones, are in
    a `stage`. With `wraps`, those of `rotation.wrapping` were moved. `kept_accounts` are the passwords that
    were set on servers. `rewritten`: the last write to the Secret since then, 0.0 for never. Times are in
    seconds since the epoch.
    """

    since: float
    suffix_before: str
    accounts: tuple[Account, ...]
    shared: tuple[str, ...] = ()
    pairs: tuple[str, ...] = ()
    stage: int = 1
    wraps: bool = False
    kept_accounts: tuple[str, ...] = ()
    rewritten: float = 0.0

    @property
    def written(self) -> float:
        """The time of the Secret's present content."""
        return self.rewritten or self.since

    @property
    def has_stages(self) -> bool:
        """Whether there is another write besides the last one."""
        return bool(self.pairs) and self.stage < SSH_STAGES


@dataclass(frozen=True)
class RotationView:
    """A rotation as it is published. `record`: the text of its annotation, empty before it has begun."""

    phase: Phase
    message: str
    since: float | None = None
    record: str = ""

    def entry(self) -> dict[str, Any]:
        """What stands in `status.secrets[].rotation`."""
        entry = {"phase": str(self.phase), "message": shorten(self.message, _MESSAGE)}
        if self.since is not None:
            entry["since"] = timestamp(self.since)
        return {**entry, "record": self.record} if 0 < len(self.record) <= _RECORD else entry


def record_text(record: RotationRecord) -> str:
    """The record as the text of its annotation, without a secret."""
    accounts = [{k: str(v) for k, v in asdict(one).items() if v} for one in record.accounts]
    whole: dict[str, Any] = {
        "since": timestamp(record.since),
        "before": record.suffix_before,
        "accounts": accounts,
    }
    if record.shared:
        whole["shared"] = list(record.shared)
    if record.pairs:
        whole |= {"pairs": list(record.pairs), "stage": record.stage}
    if record.wraps:
        whole["wraps"] = True
    if record.kept_accounts:
        whole["keptAccounts"] = list(record.kept_accounts)
    if record.rewritten:
        whole["rewritten"] = timestamp(record.rewritten)
    return json.dumps(whole, sort_keys=True)


def parse_rotation(text: str) -> RotationRecord | None:
    """The record of an annotation; None if it is unreadable, which counts as absent."""
    try:
        given = json.loads(text)
        return RotationRecord(
            since=seconds_of(given["since"]),
            suffix_before=str(given["before"]),
            accounts=tuple(map(_account, given["accounts"])),
            shared=tuple(map(str, given.get("shared", ()))),
            pairs=tuple(map(str, given.get("pairs", ()))),
            stage=int(given.get("stage", 1)),
            wraps=bool(given.get("wraps")),
            kept_accounts=tuple(map(str, given.get("keptAccounts", ()))),
            rewritten=seconds_of(given.get("rewritten")),
        )
    except (ValueError, LookupError, TypeError, AttributeError):
        return None


def lost_rotations(osdpl: Mapping[str, Any], there: Collection[str]) -> dict[str, RotationView]:
    """Rotations in the status whose Secret is gone with its annotation. `there`: the existing Secrets."""
    found = {}
    for name in (osdpl.get("status") or {}).get("secrets") or {}:
        text = recorded_rotation(osdpl, name)
        record = parse_rotation(text)
        if name not in there and record is not None:
            found[name] = RotationView(
                Phase.ROLLING, "the rotation continues once the Secret is back", record.since, text
            )
    return found


def recorded_rotation(osdpl: Mapping[str, Any], secret: str) -> str:
    """The record of a rotation in the status, or empty."""
    entry = ((osdpl.get("status") or {}).get("secrets") or {}).get(secret) or {}
    return str((entry.get("rotation") or {}).get("record") or "")


def _account(given: Mapping[str, str]) -> Account:
    names = ("name", "release", "endpoint")
    name, release, endpoint = (str(given[field]) for field in names)
    return Account(Server(given["server"]), name, release, endpoint, str(given.get("domain", "")))


def restored_by_rotation(record: RotationRecord, texts: Mapping[str, str]) -> frozenset[str]:
    """Lost keys that a running rotation generates again itself, because Helm's records have former texts,
    or differ. `texts`: the Secret's present content.
    """
    there = {key for key in (IN_USE, FORMER) if texts.get(kept_name(key))} | {NEXT}
    known = [key for key in record.kept_accounts if texts.get(coming_name(key))]
    return frozenset((*record.shared, *known, *(there if record.wraps else ())))


def moved_by_rotation(record: RotationRecord) -> frozenset[str]:
    """The keys whose right text only a running rotation knows: Helm's records may have another one under
    the same name.
    """
    return frozenset((*record.kept_accounts, *(KEYS if record.wraps else ())))
