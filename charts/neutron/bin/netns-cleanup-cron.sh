#!/bin/bash
# Remove network namespaces that no agent uses any more, now and every five minutes.
set -euo pipefail
while true; do
  neutron-netns-cleanup --config-file /etc/neutron/neutron.conf --config-file /etc/neutron/dhcp_agent.ini ||
    echo "this round failed; the next one tries again" >&2
  sleep 300
done
