{{/* What the chosen sets of files/chart-rights.yaml hold under one key (list . "rules"), as JSON; names of cluster-wide
     roles with those of the values beside them. The region's namespace is put in its place. */}}
{{- define "controller.rights" -}}
{{- $top := index . 0 }}
{{- $key := index . 1 }}
{{- $sets := $top.Files.Get "files/chart-rights.yaml" | fromYaml }}
{{- $found := list }}
{{- range $top.Values.rbac.upstream.sets }}
  {{- if not (hasKey $sets .) }}
    {{- fail (printf "rbac.upstream.sets: no set %q, only %s" . (keys $sets | sortAlpha | join ", ")) }}
  {{- end }}
  {{- $found = concat $found (get (get $sets .) $key | default list) }}
{{- end }}
{{- if eq $key "clusterRoles" }}{{ $found = concat $found $top.Values.rbac.extraClusterRoles }}{{ end }}
{{- if eq $key "clusterRoleBindings" }}{{ $found = concat $found $top.Values.rbac.extraClusterRoleBindings }}{{ end }}
{{- $found | toJson | replace "{namespace}" (include "controller.region" $top) }}
{{- end }}
