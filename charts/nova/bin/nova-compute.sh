#!/bin/bash
set -euo pipefail
arguments=(--config-file /etc/nova/nova.conf)
for snippet in /tmp/host/*.conf; do
  if [ -e "${snippet}" ]; then arguments+=(--config-file "${snippet}"); fi
done
exec nova-compute "${arguments[@]}"
