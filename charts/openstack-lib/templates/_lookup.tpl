{{/*
Looking things up in values.
*/}}

{{/*
The value at a dotted path, wrapped as {"v": …} in JSON, because a template can only return text.
Given: list of a map and the path. A path that leads nowhere gives {"v": null}.
*/}}
{{- define "openstack-lib.get" -}}
{{- $here := index . 0 -}}
{{- range splitList "." (index . 1) -}}
  {{- if and (kindIs "map" $here) (hasKey $here .) -}}
    {{- $here = index $here . -}}
  {{- else -}}
    {{- $here = dict "" nil | values | first -}}
  {{- end -}}
{{- end -}}
{{- dict "v" $here | toJson -}}
{{- end -}}

{{/*
A secret leaf of the values, as text. No default exists for any: a missing one ends the render with its path.
Given: list of the root context and the path below values.
*/}}
{{- define "openstack-lib.secret" -}}
{{- $root := index . 0 -}}
{{- $path := index . 1 -}}
{{- $value := (include "openstack-lib.get" (list $root.Values $path) | fromJson).v -}}
{{- if kindIs "map" $value -}}
  {{- fail (printf "%s: %s must be text, not a map (a reference that nobody resolved?)" $root.Chart.Name $path) -}}
{{- end -}}
{{- required (printf "%s: %s must be set; the chart ships no default for a secret" $root.Chart.Name $path) $value -}}
{{- end -}}

{{/* A scalar as text: whole numbers without exponent or fraction, whatever decoder read them. */}}
{{- define "openstack-lib.scalar" -}}
{{- if and (kindIs "float64" .) (eq (float64 (int64 .)) .) -}}
{{- printf "%d" (int64 .) -}}
{{- else -}}
{{- toString . -}}
{{- end -}}
{{- end -}}

{{/* Whether manifests.<switch> is on. An absent switch is off; an object without a switch is always on. */}}
{{- define "openstack-lib.enabled" -}}
{{- $root := index . 0 -}}
{{- $switch := index . 1 -}}
{{- if or (not $switch) (get $root.Values.manifests ($switch | toString)) -}}yes{{- end -}}
{{- end -}}
