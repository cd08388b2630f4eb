"""The small vocabulary that service templates share: pure functions on plain values."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Mapping
from typing import Any

from controller.domain.values.ceph_needs import CONSUMERS, CONSUMERS_SECRET
from controller.domain.values.chart_values import SECRET_REF, secret_ref
from controller.domain.values.written.claims import claim_variable
from controller.domain.values.written.federation import (
    federation_commands,
    federation_directives,
    federation_files,
    federation_locations,
    federation_secret,
)
from controller.domain.values.written.texts import (
    brokers_conf,
    enable_new_compute,
    network_commands,
    nginx_tls_proxy,
    on_node,
    qemu_certificates,
    vencrypt_options,
)
from controller.domain.values.written.volume_stores import on_host

# The key beside the passwords of accounts whose names change when they are rotated.
ACCOUNT_SUFFIX = "account-suffix"


def pairs(
    items: Iterable[Mapping[str, Any]], key: str, value: str, names: Mapping[str, str] | None = None
) -> str:
    """`"a:b,c:d"` from a list of maps, as oslo options want it; one pair for each value where it is a list.

    `names` translates values: `pairs(backends, "name", "type", {"ceph": "rbd"})`.
    """
    found = []
    for item in items:
        values = item[value] if isinstance(item[value], list | tuple) else [item[value]]
        found += [f"{item[key]}:{(names or {}).get(one, one)}" for one in values]
    return ",".join(found)


def translated(items: Iterable[str], names: Mapping[str, str]) -> list[str]:
    """What the items are called elsewhere; items without another name are left out."""
    return [names[item] for item in items if item in names]


def options(given: Mapping[str, Any], conf: Mapping[str, Any] | None) -> dict[str, Any]:
    """Options that are given, an operator's own over them, without those that are None."""
    whole = {**given, **(conf or {})}
    return {key: value for key, value in whole.items() if value is not None}


def django_settings(settings: Any) -> Any:
    """Settings that the horizon chart writes into a file of Python as JSON, where `true` is no word: 1 is."""
    if isinstance(settings, Mapping):
        return {key: django_settings(value) for key, value in settings.items()}
    if isinstance(settings, list):
        return [django_settings(value) for value in settings]
    return int(settings) if isinstance(settings, bool) else settings


def ceph_digest(consumer: str) -> dict[str, Any]:
    """The reference to what the pods of a consumer of Ceph are made from (`ceph_needs.CONSUMERS`)."""
    if consumer not in CONSUMERS:
        raise LookupError(f'ceph_digest("{consumer}"): no such consumer; {", ".join(CONSUMERS)}')
    return secret_ref(CONSUMERS_SECRET, consumer)


def prefixed(prefix: str, items: Iterable[str]) -> list[str]:
    """Each item with the prefix before it."""
    return [f"{prefix}{item}" for item in items]


def shell(text: object) -> str:
    """The text as one word of a shell script."""
    return shlex.quote(str(text))


def literal(text: object) -> str:
    """The text for a value that the chart renders as a template of Helm: it comes out as it is."""
    return str(text).replace("{{", '{{ "{{" }}')


def json_text(value: Any) -> str:
    """A value as JSON text on one line, for files that a script writes."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def reference(secret: Mapping[str, str]) -> dict[str, Any]:
    """The reference to a key of a Secret that the operator names as `{name, key}`."""
    return secret_ref(secret["name"], secret["key"])


def account_name(name: str, password: Mapping[str, Mapping[str, str]]) -> dict[str, Any]:
    """The name of an account that has the password of this reference, as it is since its last rotation."""
    return secret_ref(password[SECRET_REF]["name"], ACCOUNT_SUFFIX, prefix=name)


def certificate_digest(secret: str) -> dict[str, Any]:
    """The reference to the digest of a certificate of the region's own authority, by its Secret."""
    return secret_ref(secret, "digest")


def tolerations(*given: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Tolerations as Kubernetes wants them: without the fields that are not set, each once."""
    found = [options(one, None) for some in given for one in some]
    return [one for place, one in enumerate(found) if one not in found[:place]]


def after_dns_policy(tolerated: list[dict[str, Any]], priority: str | None) -> str:
    """A policy for names, and lines after it, in a chart that reads no value for what they say: it writes the
    policy as it is, where the fields of a pod stand six columns in."""
    lines = ["ClusterFirstWithHostNet"]
    lines += [f"priorityClassName: {json.dumps(priority)}"] if priority else []
    lines += [f"tolerations: {json.dumps(tolerated, sort_keys=True)}"] if tolerated else []
    return "\n      ".join(lines)


def after_label(value: str, tolerated: list[dict[str, Any]]) -> str:
    """The value of a pod's node label, and a line after it, in a chart that has no value for tolerations: it
    writes the label as it is, two columns further in than the fields of a pod."""
    return f"{value}\n      tolerations: {json.dumps(tolerated, sort_keys=True)}"


def oidc_directives(given: Iterable[str]) -> list[str]:
    """Lines of Apache's module for sign-in, in a value that Helm renders."""
    return [literal(line) for line in federation_directives(list(given))]


def only_from(
    applications: Iterable[str], policies: Mapping[str, Any], *, controller: bool = False, metrics: int = 0
) -> dict[str, Any]:
    """A network policy that admits only pods of the region with one of these `application` labels, and
    addresses of the nodes' networks: pods on the network of their node have its address, and no labels.

    `policies` are features.networkPolicies. `controller`: the policy admits the controller's pod, too, which
    manages accounts in servers. `metrics`: the port that monitoring may read."""
    expression = {"key": "application", "operator": "In", "values": sorted(set(applications))}
    peers: list[dict[str, Any]] = [{"podSelector": {"matchExpressions": [expression]}}]
    if controller:
        pod = {"matchLabels": {"app.kubernetes.io/name": "openstack-controller"}}
        peers.append({**_namespace(policies["controllerNamespace"]), "podSelector": pod})
    peers += [{"ipBlock": {"cidr": network}} for network in policies["nodeNetworks"]]
    rules: list[dict[str, Any]] = [{"from": peers}]
    readers = [
        {
            **_namespace(one["namespace"]),
            **({"podSelector": {"matchLabels": dict(one["podLabels"])}} if one["podLabels"] else {}),
        }
        for one in policies["monitoring"]
    ]
    if metrics and readers:
        rules.append({"from": readers, "ports": [{"protocol": "TCP", "port": metrics}]})
    return {"ingress": rules}


def _namespace(name: str) -> dict[str, Any]:
    """The part of a peer that is the namespace."""
    return {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": name}}}


TEMPLATE_FUNCTIONS: Mapping[str, Any] = {
    "pairs": pairs,
    "translated": translated,
    "options": options,
    "prefixed": prefixed,
    "django_settings": django_settings,
    "ceph_digest": ceph_digest,
    "shell": shell,
    "literal": literal,
    "json": json_text,
    "network_commands": network_commands,
    "nginx_tls_proxy": nginx_tls_proxy,
    "secret_ref": reference,
    "account_name": account_name,
    "certificate_digest": certificate_digest,
    "qemu_certificates": qemu_certificates,
    "federation_commands": federation_commands,
    "federation_files": federation_files,
    "federation_locations": federation_locations,
    "claim_variable": claim_variable,
    "oidc_directives": oidc_directives,
    "federation_secret": federation_secret,
    "tolerations": tolerations,
    "after_dns_policy": after_dns_policy,
    "after_label": after_label,
    "enable_new_compute": enable_new_compute,
    "vencrypt_options": vencrypt_options,
    "brokers_conf": brokers_conf,
    "only_from": only_from,
    "on_host": on_host,
    "on_node": on_node,
}
