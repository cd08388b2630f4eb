#!/bin/bash
# Forget conductors and schedulers that are gone: each pod registers under a name of its own.
set -euo pipefail
down() {
  openstack compute service list -f value -c ID -c Binary -c State |
    awk '$3 == "down" && ($2 == "nova-conductor" || $2 == "nova-scheduler") {print $1}'
}
before=$(down)
sleep {{ .Values.jobs.service_cleaner.sleep_time | int }}
after=$(down)
for service in ${after}; do
  if grep -qxF "${service}" <<< "${before}"; then openstack compute service delete "${service}"; fi
done
{{- with .Values.jobs.service_cleaner.extra_command }}
{{ . }}
{{- end }}
