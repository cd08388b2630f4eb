"""The account that may only read: its name, its Secrets, and the clouds.yaml that others get. Pure.

It has the role `reader` of the whole system, by which Keystone answers. Services such as Nova know no rights
of the whole system; there it reads with the same role in the administrator's project
(https://docs.openstack.org/keystone/latest/admin/service-api-protection.html). That has to be asked for: who
is in a project may more than who is in none.
"""

from __future__ import annotations

from typing import Any

import yaml

from controller.domain.credentials.clouds_yaml import CA_FILE, CLOUD, Administrator
from controller.domain.credentials.rotation.accounts import Account, Release, Server
from controller.domain.values.catalogue import CredentialSecret
from controller.domain.values.chart_values import secret_ref
from controller.domain.values.template_functions import ACCOUNT_SUFFIX

READER_SERVICE = "read-only-account"
READER_CREDENTIALS = f"{READER_SERVICE}-credentials"
READER_PASSWORD = "reader-password"  # noqa: S105 - a name
# What the names of these accounts begin with; another one takes the place of each.
READER_PREFIX = "osctl-reader"
READER_ROLE = "reader"
# The same account with its rights of the whole system.
SYSTEM_CLOUD = "system"


def reader_credentials() -> CredentialSecret:
    """What is generated for it."""
    return CredentialSecret(READER_CREDENTIALS, READER_SERVICE, {READER_PASSWORD: "password"})


def reader_account(admin: Administrator, suffix: str) -> Account:
    """The account whose name ends so, in the administrator's domain."""
    domain = admin.account["user_domain_name"]
    return Account(Server.KEYSTONE, f"{READER_PREFIX}{suffix}", "keystone", "identity", domain)


def reader_release() -> Release:
    """The account as a release would have it that uses it, for what is told of rotations."""
    account = {
        "username": secret_ref(READER_CREDENTIALS, ACCOUNT_SUFFIX, READER_PREFIX),
        "password": secret_ref(READER_CREDENTIALS, READER_PASSWORD),
    }
    return Release("", "", {"endpoints": {"identity": {"auth": {READER_SERVICE: account}}}})


def reader_mark(namespace: str, region: str) -> str:
    """By which an account is known as one that was made for this region."""
    return f"{namespace}/{region}"


def reader_clouds(admin: Administrator, account: Account, password: str, *, in_project: bool) -> str:
    """The clouds.yaml: by the address for clients outside the cluster where there is one, with the
    rights of the whole system, and by default with those in the project where it has them. It holds the
    password."""
    public = bool(admin.public_url)
    authority = admin.public_ca if public else admin.ca
    user = {
        "auth_url": admin.public_url or admin.auth_url,
        "username": account.name,
        "user_domain_name": account.domain,
        "password": password,
    }
    project = {key: admin.account[key] for key in ("project_name", "project_domain_name")}
    common: dict[str, Any] = {
        "region_name": admin.account["region_name"],
        "interface": "public" if public else "internal",
        "identity_api_version": 3,
    }
    common |= {"cacert": CA_FILE} if authority is not None else {}
    system = {"system_scope": "all"}
    scopes = {CLOUD: project if in_project else system, SYSTEM_CLOUD: system}
    clouds = {name: {"auth": {**user, **scope}, **common} for name, scope in scopes.items()}
    return yaml.safe_dump({"clouds": clouds}, sort_keys=False, allow_unicode=True)
