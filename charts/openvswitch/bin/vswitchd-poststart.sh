#!/bin/bash
# Give the control sockets to the user whose agents talk to the switch.
set -uo pipefail
for _ in $(seq {{ .Values.conf.poststart.timeout | int }}); do
  # Not by its files: those of a switch that was killed are still there.
  if ovs-appctl --timeout=2 version >/dev/null 2>&1; then break; fi
  sleep 1
done
chown {{ .Values.pod.user.nova.uid | int }}:{{ .Values.pod.user.nova.uid | int }} /run/openvswitch/*.ctl /run/openvswitch/db.sock 2>/dev/null || true
{{- with .Values.conf.poststart.extraCommand }}
{{ . }}
{{- end }}
