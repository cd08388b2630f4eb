"""The small vocabulary that service templates share: pure functions on plain values."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Mapping
from typing import Any

from controller.domain.values.ceph_needs import CONSUMERS, CONSUMERS_SECRET
from controller.domain.values.chart_values import SECRET_REF, secret_ref

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


def network_commands(
    name: str,
    physical: str,
    subnet: Mapping[str, Any],
    *,
    segment: int | None = None,
    arguments: str = "",
    dhcp: bool = True,
) -> list[str]:
    """Lines of a script that make a provider network with one subnet, where it does not exist yet.

    The network is flat, or the VLAN `segment`. `subnet` has range, gateway, poolStart and poolEnd; what is
    None is left to neutron.
    """
    kind = f"vlan --provider-segment {segment}" if segment else "flat"
    network, its_subnet = shell(name), shell(f"{name}-subnet")
    gateway = f" --gateway {shell(subnet['gateway'])}" if subnet.get("gateway") else ""
    start, end = subnet.get("poolStart"), subnet.get("poolEnd")
    pool = f" --allocation-pool {shell(f'start={start},end={end}')}" if start and end else ""
    return [
        f"openstack network show {network} || openstack network create {arguments}"
        f" --provider-network-type {kind} --provider-physical-network {shell(physical)} {network}",
        f"openstack subnet show {its_subnet} || openstack subnet create {'--dhcp' if dhcp else '--no-dhcp'}"
        f" --network {network} --subnet-range {shell(subnet['range'])}{gateway}{pool} {its_subnet}",
    ]


def nginx_tls_proxy(port: int) -> str:
    """Configuration of an nginx that takes TLS on 443 and passes requests on to a port of its own pod.

    Services build links from the Host header, port included; images are uploads of any size.
    """
    return f"""server {{
    listen 443 ssl;
    server_name _;
    client_max_body_size 0;
    proxy_request_buffering off;

    ssl_certificate     /etc/nginx/certs/tls.crt;
    ssl_certificate_key /etc/nginx/certs/tls.key;
    ssl_protocols       TLSv1.2 TLSv1.3;

    location / {{
        proxy_pass http://127.0.0.1:{port};
        proxy_set_header Host $http_host;
        proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
        proxy_set_header X-Forwarded-Proto https;
    }}
}}
"""


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


def qemu_certificates(group: str) -> str:
    """A hook of libvirtd (https://libvirt.org/hooks.html) that gives QEMU its certificates at each start.

    They lie on the host: servers outlive the pod that started them, and their QEMU goes on reading its own
    files when it moves. What has them open, consoles, is told to read them again.
    """
    return f"""#!/bin/bash
set -eu
[ "$2" = start ] || exit 0
to=/var/lib/libvirt/pki
install -d -m 0750 -g {group} $to
for name in ca-cert server-cert server-key client-cert client-key; do
  install -m 0640 -g {group} /etc/pki/region/$name.pem $to/$name.new
  mv -f $to/$name.new $to/$name.pem
done
reload='{{"execute": "display-reload", "arguments": {{"type": "vnc", "tls-certs": true}}}}'
setsid bash -c '
  for _ in $(seq 60); do virsh --quiet uri && break; sleep 1; done
  virsh list --name | while read -r server; do
    [ -z "$server" ] || virsh qemu-monitor-command "$server" "$0"
  done' "$reload" </dev/null >/dev/null 2>&1 &
"""


def vencrypt_options() -> str:
    """A file of nova.conf for the console proxy: it shows its certificate to QEMU, and wants to see QEMU's.

    Servers that were started without go on without, until they are started again or moved.
    """
    place = "/etc/pki/nova-novncproxy"
    return (
        "[vnc]\nauth_schemes = vencrypt,none\n"
        f"vencrypt_client_cert = {place}/tls.crt\nvencrypt_client_key = {place}/tls.key\n"
        f"vencrypt_ca_certs = {place}/ca.crt\n"
    )


def only_from(applications: Iterable[str], networks: Iterable[str] = ()) -> dict[str, Any]:
    """A network policy that lets in pods of the region with one of these `application` labels only, and what
    is in the networks: pods on the network of their node have its address, and no labels."""
    expression = {"key": "application", "operator": "In", "values": sorted(set(applications))}
    peers: list[dict[str, Any]] = [{"podSelector": {"matchExpressions": [expression]}}]
    peers += [{"ipBlock": {"cidr": network}} for network in networks]
    return {"ingress": [{"from": peers}]}


TEMPLATE_FUNCTIONS: Mapping[str, Any] = {
    "pairs": pairs,
    "translated": translated,
    "options": options,
    "prefixed": prefixed,
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
    "vencrypt_options": vencrypt_options,
    "only_from": only_from,
}
