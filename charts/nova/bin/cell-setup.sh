#!/bin/bash
# Map the compute hosts that have registered to their cell.
set -euo pipefail
{{- if .Values.jobs.cell_setup.extended_wait.enabled }}
for _ in $(seq {{ .Values.jobs.cell_setup.extended_wait.iteration | int }}); do
  sleep {{ .Values.jobs.cell_setup.extended_wait.duration | int }}
done
{{- end }}
nova-manage --config-file /etc/nova/nova.conf cell_v2 discover_hosts --verbose
{{- with .Values.jobs.cell_setup.extra_command }}
{{ . }}
{{- end }}
