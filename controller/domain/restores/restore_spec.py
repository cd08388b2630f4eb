"""`spec` of a RegionRestore. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class RestoreSpec:
    """What is restored, and from where. `secret` has restic's environment variables; `claim` names a volume
    with the repository, which restic finds at /repository, or is empty. Without a secret, the repository is
    that of the region's own backups. `image` is empty for the one that the region's spec chooses."""

    region: str
    backup: str
    secret: str
    claim: str = ""
    image: str = ""


def parse_restore_spec(spec: Mapping[str, Any]) -> RestoreSpec:
    """The spec of an object that the API server has accepted."""
    source = spec.get("from") or {}
    return RestoreSpec(
        region=str(spec["region"]),
        backup=str(spec.get("backup") or "latest"),
        secret=str(source.get("secret") or ""),
        claim=str(source.get("claim") or ""),
        image=str(source.get("image") or ""),
    )
