#!/bin/bash
# Upload the images of bootstrap.structured.images that do not exist yet, then run bootstrap.script.
set -euo pipefail
upload() { # NAME URL, then arguments of "openstack image create"
  local name=$1 url=$2 file
  shift 2
  if openstack image show "${name}" -f value -c id >/dev/null 2>&1; then
    echo "${name} exists"
    return
  fi
  file=$(mktemp /tmp/image.XXXXXX)
  curl --fail --silent --show-error --location --retry 5 --output "${file}" "${url}"
  openstack image create "$@" --file "${file}" "${name}"
  rm -f "${file}"
}
{{- range .Values.bootstrap.structured.images }}
upload {{ .name | squote }} {{ printf "%s/%s" (trimSuffix "/" .source_url) .image_file | squote }}
  {{- with .id }} --id {{ . | squote }}{{ end }} --min-disk {{ .min_disk | default 0 | int }} --disk-format {{ .image_type | default "qcow2" }}
  {{- printf " --container-format %s" (.container_format | default "bare") }} {{ ternary "--private" "--public" (.private | default false) }}
  {{- range $key, $value := .properties }} --property {{ printf "%s=%s" $key (toString $value) | squote }}{{ end }}
{{- end }}
{{ tpl (.Values.bootstrap.script | default "") . }}
