{{/*
One DaemonSet for the nodes that share the chart's values and one for each override of labelled or named nodes.
Two shapes, both upstream's, and `none` (see `overrideShape` of a component):
  conf   conf.overrides.<chart>_<name>.{labels: [{label: {key, values}, conf}], hosts: [{name, conf}]}: other conf
  root   overrides.<chart>_<name>.{overrides_default, labels: {"key::value": {values}}, hosts}: any other value
A host is stronger than a label, a later label than an earlier one. Each DaemonSet reads its own Secret of
configuration files, of its own name. The default one keeps its name whatever overrides come and go, so that
its pods are not all replaced at once.
*/}}
{{- define "openstack-lib.daemonsets" -}}
{{- $root := .root -}}
{{- $name := .x.override | default (.x.name | trimPrefix (printf "%s-" $root.Chart.Name)) -}}
{{- $variants := include "openstack-lib.variants" (dict "root" $root "name" $name "shape" (.x.overrideShape | default "conf")) | fromJsonArray -}}
{{- $base := printf "%s-%s" $root.Chart.Name $name -}}
{{- $taken := list -}}
{{- range $variant := reverse $variants -}}
  {{- $values := include "openstack-lib.overlay" (list $root.Values $variant.values) | fromJson -}}
  {{- $own := set (omit $root "Values") "Values" $values -}}
  {{- $chart := set (include "openstack-lib.description" $own | fromJson) "rendered" $.chart.rendered -}}
  {{- $daemonset := printf "%s-%s-%s" $base ($variant.key | lower | replace "_" "-" | trunc 20 | trimAll "-.") (toJson $variant.match | sha256sum | trunc 8) }}
{{ include "openstack-lib.variant" (dict "root" $own "chart" $chart "name" $.x.name "hash" $.hashes.bin "daemonset" $daemonset "match" (concat (list $variant.match) $taken)) }}
  {{- $taken = append $taken (dict "key" $variant.match.key "operator" "NotIn" "values" $variant.match.values) -}}
{{- end -}}
{{- $default := printf "%s-default" $base -}}
{{- if eq (.x.overrideShape | default "") "none" -}}{{- $default = .x.name -}}{{- end -}}
{{- $switch := (include "openstack-lib.get" (list $root.Values (printf "overrides.%s_%s.overrides_default" $root.Chart.Name $name)) | fromJson).v -}}
{{- if not (and (kindIs "bool" $switch) (not $switch)) }}
{{ include "openstack-lib.variant" (dict "root" $root "chart" (deepCopy .chart) "name" .x.name "hash" .hashes.bin "daemonset" $default "match" $taken) }}
{{- end }}
{{- end -}}

{{/* The overrides of one daemonset, weakest first, as [{key, match, values}] in JSON. Dict: root, name, shape. */}}
{{- define "openstack-lib.variants" -}}
{{- $out := list -}}
{{- $given := dict -}}
{{- $all := ternary (.root.Values.overrides | default dict) (.root.Values.conf.overrides | default dict) (eq .shape "root") -}}
{{- range list .name (.name | replace "-" "_") -}}
  {{- $given = $given | default (get $all (printf "%s_%s" $.root.Chart.Name .)) | default dict -}}
{{- end -}}
{{- if eq .shape "root" -}}
  {{- range $label, $override := $given.labels -}}
    {{- $pair := splitList "::" $label -}}
    {{- $match := dict "key" (first $pair) "operator" "In" "values" (list (last $pair)) -}}
    {{- $out = append $out (dict "key" (last (splitList "/" (first $pair))) "match" $match "values" ($override.values | default dict)) -}}
  {{- end -}}
  {{- range $host, $override := $given.hosts -}}
    {{- $match := dict "key" "kubernetes.io/hostname" "operator" "In" "values" (list $host) -}}
    {{- $out = append $out (dict "key" $host "match" $match "values" ($override.values | default dict)) -}}
  {{- end -}}
{{- else -}}
  {{- range $given.labels -}}
    {{- $match := dict "key" .label.key "operator" "In" "values" .label.values -}}
    {{- $out = append $out (dict "key" (last (splitList "/" .label.key)) "match" $match "values" (dict "conf" (.conf | default dict))) -}}
  {{- end -}}
  {{- range $given.hosts -}}
    {{- $match := dict "key" "kubernetes.io/hostname" "operator" "In" "values" (list .name) -}}
    {{- $out = append $out (dict "key" .name "match" $match "values" (dict "conf" (.conf | default dict))) -}}
  {{- end -}}
{{- end -}}
{{- toJson $out -}}
{{- end -}}

{{/*
One DaemonSet with its Secret of configuration. Dict: root and chart (as they are for these nodes), name of the
component, hash (of the scripts), daemonset (the object's name), match (what keeps it to its nodes).
*/}}
{{- define "openstack-lib.variant" -}}
{{- $chart := .chart -}}
{{- $x := dict -}}
{{- range $chart.components -}}{{- if eq .name $.name -}}{{- $x = . -}}{{- end -}}{{- end -}}
{{- $etc := "" -}}
{{- $secret := printf "%s%s" .daemonset ($x.secretSuffix | default "") -}}
{{- if $chart.config -}}
  {{- range $file := $chart.config.files -}}{{- $_ := set $file "redact" ($x.redact | default list) -}}{{- end -}}
  {{- $etc = include "openstack-lib.etc" (list .root $chart) }}
---
apiVersion: v1
kind: Secret
{{ include "openstack-lib.metadata" (dict "root" .root "chart" $chart "name" $secret) }}
type: Opaque
data:
  {{- $etc | nindent 2 }}
{{- end }}
{{ include "openstack-lib.daemonset" (dict "root" .root "chart" $chart "x" $x "etc" $secret "hashes" (dict "bin" .hash "etc" (sha256sum $etc)) "daemonset" .daemonset "nodeExpressions" .match) }}
{{- end -}}
