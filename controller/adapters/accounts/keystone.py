"""Accounts of a Keystone (https://docs.openstack.org/api-ref/identity/v3/)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from controller.adapters.accounts.json_api import Answer, JsonApi
from controller.domain.credentials.clouds_yaml import Administrator
from controller.domain.credentials.rotation.accounts import Account
from controller.errors import PasswordRefused, RightRefused, ServerUnavailable
from controller.ports.accounts import ServerLogin

_INHERITED = "OS-INHERIT:inherited_to"
# An option of accounts (https://docs.openstack.org/keystone/latest/admin/resource-options.html).
_NEVER_LOCKED = "ignore_lockout_failure_attempts"
# Of a password, and of an account.
REFUSALS = (400, 403)
# A role, a group or its target is gone, or may not be granted.
_NOT_GIVEN = (400, 403, 404, 409)
_BY_US = "osctl_never_locked"


class KeystoneAccounts:
    """`controller.ports.accounts.AccountServers` and `NamedAccounts`, for Keystone."""

    def has(self, login: ServerLogin, account: Account) -> bool:
        return _user_id(authenticated(login), account) is not None

    def belongings(self, login: ServerLogin, account: Account) -> tuple[str, ...]:
        api = authenticated(login)
        user = _user_id(api, account)
        if user is None:
            return ()
        owned = api.get(f"/users/{user}/application_credentials") or {}
        given = api.get("/OS-TRUST/trusts", trustor_user_id=user) or {}
        taken = api.get("/OS-TRUST/trusts", trustee_user_id=user) or {}
        kept = api.get("/credentials", user_id=user) or {}
        counts = {
            "application credentials": len(owned.get("application_credentials") or ()),
            "trusts": len(given.get("trusts") or ()) + len(taken.get("trusts") or ()),
            "credentials such as EC2 keys": len(kept.get("credentials") or ()),
        }
        return tuple(f"{count} {what}" for what, count in counts.items() if count)

    def sessions(self, login: ServerLogin, account: Account) -> int:
        """0, because Keystone has no connections."""
        return 0

    def copy_grants(self, login: ServerLogin, before: Account, after: Account) -> None:
        api = authenticated(login)
        old, new = _user_id(api, before), _user_id(api, after)
        if old is None or new is None:
            return
        there, refused = {*assigned_places(api, new), *_memberships(api, new)}, []
        for path in (*assigned_places(api, old), *_memberships(api, old)):
            if path in there:
                continue
            if api.call("PUT", path.format(user=new), also=_NOT_GIVEN).status in _NOT_GIVEN:
                refused.append(path.format(user=new))
        if refused:
            text = (
                f"Keystone does not grant account {after.name} all roles and groups of account {before.name}"
            )
            way = f"remove them from user {old}"
            paths = "; ".join(f"PUT {path}" for path in refused)
            raise RightRefused(f"{text}, at {login.place.shown}; {way}, or grant them yourself: {paths}")
        given, own = _options(api, old), _options(api, new)
        more = {name: value for name, value in given.items() if name not in own}
        if more:
            api.call("PATCH", f"/users/{new}", body={"user": {"options": more}})

    def add_password(self, login: ServerLogin, password: str) -> None:
        """Pods with the former password fail with it until they are replaced, which is enough to lock the
        account for all. So failed logins do not count meanwhile (option
        `ignore_lockout_failure_attempts`). The same write records in the account that this was us.
        """
        session = _session(login)
        if session is None:
            authenticated(replace(login, password=password))
            return
        _change_password(session.api, session.user, login, password)

    def accepts(self, login: ServerLogin) -> bool:
        return _session(login) is not None

    def drop_other_passwords(self, login: ServerLogin) -> None:
        session = _session(login)
        if session is None:
            raise ServerUnavailable(f"Keystone at {login.place.shown} refuses its administrator")
        _restore_lockout(session.api, session.user)

    def give_password(self, login: ServerLogin, account: Account, password: str) -> None:
        """As `add_password`.

        Keystone may refuse a password that the account has had before, also this one.
        """
        api = authenticated(login)
        user = _user_id(api, account)
        if user is not None and not accepts_password(login, user, password):
            _change_password(api, user, login, password)

    def has_password(self, login: ServerLogin, account: Account, password: str) -> bool:
        user = _user_id(authenticated(login), account)
        return user is not None and accepts_password(login, user, password)

    def restore_lockout(self, login: ServerLogin, account: Account) -> None:
        api = authenticated(login)
        user = _user_id(api, account)
        if user is not None:
            _restore_lockout(api, user)

    def drop(self, login: ServerLogin, account: Account) -> None:
        api = authenticated(login)
        user = _user_id(api, account)
        if user is not None:
            api.call("DELETE", f"/users/{user}", also=(404,))


@dataclass(frozen=True)
class _Session:
    """The API with a token, and the id of the token's user."""

    api: JsonApi
    user: str


def authenticated(login: ServerLogin) -> JsonApi:
    """The API as the administrator. Raises ServerUnavailable."""
    session = _session(login)
    if session is None:
        raise ServerUnavailable(f"Keystone at {login.place.shown} refuses its administrator")
    return session.api


def _session(login: ServerLogin) -> _Session | None:
    """None where the administrator is refused. Raises ServerUnavailable."""
    admin = _administrator(login)
    account = admin.account
    user = {
        "name": account["username"],
        "domain": {"name": account["user_domain_name"]},
        "password": login.password,
    }
    scope = {"project": {"name": account["project_name"], "domain": {"name": account["project_domain_name"]}}}
    answer = _ask_for_token(login, user, scope=scope)
    if answer.status == 401:
        return None
    token = next((text for name, text in answer.headers.items() if name.lower() == "x-subject-token"), "")
    who = ((answer.content or {}).get("token") or {}).get("user") or {}
    return _Session(JsonApi(admin.auth_url, headers={"X-Auth-Token": token}, ca=login.ca), str(who.get("id")))


def accepts_password(login: ServerLogin, user: str, password: str) -> bool:
    """Whether the account with this id is disabled. Raises ServerUnavailable."""
    return _ask_for_token(login, {"id": user, "password": password}).status != 401


def _ask_for_token(login: ServerLogin, user: Mapping[str, Any], **more: Any) -> Answer:
    """Keystone's answer to the password of a user; status 401 refuses it."""
    identity = {"methods": ["password"], "password": {"user": user}}
    body = {"auth": {"identity": identity, **more}}
    api = JsonApi(_administrator(login).auth_url, ca=login.ca)
    return api.call("POST", "/auth/tokens", body=body, also=(401,))


def _administrator(login: ServerLogin) -> Administrator:
    if login.place.keystone is None:
        raise ServerUnavailable("the administrator of Keystone is not known")
    return login.place.keystone


def _change_password(api: JsonApi, user: str, login: ServerLogin, password: str) -> None:
    """Also suspends the lock by failed logins; the same write records that this was us."""
    path = f"/users/{user}"
    known = (api.get(path) or {}).get("user") or {}
    change: dict[str, Any] = {"password": password}
    if not (known.get("options") or {}).get(_NEVER_LOCKED):
        change |= {"options": {_NEVER_LOCKED: True}, _BY_US: True}
    # Because of its rules for passwords, or because its users are in an LDAP.
    if api.call("PATCH", path, body={"user": change}, also=REFUSALS).status in REFUSALS:
        raise PasswordRefused(f"Keystone at {login.place.shown} refuses a password change")


def change_account(api: JsonApi, user: str, change: Mapping[str, Any]) -> None:
    """Sets these fields of the account, and leaves the rest."""
    api.call("PATCH", f"/users/{user}", body={"user": dict(change)})


def _restore_lockout(api: JsonApi, user: str) -> None:
    path = f"/users/{user}"
    if ((api.get(path) or {}).get("user") or {}).get(_BY_US):
        change = {"options": {_NEVER_LOCKED: None}, _BY_US: None}
        api.call("PATCH", path, body={"user": change})


def _user_id(api: JsonApi, account: Account) -> str | None:
    domains = (api.get("/domains", name=account.domain) or {}).get("domains") or ()
    for domain in domains:
        users = api.get("/users", name=account.name, domain_id=str(domain["id"])) or {}
        for user in users.get("users") or ():
            # A database may compare names without regard to case.
            if user["name"] == account.name:
                return str(user["id"])
    return None


def assigned_places(api: JsonApi, user: str) -> Iterator[str]:
    """The path of each role of the user, with {user} for the user."""
    listed = api.get("/role_assignments", **{"user.id": user}) or {}
    for one in listed.get("role_assignments") or ():
        path = _place(one.get("scope") or {}, str(one["role"]["id"]))
        if path:
            yield path


def _memberships(api: JsonApi, user: str) -> Iterator[str]:
    """The path of each group membership of the user, with {user} for the user."""
    for one in (api.get(f"/users/{user}/groups") or {}).get("groups") or ():
        yield f"/groups/{one['id']}/users/{{user}}"


def _options(api: JsonApi, user: str) -> Mapping[str, Any]:
    """Such as that its password does not expire."""
    found: Mapping[str, Any] = ((api.get(f"/users/{user}") or {}).get("user") or {}).get("options") or {}
    return found


def _place(scope: Mapping[str, Any], role: str) -> str:
    kind = next((kind for kind in ("project", "domain") if kind in scope), "")
    if kind and scope.get(_INHERITED):
        return f"/OS-INHERIT/{kind}s/{scope[kind]['id']}/users/{{user}}/roles/{role}/inherited_to_projects"
    if kind:
        return f"/{kind}s/{scope[kind]['id']}/users/{{user}}/roles/{role}"
    return f"/system/users/{{user}}/roles/{role}" if "system" in scope else ""
