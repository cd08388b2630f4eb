#!/bin/bash
# Load the datapath's kernel modules with the host's own modprobe, which matches the running kernel.
set -euo pipefail
{{- if eq (.Values.conf.plugins.openvswitch_agent.ovs.datapath_type | default "system") "netdev" }}
echo "the datapath is in user space, and needs no kernel module"
{{- else }}
for module in openvswitch gre vxlan; do
  chroot /mnt/host-root modprobe "${module}"
done
{{- end }}
