#!/bin/bash
# Make the flavors of bootstrap.structured.flavors that do not exist yet, then run bootstrap.script.
set -euo pipefail
flavor() { # NAME, then arguments of "openstack flavor create"
  local name=$1
  shift
  if openstack flavor show "${name}" -f value -c id >/dev/null 2>&1; then
    echo "${name} exists"
  else
    openstack flavor create "$@" "${name}"
  fi
}
{{- if .Values.bootstrap.structured.flavors.enabled }}
{{- range .Values.bootstrap.structured.flavors.options }}
flavor {{ .name | squote }} --ram {{ .ram | int }} --disk {{ .disk | int }} --vcpus {{ .vcpus | int }}
  {{- with .id }} --id {{ . | squote }}{{ end }}
  {{- with .ephemeral }} --ephemeral {{ . | int }}{{ end }}
  {{- with .swap }} --swap {{ . | int }}{{ end }}
  {{- range .extra_specs }} --property {{ . | squote }}{{ end }}
{{- end }}
{{- end }}
{{ tpl (.Values.bootstrap.script | default "") . }}
