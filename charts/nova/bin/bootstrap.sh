#!/bin/bash
# Make the flavors of bootstrap.structured.flavors that do not exist yet, then run bootstrap.script.
set -euo pipefail
there=$(openstack flavor list --all -f value -c Name)
flavor() { # NAME, then arguments of "openstack flavor create"
  local name=$1
  shift
  if grep -qxF -e "${name}" <<< "${there}"; then
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
