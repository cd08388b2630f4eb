"""View of a region's credentials: names and times, never values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from controller.cli.views.release_rows import parse_time, short_duration
from controller.domain.credentials.readers import reader_release
from controller.domain.credentials.rotation.accounts import (
    Release,
    SecretUse,
    is_of_administrator,
    references_to,
    uses_of,
)
from controller.domain.credentials.rotation.in_place import InPlace, in_place, is_temporary
from controller.domain.credentials.rotation.not_rotated import not_rotated
from controller.domain.values.secret_refs import SecretReference
from controller.domain.values.templates.template_functions import ACCOUNT_SUFFIX
from controller.errors import SpecInvalid

HEADERS = ("SERVICE", "AGE", "LAST", "NEXT", "KEYS", "ROTATION")
ENDING = "-credentials"


@dataclass(frozen=True)
class ServiceCredentials:
    """The generated credentials of one service.

    `shared` are replaced under their own name. `releases` are upgraded, and the pods of `replaced` workloads
    are replaced. `kept` has the reason for each key that is not rotated. `entry` is the Secret in the status.
    """

    service: str
    use: SecretUse
    shared: InPlace
    releases: tuple[str, ...]
    replaced: tuple[str, ...]
    kept: Mapping[str, str]
    entry: Mapping[str, Any]

    @property
    def secret(self) -> str:
        """The Secret's name."""
        return f"{self.service}{ENDING}"

    @property
    def rotates(self) -> bool:
        """Whether any part of it can be rotated."""
        return self.moves or bool(self.shared)

    @property
    def moves(self) -> bool:
        """Whether accounts in it get other names."""
        return bool(self.use.accounts and self.use.keys)

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys that get another text."""
        return tuple(sorted((self.use.keys if self.moves else frozenset[str]()) | self.shared.keys))

    @property
    def rotation(self) -> Mapping[str, Any]:
        """The requested or running one, or empty."""
        found: Mapping[str, Any] = self.entry.get("rotation") or {}
        return found

    @property
    def accounts(self) -> tuple[str, ...]:
        """The accounts that get other names: `Database nova`."""
        return tuple(dict.fromkeys(f"{one.account.server} {one.prefix}" for one in self.use.accounts))

    def data(self) -> dict[str, Any]:
        """For programs."""
        return {
            "service": self.service,
            "secret": self.secret,
            "rotates": list(self.keys),
            "interruptions": dict(self.shared.gaps),
            "changed": self.entry.get("rotated"),
            "lastRotation": self.entry.get("lastRotation"),
            "nextRotation": self.entry.get("nextRotation"),
            "accounts": list(self.accounts),
            "releases": list(self.releases),
            "notRotated": dict(self.kept),
            "rotation": dict(self.rotation) or None,
        }


def service_credentials(
    status: Mapping[str, Any], releases: Sequence[Release]
) -> tuple[ServiceCredentials, ...]:
    """The credentials of each service in the status of a region."""
    try:
        uses = uses_of((*releases, reader_release()))
    except SpecInvalid:
        uses = {}
    found = []
    for name, entry in sorted((status.get("secrets") or {}).items()):
        if not name.endswith(ENDING) or not entry.get("keys"):
            continue
        service, use = name.removesuffix(ENDING), uses.get(name, SecretUse())
        kept = {
            key: not_rotated(service, key, use)
            for key in entry["keys"]
            if key != ACCOUNT_SUFFIX and not is_temporary(key)
        }
        found.append(
            ServiceCredentials(
                service,
                use,
                in_place(service, entry["keys"], use),
                _consumers(name, releases, lambda _: True),
                _consumers(name, releases, lambda reference: not is_of_administrator(reference)),
                {key: why for key, why in kept.items() if why},
                entry,
            )
        )
    return tuple(found)


def credential_rows(found: Iterable[ServiceCredentials], now: float) -> list[tuple[str, ...]]:
    """Rows under HEADERS, within 80 columns. What is to come is `in 3 d`, and what is about to be `now`. Of
    the keys it says how many are rotated: their names are many, and stand in `data` and in a dry run."""
    rows: list[tuple[str, ...]] = []
    for one in found:
        changed, last, following = (
            parse_time(one.entry.get(word)) for word in ("rotated", "lastRotation", "nextRotation")
        )
        rows.append(
            (
                one.service,
                short_duration(now - changed) if changed is not None else "-",
                f"{short_duration(now - last)} ago" if last is not None else "-",
                _to_come(following, now),
                f"{len(one.keys)} of {len(one.entry.get('keys') or ())}",
                str(one.rotation.get("phase") or "-"),
            )
        )
    return rows


def rotation_lines(found: Iterable[ServiceCredentials]) -> list[str]:
    """How far each rotation under way is: `compute: Rolling: release nova does not use it yet`."""
    return [
        f"{one.service}: {one.rotation['phase']}: {one.rotation['message']}"
        for one in found
        if one.rotation.get("message")
    ]


def _to_come(moment: float | None, now: float) -> str:
    if moment is None:
        return "-"
    return f"in {short_duration(moment - now)}" if moment > now else "now"


def _consumers(
    secret: str, releases: Iterable[Release], counts: Callable[[SecretReference], bool]
) -> tuple[str, ...]:
    found = []
    for release in releases:
        try:
            if any(map(counts, references_to(secret, release))):
                found.append(release.name)
        except SpecInvalid:
            continue
    return tuple(found)
