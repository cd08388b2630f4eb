#!/bin/bash
# Prepare the host's nova directory, and write what only the host knows into snippets of configuration:
# its addresses for migration and consoles, and its name.
set -euo pipefail
shared=/tmp/host
mkdir -p "${shared}" /var/lib/nova/instances
chown "${NOVA_USER}:${NOVA_USER}" "${shared}" /var/lib/nova /var/lib/nova/instances

write() { printf '[%s]\n%s = %s\n' "$2" "$3" "$4" > "${shared}/$1"; } # FILE SECTION OPTION VALUE
write_address() { # FILE SECTION OPTION INTERFACE NETWORK: of the interface, else of the one on the route to the network
  local interface=$4 address
  if [ -z "${interface}" ]; then
    if [ -z "$5" ]; then return; fi
    interface=$(ip -4 route list "${5/#0\/0/default}" | awk '{for (i = 1; i < NF; i++) if ($i == "dev") {print $(i + 1); exit}}')
    if [ -z "${interface}" ]; then
      echo "there is no route to $5, by which $3 would be found" >&2
      return 1
    fi
  fi
  address=$(ip -4 -o address show dev "${interface}" scope global | awk '{split($4, a, "/"); print a[1]; exit}')
  if [ -z "${address}" ]; then
    echo "the interface ${interface} has no IPv4 address for $3" >&2
    return 1
  fi
  write "$1" "$2" "$3" "${address}"
}
write_address hypervisor.conf DEFAULT my_ip "${MY_IP_INTERFACE}" "${MY_IP_NETWORK}"
write_address libvirt.conf libvirt live_migration_inbound_addr "${MIGRATION_INTERFACE}" "${MIGRATION_NETWORK}"
write_address console.conf vnc server_proxyclient_address "${CONSOLE_INTERFACE}" "${CONSOLE_NETWORK}"
if [ "${HOSTNAME_IS_FQDN}" = true ]; then
  name=$(hostname --fqdn)
  write name.conf DEFAULT host "${name}"
fi
if [ "${SELF_PROVISIONED_ID}" = true ] && [ ! -s /var/lib/nova/compute_id ]; then
  # The same node gets the same id again, also after its disk was wiped.
  identity=$(python3 -c 'import os, uuid; print(uuid.uuid5(uuid.NAMESPACE_DNS, os.environ["NODE_NAME"]))')
  echo "${identity}" > /var/lib/nova/compute_id
  chown "${NOVA_USER}:${NOVA_USER}" /var/lib/nova/compute_id
fi
