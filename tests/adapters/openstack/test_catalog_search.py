"""What an OpenStackServer refers to is what its project may use, also for an administrator."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from controller.adapters.openstack.calls import CloudCalls, Login
from controller.adapters.openstack.catalog_search import CatalogSearch
from controller.adapters.system.clock import SystemClock
from controller.adapters.system.randomness import SystemRandomness
from controller.domain.servers.server_spec import Reference
from controller.ports.servers import Catalog

OWN, STRANGER, OPERATOR = "project-1", "stranger", "operator"
NAMED = Reference(query={"name": "wanted"})


def network(id_: str, project: str, **more: Any) -> dict[str, Any]:
    return {"id": id_, "name": "wanted", "project_id": project, "shared": False, **more}


def image(id_: str, owner: str, visibility: str) -> dict[str, Any]:
    return {"id": id_, "name": "wanted", "owner": owner, "visibility": visibility}


class Calls(CloudCalls):
    """Lists as Neutron and Glance give them to an administrator: of all projects, by what is asked."""

    def __init__(self, **lists: list[dict[str, Any]]) -> None:
        super().__init__({}, SystemClock(), SystemRandomness())
        self.lists = lists
        self.members: dict[str, list[dict[str, str]]] = {}

    def login(self) -> Login:
        return Login("user", OWN, "default", frozenset())

    def get(
        self, service: str, path: str, params: Mapping[str, Any] | None = None, microversion: str = ""
    ) -> Any:
        if path.endswith("/members"):
            return {"members": self.members.get(path.split("/")[2], [])}
        name = path.strip("/").replace("-", "_")
        given = {key: value for key, value in (params or {}).items() if key != "member_status"}
        return {name: [one for one in self.lists.get(name, []) if self._fits(one, given)]}

    @staticmethod
    def _fits(one: Mapping[str, Any], query: Mapping[str, Any]) -> bool:
        return all(str(one.get(key)).removeprefix("in:") == str(value) for key, value in query.items())


def found(calls: Calls, catalog: Catalog, reference: Reference = NAMED, network: str = "") -> tuple[str, ...]:
    return CatalogSearch(calls).find(catalog, reference, network=network)


@pytest.mark.parametrize("theirs", [{}, {"shared": True}, {"router:external": True}], ids=str)
def test_the_own_network_is_found_whatever_others_call_theirs(theirs: dict[str, Any]) -> None:
    listed = [network("theirs", STRANGER, **theirs), network("ours", OWN)]
    assert found(Calls(networks=listed), Catalog.NETWORK) == ("ours",)


def test_a_network_that_another_project_keeps_to_itself_is_not_found() -> None:
    assert found(Calls(networks=[network("theirs", STRANGER)]), Catalog.NETWORK) == ()


def test_a_network_that_is_shared_with_all_is_found() -> None:
    listed = [network("theirs", STRANGER), network("common", OPERATOR, shared=True)]
    assert found(Calls(networks=listed), Catalog.NETWORK) == ("common",)


def test_a_floating_ip_comes_from_an_external_network_alone() -> None:
    listed = [
        network("ours", OWN),
        network("theirs", STRANGER),
        network("public", OPERATOR, **{"router:external": True}),
    ]
    assert found(Calls(networks=listed), Catalog.EXTERNAL_NETWORK) == ("public",)


@pytest.mark.parametrize("reference", [Reference(id="theirs"), Reference(query={"projectID": STRANGER})])
def test_an_id_and_a_named_project_are_taken_as_they_are(reference: Reference) -> None:
    listed = [network("ours", OWN), network("theirs", STRANGER)]
    assert found(Calls(networks=listed), Catalog.NETWORK, reference) == ("theirs",)


def test_a_security_group_is_always_the_projects_own() -> None:
    assert (
        found(Calls(security_groups=[network("theirs", STRANGER, shared=True)]), Catalog.SECURITY_GROUP) == ()
    )


THEIRS = network("net-theirs", STRANGER)
COMMON = network("net-common", OPERATOR, shared=True)
OURS = network("net-ours", OWN)


@pytest.mark.parametrize(
    ("its_network", "project", "chosen", "expected"),
    [
        pytest.param(THEIRS, STRANGER, "", (), id="in a network of others"),
        pytest.param(COMMON, OPERATOR, "", ("subnet",), id="in a network for all"),
        pytest.param(OURS, OPERATOR, "", ("subnet",), id="of others in our network"),
        pytest.param(THEIRS, STRANGER, "net-theirs", ("subnet",), id="in a network that was chosen"),
    ],
)
def test_a_subnet_counts_by_its_network(
    its_network: dict[str, Any], project: str, chosen: str, expected: tuple[str, ...]
) -> None:
    subnet = network("subnet", project, network_id=its_network["id"])
    calls = Calls(networks=[its_network], subnets=[subnet])
    assert found(calls, Catalog.SUBNET, network=chosen) == expected


def test_the_own_image_is_found_before_a_public_one_and_no_strangers() -> None:
    listed = [image("theirs", STRANGER, "private"), image("public", OPERATOR, "public")]
    assert found(Calls(images=listed), Catalog.IMAGE) == ("public",)
    assert found(Calls(images=[*listed, image("ours", OWN, "private")]), Catalog.IMAGE) == ("ours",)
    assert found(Calls(images=[listed[0]]), Catalog.IMAGE) == ()


@pytest.mark.parametrize(
    ("member", "status", "expected"),
    [(OWN, "accepted", ("shared",)), (OWN, "pending", ()), ("third", "accepted", ())],
)
def test_an_image_of_others_counts_once_the_project_has_accepted_it(
    member: str, status: str, expected: tuple[str, ...]
) -> None:
    calls = Calls(images=[image("shared", STRANGER, "shared")])
    calls.members["shared"] = [{"member_id": member, "status": status}]
    assert found(calls, Catalog.IMAGE) == expected
