"""Answers of OpenStack whose entries are not as they should be: nothing is known then, and nothing breaks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, cast

import pytest

from controller.adapters.openstack.calls import CloudCalls
from controller.adapters.openstack.client import OpenStackCloud
from controller.errors import CloudUnavailable


class _Calls:
    """Gives the same answer to every read."""

    def __init__(self, name: str, entry: Any) -> None:
        self._answer = {"services": [], name: [entry]}

    def get(self, service: str, path: str, desired: Any = None, microversion: str = "") -> Any:
        return self._answer

    def pages(
        self, service: str, path: str, name: str, desired: Any, microversion: str, *, key: str = "id"
    ) -> Iterator[Any]:
        return iter(self._answer[name])


LISTS: dict[str, tuple[str, dict[str, Any], Callable[[OpenStackCloud], Any]]] = {
    "compute": ("services", {"id": "1", "binary": "nova-compute"}, OpenStackCloud.compute_services),
    "agents": ("agents", {"id": "1"}, OpenStackCloud.network_agents),
    "volumes": ("services", {"binary": "cinder-volume"}, OpenStackCloud.volume_services),
    "hypervisors": ("hypervisors", {"id": "1", "service": None}, OpenStackCloud.hypervisors),
    "aggregates": ("aggregates", {"id": "one", "name": "a"}, OpenStackCloud.aggregates),
    "migrations": ("migrations", {"id": 1}, lambda cloud: cloud.migrations("server")),
    "servers": ("servers", {"id": "1", "flavor": {"ram": "much"}}, lambda cloud: cloud.servers_on("cmp1")),
}


@pytest.mark.parametrize("what", LISTS)
def test_an_entry_without_what_it_should_have_makes_the_list_unknown(what: str) -> None:
    name, entry, ask = LISTS[what]
    with pytest.raises(CloudUnavailable, match="an entry of the answer"):
        ask(OpenStackCloud(cast(CloudCalls, _Calls(name, entry))))


@pytest.mark.parametrize("what", ["compute", "agents", "volumes", "aggregates"])
def test_an_entry_that_is_no_object_makes_the_list_unknown(what: str) -> None:
    name, _, ask = LISTS[what]
    with pytest.raises(CloudUnavailable, match="an entry of the answer cannot be read"):
        ask(OpenStackCloud(cast(CloudCalls, _Calls(name, "broken"))))


def test_the_state_of_a_server_is_reported_beside_what_is_done_to_it() -> None:
    entry = {
        "id": "1",
        "status": "HARD_REBOOT",
        "OS-EXT-STS:vm_state": "active",
        "OS-EXT-STS:task_state": "rebooting_hard",
    }
    [found] = OpenStackCloud(cast(CloudCalls, _Calls("servers", entry))).servers_on("cmp1")
    assert (found.state, found.task, found.status) == ("active", "rebooting_hard", "HARD_REBOOT")


class _Catalogue:
    """A Keystone that several regions share."""

    interface = "internal"

    def __init__(self, region: str) -> None:
        self.region = region

    def get(self, *_: Any) -> Any:
        def endpoint(region: str, interface: str = "internal") -> dict[str, str]:
            url = f"http://{region}.{interface}"
            return {"region": region, "region_id": region, "interface": interface, "url": url}

        listed = [endpoint("one"), endpoint("one", "public"), endpoint("two")]
        return {"catalog": [{"type": "compute", "endpoints": listed}]}


@pytest.mark.parametrize(
    ("region", "urls"),
    [("one", ["http://one.internal"]), ("", ["http://one.internal", "http://two.internal"])],
)
def test_endpoints_are_those_of_the_region_that_the_credentials_name(region: str, urls: list[str]) -> None:
    cloud = OpenStackCloud(cast(CloudCalls, _Catalogue(region)))
    assert [one.url for one in cloud.endpoints()] == urls
