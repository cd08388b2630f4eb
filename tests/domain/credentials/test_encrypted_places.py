"""Which certificate the controller shows a database or a broker, by the values of a release."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from controller.domain.credentials.rotation.accounts import Account, Release, Server
from controller.domain.credentials.rotation.servers import is_closed, server_of
from tests.render.region import core_spec, render

ENDPOINTS = {Server.DATABASE: "oslo_db", Server.BROKER: "oslo_messaging"}
BOTH = pytest.mark.parametrize("server", ENDPOINTS)
SERVERS = ["database", "messaging"]


def release(name: str, **internal: Any) -> Release:
    features = {"tls": {"internal": {"enabled": bool(internal), **internal}}}
    found = render(core_spec(preset="core", features=features)).release(name)
    assert found is not None
    return Release(name, found.spec.chart.name, found.spec.values)


def place(server: Server, one: Release) -> tuple[str, int, str]:
    found = server_of(Account(server, "", one.name, ENDPOINTS[server]), one, "openstack")
    assert found is not None
    return found.host.partition(".")[0], found.port, found.client


@BOTH
def test_it_is_the_one_of_the_release(server: Server) -> None:
    ports = {Server.DATABASE: ("mariadb", 3306), Server.BROKER: ("rabbitmq", 15680)}
    assert place(server, release("nova", traffic=SERVERS)) == (*ports[server], "nova-client")
    assert place(server, release("nova", traffic=[*SERVERS, "endpoints"]))[2] == "nova-tls-api"


def test_of_the_database_itself_it_is_its_own() -> None:
    assert place(Server.DATABASE, release("mariadb", traffic=SERVERS))[2] == "mariadb-tls-direct"


@BOTH
def test_there_is_none_where_nothing_is_encrypted(server: Server) -> None:
    for one in (release("nova"), release("nova", traffic=["endpoints"])):
        assert place(server, one)[1:] == ({Server.DATABASE: 3306, Server.BROKER: 15672}[server], "")
        assert not is_closed(Account(server, "", "nova", ENDPOINTS[server]), one)


@BOTH
def test_a_server_is_closed_to_us_where_an_issuer_signs(server: Server) -> None:
    account = Account(server, "", "nova", ENDPOINTS[server])
    assert is_closed(account, release("nova", issuer="region-ca", traffic=SERVERS))
    assert not is_closed(account, release("nova", traffic=SERVERS))


@BOTH
@pytest.mark.parametrize("client", [None, "text", [], {"nova": 5}, {"nova": None}])
def test_values_of_another_shape_name_none(server: Server, client: object) -> None:
    values: Mapping[str, Any] = {
        "tls": {"oslo_db": True, "oslo_messaging": True},
        "secrets": {"tls": {"client": client}},
    }
    assert is_closed(Account(server, "", "nova", ENDPOINTS[server]), Release("nova", "nova", values))
