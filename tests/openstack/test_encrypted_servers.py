"""MariaDB and RabbitMQ serve TLS with leaves of the region's own authority: who shows one of them and knows
the servers gets in, and no one else.
"""

from __future__ import annotations

import os
import socket
import ssl
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pymysql
import pytest

from controller.adapters.accounts.servers import RealAccountServers
from controller.domain.credentials.rotation.accounts import Account, Release, Server
from controller.domain.credentials.rotation.servers import server_of
from controller.domain.credentials.x509.issued import new_leaf
from controller.domain.credentials.x509.read import Authority, LeafNames
from controller.errors import ServerUnavailable
from controller.ports.accounts import ServerLogin
from sandbox.errors import SandboxError
from sandbox.openstack.series import DEFAULT, HOST, find_series
from tests.fakes.world import FakeRandomness
from tests.openstack.encrypted_servers import (
    CERTS,
    CLIENT_QUERY,
    DOMAIN,
    ROOT,
    ROOT_PASSWORD,
    EncryptedServers,
    encrypted_servers,
    values_of,
)

pytestmark = [pytest.mark.openstack, pytest.mark.slow]
# What keystone's pods mount, and show.
CLIENT = "keystone-tls-api"
DENIED = 1045
ACCOUNTS = RealAccountServers()
ENDPOINTS = {Server.DATABASE: "oslo_db", Server.BROKER: "oslo_messaging"}
BOTH = pytest.mark.parametrize("server", ENDPOINTS)


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EncryptedServers]:
    series = find_series(os.environ.get("OPENSTACK_SERIES") or DEFAULT)
    try:
        with encrypted_servers(series, tmp_path_factory.mktemp("encrypted")) as made:
            yield made
    except SandboxError as error:
        if "this machine has" in str(error):
            pytest.skip(str(error))
        raise


@pytest.fixture(autouse=True)
def names(monkeypatch: pytest.MonkeyPatch) -> None:
    """Services of the region are found on loopback."""
    resolved = socket.getaddrinfo

    def found(host: Any, *arguments: Any, **named: Any) -> Any:
        return resolved(HOST if str(host).endswith(DOMAIN) else host, *arguments, **named)

    monkeypatch.setattr(socket, "getaddrinfo", found)


def login_of(real: EncryptedServers, server: Server) -> ServerLogin:
    """As the secrets container makes it from the values of keystone's release, on the ports of the test."""
    release = Release("keystone", "keystone", values_of(real.region, "keystone"))
    place = server_of(Account(server, "keystone", "keystone", ENDPOINTS[server]), release, "openstack")
    assert place is not None and place.client == CLIENT and place.host.endswith(DOMAIN)
    port, user = {
        Server.DATABASE: (real.port("mariadb"), ROOT),
        Server.BROKER: (real.management, "guest"),
    }[server]
    password = {Server.DATABASE: ROOT_PASSWORD, Server.BROKER: "guest"}[server]
    pair = real.leaf(place.client)
    place = replace(place, port=port, user=user)
    return ServerLogin(place, password, real.authority.anchors, pair.chain, pair.key)


@BOTH
def test_the_controller_administers_accounts_by_what_the_values_name(
    real: EncryptedServers, server: Server
) -> None:
    login = login_of(real, server)
    assert ACCOUNTS.accepts(login)
    assert not ACCOUNTS.accepts(replace(login, password="another"))
    account = Account(server, "keystone", "keystone", ENDPOINTS[server])
    assert ACCOUNTS.has(login, account) == (server == Server.DATABASE)


@BOTH
def test_the_controller_speaks_to_no_server_of_another_authority(
    real: EncryptedServers, server: Server
) -> None:
    login = replace(login_of(real, server), ca=real.stranger.anchors)
    with pytest.raises(ServerUnavailable, match="does not answer"):
        ACCOUNTS.accepts(login)


@BOTH
def test_the_controller_speaks_to_no_server_of_another_name(real: EncryptedServers, server: Server) -> None:
    login = login_of(real, server)
    login = replace(login, place=replace(login.place, host=f"memcached.{DOMAIN}"))
    with pytest.raises(ServerUnavailable, match="does not answer"):
        ACCOUNTS.accepts(login)


def test_another_password_of_root_leaves_the_certificate_demanded(real: EncryptedServers) -> None:
    real.sql(
        "CREATE USER chief@'%' IDENTIFIED BY 'first'",
        "GRANT ALL ON *.* TO chief@'%' REQUIRE X509 WITH GRANT OPTION",
    )
    login = login_of(real, Server.DATABASE)
    login = replace(login, place=replace(login.place, user="chief"), password="first")
    ACCOUNTS.add_password(login, "second")
    ACCOUNTS.drop_other_passwords(replace(login, password="second"))
    assert ACCOUNTS.accepts(replace(login, password="second"))
    assert connected(real, "chief", "second", ca(real.authority)) == DENIED


def test_a_service_gets_in_with_the_options_that_its_release_has(real: EncryptedServers) -> None:
    options = values_of(real.region, "keystone")["conf"]["keystone"]["oslo_messaging_rabbit"]
    place = str(real.certs / CLIENT)
    broker = {key: str(value).replace(CERTS["rabbitmq"], place) for key, value in options.items()}
    query = CLIENT_QUERY.format(certs=place)
    server = f"mariadb.{DOMAIN}:{real.port('mariadb')}"
    done = real.client(f"mysql+pymysql://keystone:of-keystone@{server}/keystone?{query}", broker)
    assert done.stdout.splitlines() == ["database", "broker"], done.stderr[-2000:]


def ca(authority: Authority) -> ssl.SSLContext:
    return ssl.create_default_context(cadata=authority.anchors)


def connected(real: EncryptedServers, user: str, password: str, context: ssl.SSLContext | None) -> int:
    """The error of the database, 0 for none."""
    arguments: dict[str, Any] = {"host": f"mariadb.{DOMAIN}", "port": real.port("mariadb")}
    arguments |= {"ssl": context} if context else {"ssl_disabled": True}
    try:
        pymysql.connect(user=user, password=password, **arguments).close()
    except pymysql.err.OperationalError as error:
        return int(error.args[0])
    return 0


def test_the_database_refuses_who_shows_no_certificate_or_does_not_encrypt(real: EncryptedServers) -> None:
    trusting = ca(real.authority)
    assert connected(real, "keystone", "of-keystone", trusting) == DENIED
    assert connected(real, "keystone", "of-keystone", None) == DENIED
    trusting.load_cert_chain(real.certs / CLIENT / "tls.crt", real.certs / CLIENT / "tls.key")
    assert connected(real, "keystone", "of-keystone", trusting) == 0


def amqp(real: EncryptedServers, context: ssl.SSLContext | None) -> bytes:
    """What the broker answers to someone who wants to speak AMQP; nothing where it hangs up."""
    plain = socket.create_connection((HOST, real.port("rabbit")), 20)
    try:
        wrapped = context.wrap_socket(plain, server_hostname=f"rabbitmq.{DOMAIN}") if context else plain
        wrapped.sendall(b"AMQP\x00\x00\x09\x01")
        return wrapped.recv(64)
    except (ssl.SSLError, ConnectionError):
        return b""
    finally:
        plain.close()


def test_the_broker_has_no_plain_listener_and_refuses_who_shows_no_certificate(
    real: EncryptedServers,
) -> None:
    trusting = ca(real.authority)
    assert b"\x00\x0a\x00\x0a" not in amqp(real, None)
    assert b"\x00\x0a\x00\x0a" not in amqp(real, trusting)
    trusting.load_cert_chain(real.certs / CLIENT / "tls.crt", real.certs / CLIENT / "tls.key")
    # Connection.Start (AMQP 0-9-1: class 10, method 10).
    assert b"\x00\x0a\x00\x0a" in amqp(real, trusting)


def test_the_broker_refuses_a_certificate_of_another_authority(real: EncryptedServers, tmp_path: Any) -> None:
    now = time.time()
    names = LeafNames("keystone", ("keystone",))
    pair = new_leaf(names, now - 300, now + 3600, real.stranger, FakeRandomness(9))
    (tmp_path / "pair.pem").write_text(pair.chain + pair.key)
    context = ca(real.authority)
    context.load_cert_chain(tmp_path / "pair.pem")
    assert b"\x00\x0a\x00\x0a" not in amqp(real, context)
