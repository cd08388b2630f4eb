"""Accounts of a Keystone that may only read (https://docs.openstack.org/api-ref/identity/v3/).

Each grant is recorded in the account before it is made, so that grants of others can be distinguished later.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from controller.adapters.accounts.json_api import JsonApi
from controller.adapters.accounts.keystone import (
    REFUSALS,
    accepts_password,
    assigned_places,
    authenticated,
    change_account,
)
from controller.domain.credentials.readers import READER_ROLE
from controller.domain.credentials.rotation.accounts import Account
from controller.errors import PasswordRefused, ServerUnavailable
from controller.ports.accounts import ReaderFound, ServerLogin

_MARK, _GIVEN = "osctl_reader_of", "osctl_reader_given"
# https://docs.openstack.org/keystone/latest/admin/resource-options.html: users of the password may not change
# it, because others use it too; and failed logins under a known name cannot lock the account.
_OPTIONS = {
    "lock_password": True,
    "ignore_password_expiry": True,
    "ignore_change_password_upon_first_use": True,
    "ignore_lockout_failure_attempts": True,
}
_DESCRIPTION = "May only read. Made by the OpenStack Controller (spec.features.readOnlyAccount)."


class KeystoneReaders:
    """`controller.ports.accounts.ReaderAccounts`."""

    def ensure_reader(
        self, login: ServerLogin, account: Account, password: str, mark: str, *, project: bool
    ) -> ReaderFound:
        api = authenticated(login)
        there = _find(api, login, account)
        user = there or _create(api, login, account, password, mark)
        if user.get(_MARK) != mark:
            return ReaderFound(foreign=True)
        if not user.get("enabled", True):
            return ReaderFound(disabled=True)
        lacking = {key: on for key, on in _OPTIONS.items() if (user.get("options") or {}).get(key) != on}
        if lacking:
            change_account(api, str(user["id"]), {"options": lacking})
        _ensure_password(api, login, str(user["id"]), password)
        return ReaderFound(made=there is None, others=_ensure_roles(api, login, user, project=project))

    def drop_readers(
        self, login: ServerLogin, domain: str, prefix: str, mark: str, keep: Collection[str]
    ) -> tuple[str, ...]:
        api = authenticated(login)
        listed = api.get("/users", name__startswith=prefix, domain_id=_domain(api, login, domain)) or {}
        dropped = []
        for user in listed.get("users") or ():
            name = str(user["name"])
            if name.startswith(prefix) and user.get(_MARK) == mark and name not in keep:
                api.call("DELETE", f"/users/{user['id']}", also=(404,))
                dropped.append(name)
        return tuple(sorted(dropped))


def _find(api: JsonApi, login: ServerLogin, account: Account) -> Mapping[str, Any] | None:
    domain = _domain(api, login, account.domain)
    users = (api.get("/users", name=account.name, domain_id=domain) or {}).get("users") or ()
    # A database may compare names without regard to case: such an account blocks the name as well.
    return next(iter(users), None)


def _create(
    api: JsonApi, login: ServerLogin, account: Account, password: str, mark: str
) -> Mapping[str, Any]:
    user = {
        "name": account.name,
        "domain_id": _domain(api, login, account.domain),
        "description": _DESCRIPTION,
        "password": password,
        "options": _OPTIONS,
        _MARK: mark,
    }
    answer = api.call("POST", "/users", body={"user": user}, also=REFUSALS)
    if answer.status in REFUSALS:
        raise PasswordRefused(f"Keystone at {login.place.shown} does not create account {account.name}")
    made: Mapping[str, Any] = answer.content["user"]
    return made


def _ensure_password(api: JsonApi, login: ServerLogin, user: str, password: str) -> None:
    if accepts_password(login, user, password):
        return
    change = {"user": {"password": password}}
    if api.call("PATCH", f"/users/{user}", body=change, also=REFUSALS).status in REFUSALS:
        raise PasswordRefused(f"Keystone at {login.place.shown} refuses a password change")
    if not accepts_password(login, user, password):
        raise ServerUnavailable(f"Keystone at {login.place.shown} refuses the account with a new password")


def _ensure_roles(api: JsonApi, login: ServerLogin, user: Mapping[str, Any], *, project: bool) -> int:
    """The number of further grants, which others have made."""
    name = str(user["id"])
    wanted = _wanted(api, login, project=project)
    there = tuple(assigned_places(api, name))
    noted = [place for place in user.get(_GIVEN) or () if isinstance(place, str)]
    missing = [place for place in wanted if place not in there]
    noted = _note(api, name, noted, dict.fromkeys((*noted, *missing)))
    for place in missing:
        api.call("PUT", place.format(user=name))
    for place in noted:
        if place in there and place not in wanted:
            api.call("DELETE", place.format(user=name), also=(404,))
    _note(api, name, noted, [place for place in noted if place in wanted])
    groups = (api.get(f"/users/{name}/groups") or {}).get("groups") or ()
    return len(groups) + sum(place not in wanted and place not in noted for place in there)


def _note(api: JsonApi, user: str, before: Sequence[str], given: Collection[str]) -> list[str]:
    if list(given) != list(before):
        change_account(api, user, {_GIVEN: list(given)})
    return list(given)


def _wanted(api: JsonApi, login: ServerLogin, *, project: bool) -> tuple[str, ...]:
    """The path of the role, with {user} for the user."""
    admin = login.place.keystone
    if admin is None:
        raise ServerUnavailable("the administrator of Keystone is not known")
    roles = (api.get("/roles", name=READER_ROLE) or {}).get("roles") or ()
    role = next((one["id"] for one in roles if one["name"] == READER_ROLE and not one.get("domain_id")), None)
    if role is None:
        raise ServerUnavailable(
            f"Keystone at {login.place.shown} has no role {READER_ROLE}; `keystone-manage bootstrap` "
            "creates it"
        )
    system = f"/system/users/{{user}}/roles/{role}"
    if not project:
        return (system,)
    domain = _domain(api, login, admin.account["project_domain_name"])
    named = admin.account["project_name"]
    projects = (api.get("/projects", name=named, domain_id=domain) or {}).get("projects") or ()
    if not projects:
        raise ServerUnavailable(f"Keystone at {login.place.shown} has no project {named}")
    return system, f"/projects/{projects[0]['id']}/users/{{user}}/roles/{role}"


def _domain(api: JsonApi, login: ServerLogin, name: str) -> str:
    found = (api.get("/domains", name=name) or {}).get("domains") or ()
    if not found:
        raise ServerUnavailable(f"Keystone at {login.place.shown} has no domain {name}")
    return str(found[0]["id"])
