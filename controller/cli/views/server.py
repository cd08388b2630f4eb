"""Views of OpenStackServers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from controller.domain.api.conditions import find
from controller.domain.servers.server_conditions import Aspect

_ORDER = {type_: at for at, type_ in enumerate(("Ready", *map(str, Aspect), "Paused", "Deleting"))}


def server_rows(listed: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, ...]]:
    """A row for each: namespace, name, readiness, state, addresses and reason."""
    for one in listed:
        meta, status = one["metadata"], one.get("status") or {}
        ready = find(status.get("conditions") or (), "Ready")
        addresses = ", ".join(str(each["address"]) for each in status.get("addresses") or ())
        yield (
            str(meta["namespace"]),
            str(meta["name"]),
            str(ready.get("status") or "Unknown"),
            str(status.get("instanceState") or "-"),
            addresses or "-",
            str(ready.get("reason") or "-"),
        )


def server_facts(one: Mapping[str, Any]) -> Iterator[str]:
    """The lines for one server."""
    meta, status = one["metadata"], one.get("status") or {}
    yield f"{meta['namespace']}/{meta['name']}"
    for title, key in (("instance", "instanceID"), ("provider id", "providerID"), ("state", "instanceState")):
        if status.get(key):
            yield f"  {title}: {status[key]}"
    for each in status.get("addresses") or ():
        yield f"  {each['type']}: {each['address']}"


def condition_rows(status: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    """A row for each condition: Ready, and then in the order of creation."""
    listed = status.get("conditions") or ()
    for entry in sorted(listed, key=lambda one: _ORDER.get(one["type"], len(_ORDER))):
        yield (
            str(entry["type"]),
            str(entry["status"]),
            str(entry.get("reason") or ""),
            str(entry.get("message") or ""),
        )


def resource_rows(status: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    """A row for each thing in OpenStack."""
    for kind, listed in (status.get("resources") or {}).items():
        for one in listed:
            yield kind, str(one["name"]), str(one.get("id") or "requested, its id is not known yet")
