"""`spec.features.backup`: when backups of the region are made, where they go, and which are kept. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from controller.domain.api.backup_secrets import PASSPHRASE_SECRET
from controller.domain.values.images import mirrored

RESTIC_IMAGE = "docker.io/restic/restic:0.18.1"
CLAIM = "region-backup"


@dataclass(frozen=True)
class Keep:
    """How many backups stay: the newest ones, and the last one of each day and of each week."""

    last: int = 3
    daily: int = 7
    weekly: int = 4


@dataclass(frozen=True)
class ClaimDestination:
    """A volume of the region's namespace that the controller claims."""

    size: str = "50Gi"
    storage_class: str = ""


@dataclass(frozen=True)
class S3Destination:
    """A bucket; `credentials` and `ca` name Secrets, and `ca` may be empty."""

    endpoint: str
    bucket: str
    credentials: str
    prefix: str = ""
    region: str = "us-east-1"
    ca: str = ""

    @property
    def repository(self) -> str:
        """As restic names it."""
        return "/".join(part for part in (f"s3:{self.endpoint}", self.bucket, self.prefix) if part)


@dataclass(frozen=True)
class BackupSpec:
    """Backups of a region. `drill` is empty for no schedule; `passphrase` names the Secret of the key.

    `own_passphrase`: the Secret is the controller's, which generates it. `pull_secrets`: those of the images
    of the region.
    """

    destination: ClaimDestination | S3Destination
    schedule: str = "0 2 * * *"
    drill: str = ""
    keep: Keep = field(default=Keep())
    passphrase: str = PASSPHRASE_SECRET
    image: str = RESTIC_IMAGE
    pull_secrets: tuple[str, ...] = ()

    @property
    def own_passphrase(self) -> bool:
        return self.passphrase == PASSPHRASE_SECRET

    @property
    def claim(self) -> ClaimDestination | None:
        """The volume, None for a bucket."""
        return self.destination if isinstance(self.destination, ClaimDestination) else None

    @property
    def bucket(self) -> S3Destination | None:
        """The bucket, None for a volume."""
        return self.destination if isinstance(self.destination, S3Destination) else None


def restic_image(spec: Mapping[str, Any] | None) -> str:
    """The image with restic where none is named: it comes from the registry of the region's other images."""
    registry = _text(_map(_map(spec).get("images")), "registry")
    return mirrored(RESTIC_IMAGE, registry) if registry else RESTIC_IMAGE


def parse_backup_spec(spec: Mapping[str, Any] | None) -> BackupSpec | None:
    """The backups that a region's spec asks for; None for none. Raises nothing: what no API server stores
    counts as not set."""
    given = _map(_map(_map(spec).get("features")).get("backup"))
    destination = _destination(_map(given.get("destination")))
    if destination is None:
        return None
    keep = _map(given.get("keep"))
    return BackupSpec(
        destination=destination,
        schedule=_text(given, "schedule") or BackupSpec.schedule,
        drill=_text(given, "drill"),
        keep=Keep(
            _number(keep, "last", Keep.last),
            _number(keep, "daily", Keep.daily),
            _number(keep, "weekly", Keep.weekly),
        ),
        passphrase=_text(given, "passphrase") or PASSPHRASE_SECRET,
        image=_text(given, "image") or restic_image(spec),
        pull_secrets=pull_secrets(spec),
    )


def pull_secrets(spec: Mapping[str, Any] | None) -> tuple[str, ...]:
    """The Secrets that pull the region's images. Charts give them to their accounts, not to pods."""
    given = _map(_map(spec).get("images")).get("pullSecrets")
    return tuple(one for one in given if isinstance(one, str)) if isinstance(given, list) else ()


def _destination(given: Mapping[str, Any]) -> ClaimDestination | S3Destination | None:
    if isinstance(given.get("s3"), Mapping):
        bucket = _map(given["s3"])
        return S3Destination(
            endpoint=_text(bucket, "endpoint").rstrip("/"),
            bucket=_text(bucket, "bucket"),
            credentials=_text(bucket, "credentials"),
            prefix=_text(bucket, "prefix"),
            region=_text(bucket, "region") or S3Destination.region,
            ca=_text(bucket, "ca"),
        )
    if isinstance(given.get("claim"), Mapping):
        claim = _map(given["claim"])
        return ClaimDestination(_text(claim, "size") or ClaimDestination.size, _text(claim, "storageClass"))
    return None


def _map(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _text(given: Mapping[str, Any], key: str) -> str:
    value = given.get(key)
    return value if isinstance(value, str) else ""


def _number(given: Mapping[str, Any], key: str, otherwise: int) -> int:
    value = given.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) else otherwise
