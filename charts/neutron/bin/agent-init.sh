#!/bin/bash
# Give the agents' user the directory where the agents of a node meet.
set -euo pipefail
chown "${NEUTRON_USER}:${NEUTRON_USER}" /var/lib/neutron/openstack-helm
