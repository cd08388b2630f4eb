"""The addresses of the servers of accounts, and their administrators, from the values of a release.

Pure. Missing values are OpenStack-Helm's own defaults, as everywhere (nova/values.yaml, endpoints).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from controller.domain.credentials.clouds_yaml import (
    Administrator,
    KeyOfSecret,
    administrator,
    internal_host,
    reference_of,
)
from controller.domain.credentials.rotation.accounts import (
    ADMINISTRATORS,
    SERVICE_DOMAIN,
    Account,
    Release,
    Server,
    server_at,
)

_PORTS = {Server.DATABASE: ("mysql", 3306), Server.BROKER: ("http", 15672)}
_HOSTS = {Server.DATABASE: "mariadb", Server.BROKER: "rabbitmq"}
_ADMINISTRATORS = {Server.DATABASE: "root", Server.BROKER: "rabbitmq"}
_ENCRYPTED_PORTS = {Server.DATABASE: ("mysql", 3306), Server.BROKER: ("https", 15680)}
_ENDPOINTS = {Server.DATABASE: "oslo_db", Server.BROKER: "oslo_messaging"}


@dataclass(frozen=True)
class ServerPlace:
    """The address of a server, and its administrator.

    `keystone` has both for Keystone. `client` names the Secret with the client certificate and the trusted
    authority; empty without TLS. `certified` is the name in the server's certificate, if it is not `host`.
    """

    server: Server
    host: str = ""
    port: int = 0
    user: str = ""
    password: KeyOfSecret | str = field(default="", repr=False)
    keystone: Administrator | None = None
    client: str = ""
    certified: str = ""

    @property
    def shown(self) -> str:
        """How messages name it."""
        return self.keystone.auth_url if self.keystone else f"{self.host}:{self.port}"


def server_of(account: Account, release: Release, namespace: str) -> ServerPlace | None:
    """The server of the account; None if the values name no administrator with a password."""
    values = release.values
    if account.server == Server.KEYSTONE:
        admin = administrator(values, namespace)
        if admin is None:
            return None
        return ServerPlace(account.server, password=admin.password, keystone=admin)
    return _place(account.server, release, account.endpoint, "admin", namespace)


def broker_of(release: Release, namespace: str) -> ServerPlace | None:
    """The broker that is this release; None if its values name no administrator with a password."""
    return _place(Server.BROKER, release, _ENDPOINTS[Server.BROKER], "user", namespace)


def _place(
    server: Server, release: Release, endpoint_name: str, user: str, namespace: str
) -> ServerPlace | None:
    endpoints = _part(release.values, "endpoints")
    endpoint = _part(endpoints, endpoint_name)
    admin_account = _part(_part(endpoint, "auth"), user)
    password = reference_of(admin_account.get("password"))
    if password is None:
        return None
    client = _client_secret(server, release)
    named, port = (_ENCRYPTED_PORTS if client else _PORTS)[server]
    given = _part(_part(endpoint, "port"), named)
    hosts = {"default": _HOSTS[server], **_part(endpoint, "hosts")}
    return ServerPlace(
        server,
        internal_host({**endpoint, "hosts": hosts}, endpoints, namespace),
        int(given.get("internal") or given.get("default") or port),
        str(admin_account.get("username") or _ADMINISTRATORS[server]),
        password,
        client=client,
    )


@dataclass(frozen=True)
class KeptAccount:
    """An account that keeps its name and gets a new password: the administrator of the server, or
    otherwise `account`.
    """

    place: ServerPlace
    account: Account | None = None

    @property
    def shown(self) -> str:
        """How messages name it."""
        who = f"account {self.account.name}" if self.account else "the administrator"
        return f"{who} at {self.place.shown}"


def kept_accounts(
    password: KeyOfSecret, releases: Iterable[Release], namespace: str
) -> tuple[KeptAccount, ...]:
    """The administrators, and other accounts of Keystone, that have this password, each once."""
    found: dict[str, KeptAccount] = {}
    for release in releases:
        for endpoint, settings in _part(release.values, "endpoints").items():
            server = server_at(str(endpoint))
            if server is None:
                continue
            place = server_of(Account(server, "", release.name, str(endpoint)), release, namespace)
            if place is None:
                continue
            kept = [KeptAccount(place)] if place.password == password else []
            if server == Server.KEYSTONE:
                kept += [
                    KeptAccount(place, one) for one in _named(settings, password, release, str(endpoint))
                ]
            for one in kept:
                found.setdefault(f"{server} {one.shown}", one)
    return tuple(found.values())


def _named(
    settings: Mapping[str, Any], password: KeyOfSecret, release: Release, endpoint: str
) -> Iterator[Account]:
    """Accounts with this password whose names are literal in the values."""
    for user, given in _part(settings, "auth").items():
        if user in ADMINISTRATORS or not isinstance(given, Mapping):
            continue
        name = given.get("username")
        if isinstance(name, str) and name and reference_of(given.get("password")) == password:
            domain = str(given.get("user_domain_name") or given.get("domain_name") or SERVICE_DOMAIN)
            yield Account(Server.KEYSTONE, name, release.name, endpoint, domain)


def is_closed(account: Account, release: Release) -> bool:
    """Whether the server accepts only clients with a certificate, and we have none."""
    key = _ENDPOINTS.get(account.server)
    encrypted = bool(key and _part(release.values, "tls").get(key))
    return encrypted and not _client_secret(account.server, release)


def _client_secret(server: Server, release: Release) -> str:
    """The Secret with the certificate of the region's own authority that the release, or the server
    itself, presents; or empty.
    """
    values, key = release.values, _ENDPOINTS.get(server, "")
    secrets = _part(_part(values, "secrets"), "tls")
    if _part(values, "tls").get(key):
        shown = _part(secrets, "client").get(release.chart)
        return shown if isinstance(shown, str) else ""
    issued = _part(_part(_part(values, "endpoints"), key), "host_fqdn_override")
    if issued or not _part(values, "manifests").get("certificates"):
        return ""
    return str(_part(_part(secrets, key), "server").get("internal") or "")


def _part(value: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = value.get(key)
    return found if isinstance(found, Mapping) else {}
