"""Accounts of a RabbitMQ, through its management API (https://www.rabbitmq.com/docs/http-api-reference)."""

from __future__ import annotations

from dataclasses import replace
from urllib.parse import quote

from controller.adapters.accounts.client_tls import client_context
from controller.adapters.accounts.json_api import JsonApi
from controller.domain.credentials.rotation.accounts import Account
from controller.errors import PasswordRefused
from controller.ports.accounts import ServerLogin

_REFUSALS = (400, 403, 405)
# The rights of an account: the kind, its fields, and the fields that identify it.
_RIGHTS = (
    ("permissions", ("configure", "write", "read"), ("vhost",)),
    ("topic-permissions", ("exchange", "write", "read"), ("vhost", "exchange")),
)


class BrokerAccounts:
    """`controller.ports.accounts.AccountServers`, for brokers."""

    def has(self, login: ServerLogin, account: Account) -> bool:
        return broker_api(login).get(f"/users/{_part(account.name)}") is not None

    def belongings(self, login: ServerLogin, account: Account) -> tuple[str, ...]:
        broker_api(login).call("GET", "/whoami")
        return ()

    def sessions(self, login: ServerLogin, account: Account) -> int:
        listed = broker_api(login).call("GET", "/connections", params={"columns": "user"}).content or ()
        return sum(1 for one in listed if one.get("user") == account.name)

    def copy_grants(self, login: ServerLogin, before: Account, after: Account) -> None:
        api = broker_api(login)
        if api.get(f"/users/{_part(after.name)}") is None:
            return
        for kind, fields, names in _RIGHTS:
            listed = [api.get(f"/users/{_part(one.name)}/{kind}") or () for one in (before, after)]
            there = {tuple(one[field] for field in names) for one in listed[1]}
            for one in listed[0]:
                if tuple(one[field] for field in names) not in there:
                    path = f"/{kind}/{_part(one['vhost'])}/{_part(after.name)}"
                    api.call("PUT", path, body={field: one[field] for field in fields})

    def add_password(self, login: ServerLogin, password: str) -> None:
        place, following = login.place, replace(login, password=password)
        if not self.accepts(login):
            broker_api(following).call("GET", "/whoami")
            return
        path = f"/users/{_part(place.user)}"
        tags = (broker_api(login).get(path) or {}).get("tags") or "administrator"
        tags = tags if isinstance(tags, str) else ",".join(tags)
        body = {"password": password, "tags": tags}
        if broker_api(login).call("PUT", path, body=body, also=_REFUSALS).status in _REFUSALS:
            raise PasswordRefused(f"the broker at {place.shown} refuses a password change")

    def accepts(self, login: ServerLogin) -> bool:
        return broker_api(login).call("GET", "/whoami", also=(401,)).status != 401

    def drop_other_passwords(self, login: ServerLogin) -> None:
        broker_api(login).call("GET", "/whoami")

    def drop(self, login: ServerLogin, account: Account) -> None:
        broker_api(login).call("DELETE", f"/users/{_part(account.name)}", also=(404,))


def broker_api(login: ServerLogin) -> JsonApi:
    """The management API of the login. Raises ServerUnavailable for unreadable certificates."""
    place = login.place
    host = f"[{place.host}]" if ":" in place.host else place.host
    if not place.client:
        return JsonApi(f"http://{host}:{place.port}/api", login=(place.user, login.password))
    context = client_context(login)
    url = f"https://{host}:{place.port}/api"
    return JsonApi(url, login=(place.user, login.password), context=context, certified=place.certified)


def _part(name: str) -> str:
    return quote(name, safe="")
