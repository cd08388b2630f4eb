{{/*
A whole service chart: `{{ include "openstack-lib.chart" . }}` renders what the template "<chart>.components" describes in YAML.
  service       name of the service; prefix of its objects and value of the label "application"
  config        {secret?, files: {<name>: see _config.tpl}}
  scripts       shared scripts that the chart wants (see _scripts.tpl), beside its own in bin/
  scriptValues  scripts that are values: file name → path in values
  components    list of workloads: kind, name, manifest (switch), and what _pod.tpl and _workloads.tpl read
  standardJobs  see _standard_jobs.tpl          jobs       list of other Jobs and CronJobs
  services, budgets, secrets, claims            as _objects.tpl has them
  credentials   which credential Secrets to write
Being a template, the description computes names, ports and defaults from values.
*/}}
{{- define "openstack-lib.chart" -}}
{{- $root := . -}}
{{- include "openstack-lib.refuse_unserved" . -}}
{{- $chart := include "openstack-lib.description" . | fromJson -}}
{{- range list "standardJobs" "credentials" -}}{{- $_ := set $chart . (get $chart . | default dict) -}}{{- end -}}
{{- $service := $chart.service -}}
{{- $bin := include "openstack-lib.bin" (list $root $chart) -}}
{{- $etc := "" -}}
{{- $secret := printf "%s-etc" $service -}}
{{- if $chart.config -}}
  {{- $secret = $chart.config.secret | default $secret -}}
  {{- $etc = include "openstack-lib.etc" (list $root $chart) -}}
{{- end -}}
{{- $hashes := dict "bin" (sha256sum $bin) "etc" (sha256sum $etc) -}}
{{- if and $root.Values.manifests.configmap_bin $bin }}
---
apiVersion: v1
kind: ConfigMap
{{ include "openstack-lib.metadata" (dict "root" $root "chart" $chart "name" ($chart.bin | default (printf "%s-bin" $service))) }}
data:
  {{- $bin | nindent 2 }}
{{- end }}
{{- if and $etc $root.Values.manifests.configmap_etc }}
---
apiVersion: v1
kind: Secret
{{ include "openstack-lib.metadata" (dict "root" $root "chart" $chart "name" $secret) }}
type: Opaque
data:
  {{- $etc | nindent 2 }}
{{- end }}
{{ include "openstack-lib.credential_secrets" (dict "root" $root "chart" $chart) }}
{{- $jobs := concat (include "openstack-lib.standard_jobs" (dict "root" $root "chart" $chart) | fromYamlArray) ($chart.jobs | default list) }}
{{- $rendered := list }}
{{- range $jobs }}{{- if include "openstack-lib.enabled" (list $root .manifest) }}{{- $rendered = append $rendered .name }}{{- end }}{{- end }}
{{- $_ := set $chart "rendered" $rendered }}
{{- $accounts := dict }}
{{- range $x := concat $chart.components $jobs }}
{{- if include "openstack-lib.enabled" (list $root $x.manifest) }}
{{- $pod := dict "root" $root "chart" $chart "x" $x "etc" $secret "hashes" $hashes }}
{{- $account := include "openstack-lib.account" $pod }}
{{- if not (hasKey $accounts $account) }}
{{ include "openstack-lib.access" $pod }}
{{- end }}
{{- $_ := set $accounts $account true }}
{{- if eq ($x.kind | default "Job") "DaemonSet" }}
{{ include "openstack-lib.daemonsets" $pod }}
{{- else if $x.schedule }}
{{ include "openstack-lib.cronjob" $pod }}
{{- else }}
{{ include (printf "openstack-lib.%s" ($x.kind | default "Job" | lower)) $pod }}
{{- end }}
{{- end }}
{{- end }}
{{- range $x := $chart.services }}
{{- if include "openstack-lib.enabled" (list $root $x.manifest) }}
{{ include "openstack-lib.service" (dict "root" $root "chart" $chart "x" $x) }}
{{- end }}
{{- end }}
{{- range $x := $chart.budgets }}
{{- if include "openstack-lib.enabled" (list $root $x.manifest) }}
{{ include "openstack-lib.disruption_budget" (dict "root" $root "chart" $chart "x" $x) }}
{{- end }}
{{- end }}
{{- range $x := $chart.secrets }}
{{- if include "openstack-lib.enabled" (list $root $x.manifest) }}
{{ include "openstack-lib.secret_object" (dict "root" $root "chart" $chart "x" $x) }}
{{- end }}
{{- end }}
{{- range $x := $chart.claims }}
{{- if include "openstack-lib.enabled" (list $root $x.manifest) }}
{{ include "openstack-lib.claim" (dict "root" $root "chart" $chart "x" $x) }}
{{- end }}
{{- end }}
{{- if $root.Values.manifests.network_policy }}
{{ include "openstack-lib.network_policies" (dict "root" $root "chart" $chart) }}
{{- end }}
{{- range $root.Values.extraObjects }}
---
{{ tpl (toYaml .) $root }}
{{- end }}
{{- end -}}

{{/* The description of the chart as JSON, checked to be YAML. */}}
{{- define "openstack-lib.description" -}}
{{- $text := include (printf "%s.components" .Chart.Name) . -}}
{{- $read := fromYaml $text -}}
{{- if hasKey $read "Error" -}}
  {{- fail (printf "%s: templates/_components.tpl: %s" .Chart.Name $read.Error) -}}
{{- end -}}
{{- toJson $read -}}
{{- end -}}

{{/* Encryption that someone asks for and would not get is refused, not ignored. */}}
{{- define "openstack-lib.refuse_unserved" -}}
{{- $root := . -}}
{{- range $name, $on := .Values.tls -}}
  {{- if $on -}}{{- fail (printf "%s: tls.%s: the lean charts have no TLS inside the region; use OpenStack-Helm's" $root.Chart.Name $name) -}}{{- end -}}
{{- end -}}
{{- if .Values.manifests.certificates -}}
  {{- fail (printf "%s: manifests.certificates: the lean charts have no TLS inside the region; use OpenStack-Helm's" .Chart.Name) -}}
{{- end -}}
{{- end -}}
