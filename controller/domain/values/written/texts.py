"""Scripts and files of configuration that service templates write. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from typing import Any


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
    network, its_subnet = shlex.quote(name), shlex.quote(f"{name}-subnet")
    gateway = f" --gateway {shlex.quote(subnet['gateway'])}" if subnet.get("gateway") else ""
    start, end = subnet.get("poolStart"), subnet.get("poolEnd")
    pool = f" --allocation-pool {shlex.quote(f'start={start},end={end}')}" if start and end else ""
    return [
        f"openstack network show {network} || openstack network create {arguments}"
        f" --provider-network-type {kind} --provider-physical-network {shlex.quote(physical)} {network}",
        f"openstack subnet show {its_subnet} || openstack subnet create {'--dhcp' if dhcp else '--no-dhcp'}"
        f" --network {network} --subnet-range {shlex.quote(subnet['range'])}{gateway}{pool} {its_subnet}",
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


def qemu_certificates(group: str) -> str:
    """A hook of libvirtd (https://libvirt.org/hooks.html) that gives QEMU its certificates at each start.

    The files are on the host: servers outlive the pod that started them, and their QEMU reads its own files
    when a server moves. Consoles keep the files open, so they get a request to read them again.
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


def enable_new_compute(host: str, *, within: int = 600) -> str:
    """A script that enables a compute service which Nova registered disabled, once it reports.

    It goes by the reason that Nova gives (nova/db/main/api.py): what an operator disabled stays so. A service
    that does not report `within` seconds holds its release up no longer: the log says how it is enabled.
    """
    listed = "timeout 60 openstack compute service list --service nova-compute"
    found = f"{listed} --host {shlex.quote(host)} --long -f value"
    enable = f"openstack compute service set --enable {shlex.quote(host)} nova-compute"
    late = f"{host} has not reported within {within} s and stays disabled; once it is up: {enable}"
    return (
        "set -e\n"
        f"end=$(($(date +%s) + {within}))\n"
        f"until {found} -c Host | grep -q .; do\n"
        f'  if [ "$(date +%s)" -ge "$end" ]; then echo {shlex.quote(late)}; exit 0; fi\n'
        "  sleep 10\n"
        "done\n"
        f"if {found} -c 'Disabled Reason' | grep -q 'disabled due to config option'; then\n"
        f"  {enable}\n"
        "fi\n"
    )


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


def on_node(command: str) -> str:
    """A program of a privileged pod that runs the node's own, whose root it has at /mnt/host-rootfs."""
    path = "/usr/sbin:/usr/bin:/sbin:/bin"
    return f'#!/bin/sh\nexec chroot /mnt/host-rootfs /usr/bin/env -i PATH={path} {command} "$@"\n'


def brokers_conf(charts: Iterable[str]) -> str:
    """A file of ceilometer.conf with the virtual hosts that notifications are read from, for a value that the
    chart renders as a template of Helm: each chart has an endpoint of its own there."""
    lookup = "helm-toolkit.endpoints.authenticated_transport_endpoint_uri_lookup"
    lines = ["[notification]"]
    for chart in charts:
        endpoint = "oslo_messaging" if chart == "ceilometer" else f"oslo_messaging_{chart}"
        address = f'tuple "{endpoint}" "internal" "{chart}" "amqp" . | include "{lookup}"'
        lines.append(f"messaging_urls = {{{{ {address} }}}}")
    return "\n".join(lines) + "\n"
