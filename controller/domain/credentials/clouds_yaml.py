"""The clouds.yaml of a region's administrator, for openstacksdk and the `openstack` command.

It comes from the values of the keystone release, so that changes by `services` or `common` to accounts, ports
and names apply here too. Missing values are OpenStack-Helm's own defaults (keystone/values.yaml,
endpoints.identity).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from controller.domain.api.names import CLOUDS_CA_KEY
from controller.domain.values.chart_values import SECRET_REF, is_secret_ref

IDENTITY = "identity"
KEYSTONE = "keystone"
CLOUD = "default"
# The same account, with the addresses for clients outside the cluster.
PUBLIC_CLOUD = "public"
# The default path of clouds.yaml for openstacksdk, where the Secret is mounted.
CA_FILE = f"/etc/openstack/{CLOUDS_CA_KEY}"

_DEFAULTS: Mapping[str, Any] = {
    "auth": {
        "admin": {
            "region_name": "RegionOne",
            "username": "admin",
            "project_name": "admin",
            "user_domain_name": "default",
            "project_domain_name": "default",
        }
    },
    "hosts": {"default": "keystone", "internal": "keystone-api"},
    "path": {"default": "/v3"},
    "port": {"api": {"default": 80, "internal": 5000}},
    "scheme": {"default": "http"},
}
_SUFFIX = "cluster.local"
_GATEWAY: Mapping[str, str] = {
    "username": "swift",
    "project_name": "service",
    "project_domain_name": "service",
    "user_domain_name": "service",
}


@dataclass(frozen=True)
class KeyOfSecret:
    """A key of a Secret in the region's namespace."""

    name: str
    key: str


@dataclass(frozen=True)
class Administrator:
    """How to reach Keystone, and as whom. `ca`: whom to trust, None for whom the system trusts.

    `public_url`: where clients outside the cluster reach it, empty for nowhere; `public_ca`: whom these have
    to trust. `shown`: the Secret with the certificate that they are shown, where it is none of ours; it may
    say whom to trust. `password` is the reference that stands in the values, or the text itself where the
    operator wrote one.
    """

    auth_url: str
    account: Mapping[str, str]
    password: KeyOfSecret | str
    ca: KeyOfSecret | None = None
    public_url: str = ""
    public_ca: KeyOfSecret | None = None
    shown: str = ""


def administrator(values: Mapping[str, Any], namespace: str) -> Administrator | None:
    """The administrator of the Keystone with these values; None if they name no usable account."""
    endpoints = _part(values, "endpoints")
    identity = _over(_DEFAULTS, _part(endpoints, "identity"))
    admin = _part(_part(identity, "auth"), "admin")
    account = {name: str(admin.get(name) or "") for name in _DEFAULTS["auth"]["admin"]}
    password = reference_of(admin.get("password"))
    if not password or not all(account.values()):
        return None
    return Administrator(
        auth_url=f"{_internal_url(identity, endpoints, namespace)}{_internal(identity['path'])}",
        account=account,
        password=password,
        ca=_authority(values) if _internal(identity["scheme"]) == "https" else None,
        public_url=_public_url(identity, _of(identity["path"], "public")),
    )


def gateway_user(
    values: Mapping[str, Any], namespace: str, *, public: bool
) -> tuple[str, Mapping[str, str], KeyOfSecret | str] | None:
    """Keystone's address, the account and its password for the RADOS gateway, from these values of ceph-rgw.

    `public`: with the address for clients outside, if there is one. None if they name no usable account.
    Missing values are the chart's own defaults (ceph-rgw/values.yaml, endpoints.identity).
    """
    endpoints = _part(values, "endpoints")
    identity = _over(_DEFAULTS, _part(endpoints, "identity"))
    given = _part(_part(identity, "auth"), "swift")
    account = {name: str(given.get(name) or default) for name, default in _GATEWAY.items()}
    password = reference_of(given.get("password"))
    if not password:
        return None
    outside = _public_url(identity) if public else ""
    return outside or _internal_url(identity, endpoints, namespace), account, password


def clouds_yaml(admin: Administrator, password: str) -> str:
    """The file: the cloud with addresses inside the cluster, and with public ones if it is published. It
    contains the password."""
    clouds = {CLOUD: _cloud(admin, password, admin.auth_url, "internal", admin.ca)}
    if admin.public_url:
        clouds[PUBLIC_CLOUD] = _cloud(admin, password, admin.public_url, "public", admin.public_ca)
    return yaml.safe_dump({"clouds": clouds}, sort_keys=False, allow_unicode=True)


def _cloud(
    admin: Administrator, password: str, auth_url: str, interface: str, ca: KeyOfSecret | None
) -> dict[str, Any]:
    account = {name: value for name, value in admin.account.items() if name != "region_name"}
    cloud: dict[str, Any] = {
        "auth": {"auth_url": auth_url, **account, "password": password},
        "region_name": admin.account["region_name"],
        "interface": interface,
        "identity_api_version": 3,
    }
    return {**cloud, "cacert": CA_FILE} if ca is not None else cloud


def _authority(values: Mapping[str, Any]) -> KeyOfSecret | None:
    name = _part(_part(values, "secrets"), "tls").get("ca")
    return KeyOfSecret(str(name), CLOUDS_CA_KEY) if name else None


def _internal_url(identity: Mapping[str, Any], endpoints: Mapping[str, Any], namespace: str) -> str:
    """Keystone's address inside the cluster, without the path."""
    host = internal_host(identity, endpoints, namespace)
    return f"{_internal(identity['scheme'])}://{host}:{_internal(_part(identity['port'], 'api'))}"


def _public_url(identity: Mapping[str, Any], path: Any = "") -> str:
    """Keystone's address outside the cluster, or empty."""
    outside = _part(_part(identity, "host_fqdn_override"), "public").get("host")
    if not outside:
        return ""
    scheme, port = _of(identity["scheme"], "public"), _of(_part(identity["port"], "api"), "public")
    usual = {"http": 80, "https": 443}.get(str(scheme)) == port
    return f"{scheme}://{outside}{'' if usual else f':{port}'}{path}"


def internal_host(endpoint: Mapping[str, Any], endpoints: Mapping[str, Any], namespace: str) -> str:
    """The name of an endpoint inside the cluster, from its `hosts`."""
    host = _internal(_part(endpoint, "host_fqdn_override"))
    host = host.get("host") if isinstance(host, Mapping) else host
    if host:
        return str(host)
    suffix = endpoints.get("cluster_domain_suffix") or _SUFFIX
    return f"{_internal(endpoint['hosts'])}.{endpoint.get('namespace') or namespace}.svc.{suffix}"


def _internal(value: Any) -> Any:
    """The value for clients inside the cluster: from a map by kind of client, or one value for all."""
    return _of(value, "internal")


def _of(value: Any, client: str) -> Any:
    return value.get(client) or value.get("default") if isinstance(value, Mapping) else value


def _over(defaults: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """The values as Helm merges them: maps are merged, and null removes a key."""
    merged = dict(defaults)
    for key, value in values.items():
        below = merged.get(key)
        both = isinstance(below, Mapping) and isinstance(value, Mapping)
        merged[key] = _over(below, value) if both else value  # type: ignore[arg-type]
    return merged


def _part(value: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = value.get(key)
    return found if isinstance(found, Mapping) else {}


def reference_of(value: Any) -> KeyOfSecret | str | None:
    """The reference to a password, or its text if an operator wrote one, or None."""
    if is_secret_ref(value):
        target = value[SECRET_REF]
        return KeyOfSecret(str(target["name"]), str(target["key"]))
    return str(value) if value else None
