#!/bin/bash
# Run the switch against the database beside it.
set -euo pipefail
run=/run/openvswitch
# The first process of a container heeds only signals that it asks for.
trap 'exit 143' TERM
until [ -S "${run}/db.sock" ] && ovs-vsctl --timeout=5 --no-wait show >/dev/null; do
  echo "waiting for the database"
  sleep 1
done
ovs-vsctl --timeout=30 --no-wait init
# The system id names this host in OVN and in agents; it must outlive restarts.
host=$(hostname --fqdn)
ovs-vsctl --timeout=30 --no-wait set Open_vSwitch . external_ids:hostname="${host}"
{{- range $option, $key := dict "n-handler-threads" "handler_threads" "n-revalidator-threads" "revalidator_threads" }}
{{- with get $.Values.conf.ovs_other_config $key }}
ovs-vsctl --timeout=30 --no-wait set Open_vSwitch . other_config:{{ $option }}={{ . | int }}
{{- end }}
{{- end }}
{{- if .Values.conf.ovs_hw_offload.enabled }}
ovs-vsctl --timeout=30 --no-wait set Open_vSwitch . other_config:hw-offload=true
{{- end }}
{{- with .Values.conf.ovs_dpdk }}
{{- if .enabled }}
ovs-vsctl --timeout=30 --no-wait set Open_vSwitch . other_config:dpdk-init=true
{{- range $option, $value := omit . "enabled" }}
{{- if not (kindIs "map" $value) }}
ovs-vsctl --timeout=30 --no-wait set Open_vSwitch . other_config:{{ $option | replace "_" "-" }}={{ $value }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
rm -f "${run}/ovs-vswitchd.pid"
exec ovs-vswitchd "unix:${run}/db.sock" -vconsole:info -vfile:off -vsyslog:off --mlockall \
  --pidfile="${run}/ovs-vswitchd.pid"
