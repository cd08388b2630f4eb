#!/bin/bash
# Load the datapath's kernel modules with the host's own modprobe, which matches the running kernel.
set -euo pipefail
for module in openvswitch gre vxlan; do
  # Bridges in user space need none. Agents whose bridges do need one load it themselves, and fail without.
  chroot /mnt/host-root modprobe "${module}" ||
    echo "the kernel has no module ${module}: bridges need the datapath type netdev" >&2
done
