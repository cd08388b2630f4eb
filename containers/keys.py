"""The keys that a changed object queues."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from controller.adapters.kubernetes.watches import Key
from controller.domain.api.names import DEPLOYMENT_LABEL


def region_key(osdpl: Mapping[str, Any]) -> Iterable[Key]:
    """The region itself."""
    meta = osdpl["metadata"]
    yield ("region", meta["namespace"], meta["name"])


def owner_key(bundle: Mapping[str, Any]) -> Iterable[Key]:
    """The region that a bundle belongs to; none for a bundle on its own."""
    meta = bundle["metadata"]
    owner = (meta.get("labels") or {}).get(DEPLOYMENT_LABEL)
    if owner:
        yield ("region", meta["namespace"], owner)


def restore_keys(restore: Mapping[str, Any]) -> Iterable[Key]:
    """The restore itself."""
    meta = restore["metadata"]
    yield ("restore", meta["namespace"], meta["name"])
