"""Credentials of a region as osctl shows them: names and times, never values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from controller.cli.views.release_rows import parse_time, short_duration
from controller.domain.credentials.rotation.accounts import Release, SecretUse, references_to, use_of
from controller.domain.credentials.rotation.not_rotated import not_rotated
from controller.errors import SpecInvalid

HEADERS = ("SERVICE", "AGE", "ROTATES", "ROTATION")
ENDING = "-credentials"


@dataclass(frozen=True)
class ServiceCredentials:
    """The generated credentials of one service. `changed` is in seconds since the epoch, None where that is
    not known; `kept` says of each key that is not rotated why."""

    service: str
    use: SecretUse
    releases: tuple[str, ...]
    kept: Mapping[str, str]
    changed: float | None
    rotation: Mapping[str, Any]

    @property
    def secret(self) -> str:
        """The Secret's name."""
        return f"{self.service}{ENDING}"

    @property
    def rotates(self) -> bool:
        """Whether there is anything in it to be rotated."""
        return bool(self.use.accounts and self.use.keys)

    @property
    def accounts(self) -> tuple[str, ...]:
        """The accounts that get other names: `Database nova`."""
        return tuple(dict.fromkeys(f"{one.account.server} {one.prefix}" for one in self.use.accounts))

    def data(self) -> dict[str, Any]:
        """For programs."""
        return {
            "service": self.service,
            "secret": self.secret,
            "rotates": sorted(self.use.keys) if self.rotates else [],
            "accounts": list(self.accounts),
            "releases": list(self.releases),
            "notRotated": dict(self.kept),
            "rotation": dict(self.rotation) or None,
        }


def service_credentials(
    status: Mapping[str, Any], releases: Sequence[Release]
) -> tuple[ServiceCredentials, ...]:
    """Those of each service that the status of a region knows."""
    found = []
    for name, entry in sorted((status.get("secrets") or {}).items()):
        if not name.endswith(ENDING) or not entry.get("keys"):
            continue
        service = name.removesuffix(ENDING)
        try:
            use = use_of(name, releases)
        except SpecInvalid:
            use = SecretUse()
        kept = {key: not_rotated(service, key, use) for key in entry["keys"] if key != "account-suffix"}
        found.append(
            ServiceCredentials(
                service,
                use,
                _consumers(name, releases),
                {key: why for key, why in kept.items() if why},
                parse_time(entry.get("rotated")),
                entry.get("rotation") or {},
            )
        )
    return tuple(found)


def credential_rows(found: Iterable[ServiceCredentials], now: float) -> list[tuple[str, str, str, str]]:
    """Rows under HEADERS."""
    rows = []
    for one in found:
        age = short_duration(now - one.changed) if one.changed is not None else "-"
        what = ", ".join(sorted(one.use.keys)) if one.rotates else "-"
        rotation = f"{one.rotation['phase']}: {one.rotation.get('message', '')}" if one.rotation else "-"
        rows.append((one.service, age, what, rotation))
    return rows


def _consumers(secret: str, releases: Iterable[Release]) -> tuple[str, ...]:
    found = []
    for release in releases:
        try:
            if references_to(secret, release):
                found.append(release.name)
        except SpecInvalid:
            continue
    return tuple(found)
