#!/bin/bash
# Make the bridges that the configuration maps, and find the address of this host's tunnel end.
set -euo pipefail
add_bridge() {
  {{- with .Values.conf.plugins.openvswitch_agent.ovs.datapath_type }}
  ovs-vsctl --timeout=30 --may-exist add-br "$1" -- set Bridge "$1" {{ printf "datapath_type=%s" . | squote }}
  {{- else }}
  ovs-vsctl --timeout=30 --may-exist add-br "$1"
  {{- end }}
}
# An address of a port is of no use, because the switch takes the packets. The bridge gets addresses and routes first,
# and the port loses its own last: a start that was interrupted is continued by the next.
move_addresses() {
  local addresses
  addresses=$(ip -4 -o address show dev "$1" scope global | awk '{print $4}')
  for address in ${addresses}; do
    ip address replace "${address}" dev "$2"
  done
  ip -4 route list dev "$1" | awk '!/proto kernel/ {sub(/ linkdown/, ""); sub(/ dead/, ""); print}' |
    while read -ra route; do
      ip route replace "${route[@]}" dev "$2"
    done
  for address in ${addresses}; do
    ip address delete "${address}" dev "$1"
  done
}
add_bridge br-int
mappings=$(sed -n 's/^ *bridge_mappings *= *//p' /etc/neutron/plugins/ml2/openvswitch_agent.ini)
IFS=',' read -ra pairs <<< "${mappings}"
for pair in "${pairs[@]}"; do
  add_bridge "${pair#*:}"
done
# auto_bridge_add: bridge and the interface to plug into it, or null for none.
python3 - <<'PYTHON' | while read -r bridge port; do
import json
for bridge, port in json.load(open("/etc/neutron/auto_bridge_add.json")).items():
    print(bridge, port or "")
PYTHON
  add_bridge "${bridge}"
  ip link set "${bridge}" up
  if [ -n "${port}" ]; then
    ovs-vsctl --timeout=30 --may-exist add-port "${bridge}" "${port}"
    ip link set "${port}" up
    move_addresses "${port}" "${bridge}"
  fi
done
interface=${TUNNEL_INTERFACE}
if [ -z "${interface}" ]; then
  interface=$(ip -4 route list "${TUNNEL_NETWORK/#0\/0/default}" |
    awk '{for (i = 1; i < NF; i++) if ($i == "dev") {print $(i + 1); exit}}')
  if [ -z "${interface}" ]; then
    echo "there is no route to ${TUNNEL_NETWORK}, by which the end of tunnels would be found" >&2
    exit 1
  fi
fi
address=$(ip -4 -o address show dev "${interface}" scope global | awk '{split($4, a, "/"); print a[1]; exit}')
if [ -z "${address}" ]; then
  echo "the interface ${interface} has no IPv4 address to carry tunnels" >&2
  exit 1
fi
printf '[ovs]\nlocal_ip = %s\n' "${address}" > /tmp/tunnel.ini
chmod 0644 /tmp/tunnel.ini
