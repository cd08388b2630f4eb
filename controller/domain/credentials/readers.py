"""The read-only account: its name, its Secrets, and the clouds.yaml for others.

Pure. It has the role `reader` of the whole system, which Keystone accepts. Services such as Nova do not
support system-wide roles; there it reads with the same role in the administrator's project
(https://docs.openstack.org/keystone/latest/admin/service-api-protection.html). The operator must request
that, because a member of a project has more rights.
"""

from __future__ import annotations

from typing import Any

import yaml

from controller.domain.credentials.clouds_yaml import CA_FILE, CLOUD, Administrator
from controller.domain.credentials.rotation.accounts import Account, Release, Server
from controller.domain.values.catalogue import CredentialSecret
from controller.domain.values.chart_values import secret_ref
from controller.domain.values.templates.template_functions import ACCOUNT_SUFFIX

READER_SERVICE = "read-only-account"
READER_CREDENTIALS = f"{READER_SERVICE}-credentials"
READER_PASSWORD = "reader-password"  # noqa: S105 - a name
# The prefix of the names of these accounts; each is replaced by the next.
READER_PREFIX = "osctl-reader"
READER_ROLE = "reader"
# The same account with its rights of the whole system.
SYSTEM_CLOUD = "system"


def reader_credentials() -> CredentialSecret:
    """Its generated credential."""
    return CredentialSecret(READER_CREDENTIALS, READER_SERVICE, {READER_PASSWORD: "password"})


def reader_account(admin: Administrator, suffix: str) -> Account:
    """The account with this suffix, in the administrator's domain."""
    domain = admin.account["user_domain_name"]
    return Account(Server.KEYSTONE, f"{READER_PREFIX}{suffix}", "keystone", "identity", domain)


def reader_release() -> Release:
    """The account in the form of a release's account, for messages about rotations."""
    account = {
        "username": secret_ref(READER_CREDENTIALS, ACCOUNT_SUFFIX, READER_PREFIX),
        "password": secret_ref(READER_CREDENTIALS, READER_PASSWORD),
    }
    return Release("", "", {"endpoints": {"identity": {"auth": {READER_SERVICE: account}}}})


def reader_mark(namespace: str, region: str) -> str:
    """The mark of an account that was created for this region."""
    return f"{namespace}/{region}"


def reader_clouds(admin: Administrator, account: Account, password: str, *, in_project: bool) -> str:
    """The clouds.yaml: with the public address if there is one, with the system-wide role, and by default
    with the role in the project if it has it. It contains the password.
    """
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
