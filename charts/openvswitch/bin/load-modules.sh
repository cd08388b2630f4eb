#!/bin/bash
# Load the datapath's kernel modules with the host's own modprobe, which matches the running kernel.
set -euo pipefail
for module in openvswitch gre vxlan; do
  chroot /mnt/host-root modprobe "${module}"
done
