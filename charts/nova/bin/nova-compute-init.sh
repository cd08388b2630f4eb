#!/bin/bash
# Prepare the host's nova directory, and write what only the host knows into snippets of configuration:
# its addresses for migration and consoles, and its name.
set -euo pipefail
shared=/tmp/host
mkdir -p "${shared}" /var/lib/nova/instances
chown "${NOVA_USER}:" "${shared}" /var/lib/nova /var/lib/nova/instances

address_on() { ip -4 -o address show dev "$1" scope global | awk '{split($4, a, "/"); print a[1]; exit}'; }
interface_towards() { # CIDR: the interface of the route to it; 0/0 is the default route
  local route
  route=$(ip -4 route list "${1/#0\/0/default}" | head -1)
  grep -o 'dev [^ ]*' <<< "${route}" | cut -d' ' -f2
}
address_of() { # INTERFACE-OR-EMPTY CIDR
  local interface=${1:-}
  if [ -z "${interface}" ]; then interface=$(interface_towards "$2"); fi
  address_on "${interface}"
}
write() { # FILE SECTION OPTION VALUE
  if [ -n "$4" ]; then printf '[%s]\n%s = %s\n' "$2" "$3" "$4" > "${shared}/$1"; fi
}
{{- $conf := .Values.conf }}
{{- if or $conf.hypervisor.host_interface $conf.hypervisor.address_search_enabled }}
write hypervisor.conf DEFAULT my_ip \
  "$(address_of {{ $conf.hypervisor.host_interface | default "" | squote }} {{ $conf.hypervisor.host_network_cidr | squote }})"
{{- end }}
{{- if or $conf.libvirt.live_migration_interface $conf.libvirt.address_search_enabled }}
write libvirt.conf libvirt live_migration_inbound_addr \
  "$(address_of {{ $conf.libvirt.live_migration_interface | default "" | squote }} {{ $conf.libvirt.live_migration_network_cidr | squote }})"
{{- end }}
{{- $console := .Values.console.novnc.compute }}
{{- if or $console.vncserver_proxyclient_interface .Values.console.address_search_enabled }}
write console.conf vnc server_proxyclient_address \
  "$(address_of {{ $console.vncserver_proxyclient_interface | default "" | squote }} {{ $console.vncserver_proxyclient_network_cidr | squote }})"
{{- end }}
{{- if .Values.pod.use_fqdn.compute }}
write name.conf DEFAULT host "$(hostname --fqdn)"
{{- end }}
if [ "${SELF_PROVISIONED_ID}" = true ] && [ ! -s /var/lib/nova/compute_id ]; then
  # The same node gets the same id again, also after its disk was wiped.
  python3 -c 'import os, uuid; print(uuid.uuid5(uuid.NAMESPACE_DNS, os.environ["NODE_UID_SOURCE"]))' \
    > /var/lib/nova/compute_id
  chown "${NOVA_USER}:" /var/lib/nova/compute_id
fi
