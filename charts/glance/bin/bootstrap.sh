#!/bin/bash
# Upload the images of bootstrap.structured.images that do not exist yet, then run bootstrap.script.
set -euo pipefail
upload() { # NAME URL, then arguments of "openstack image create"
  local name=$1 url=$2 file found id status
  shift 2
  found=$(openstack image list --name "${name}" -f value -c ID -c Status)
  while read -r id status; do
    case "${status}" in
      "") ;;
      # Left where an upload was cut short.
      queued | saving | uploading | importing) openstack image delete "${id}" ;;
      *)
        echo "${name} exists"
        return
        ;;
    esac
  done <<< "${found}"
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
