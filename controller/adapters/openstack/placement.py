"""Compute hosts in Placement: part of the port `Cloud`."""

from __future__ import annotations

from controller.adapters.openstack.answers import items_of, read_each
from controller.adapters.openstack.calls import CloudCalls
from controller.errors import CloudUnavailable

PLACEMENT = "1.20"
_PROVIDERS = "/resource_providers"


class Placement:
    """`providers`: the ids of resource providers by host, from Nova's last list of hypervisors.

    Nova calls a provider by the name of its hypervisor, which is that of the host or its domain name.
    """

    def __init__(self, calls: CloudCalls, providers: dict[str, str]) -> None:
        self._calls = calls
        self._providers = providers

    def allocations(self, host: str) -> tuple[str, ...] | None:
        """As in the port."""
        known = self._providers.get(host)
        consumers = self._consumers(known) if known is not None else None
        if consumers is None:
            # A known provider may now belong to another machine with the host's name.
            self._providers.pop(host, None)
            provider = self._named(host)
            consumers = self._consumers(provider) if provider is not None else None
        return consumers

    def delete_allocations(self, consumer: str) -> None:
        self._calls.send("DELETE", "placement", f"/allocations/{consumer}", None, PLACEMENT)

    def delete_provider(self, host: str) -> None:
        """As in the port: the provider of the hypervisor that Nova listed for the host, otherwise by name."""
        provider = self._providers.get(host) or self._named(host)
        if provider is not None:
            self._calls.send("DELETE", "placement", f"{_PROVIDERS}/{provider}", None, PLACEMENT)
        self._providers.pop(host, None)

    def _consumers(self, provider: str) -> tuple[str, ...] | None:
        """The consumers of a provider; None if Placement does not have the provider."""
        path = f"{_PROVIDERS}/{provider}/allocations"
        answer = self._calls.get("placement", path, microversion=PLACEMENT)
        if answer is None:
            return None
        consumers = answer.get("allocations")
        if not isinstance(consumers, dict):
            raise CloudUnavailable(f"{path}: the answer holds no allocations")
        return tuple(sorted(consumers))

    def _named(self, host: str) -> str | None:
        """The provider of a host that Nova does not list, by its name or by its domain name."""
        answer = self._calls.get("placement", _PROVIDERS, {"name": host}, PLACEMENT)
        found = [str(one["uuid"]) for one in items_of(answer, "resource_providers", _PROVIDERS)]
        if found:
            return found[0]
        answer = self._calls.get("placement", _PROVIDERS, None, PLACEMENT)
        listed = items_of(answer, "resource_providers", _PROVIDERS)
        others = set(self._providers.values())
        named = read_each(
            listed, lambda one: (str(one["uuid"]), str(one["name"]), one["root_provider_uuid"]), _PROVIDERS
        )
        found = [
            id_
            for id_, name, root in named
            if root == id_ and id_ not in others and name.partition(".")[0] == host.partition(".")[0]
        ]
        if len(found) > 1:
            raise CloudUnavailable(f"Placement has {len(found)} providers that may belong to {host}")
        return found[0] if found else None
