#!/bin/bash
# agent.sh PROGRAM FILE...: run an agent on the common configuration, its own files and what the host adds.
set -euo pipefail
program=$1
shift
arguments=(--config-file /etc/neutron/neutron.conf)
for file in "$@"; do
  arguments+=(--config-file "${file}")
done
{{- if .Values.pod.use_fqdn.neutron_agent }}
host=$(hostname --fqdn)
printf '[DEFAULT]\nhost = %s\n' "${host}" > /tmp/host.ini
arguments+=(--config-file /tmp/host.ini)
{{- end }}
if [ -e /tmp/tunnel.ini ]; then
  arguments+=(--config-file /tmp/tunnel.ini)
fi
exec "${program}" "${arguments[@]}"
