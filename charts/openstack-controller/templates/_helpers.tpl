{{/* Name of all objects of this installation. */}}
{{- define "controller.name" -}}
{{- .Values.nameOverride | default .Release.Name | trunc 52 | trimSuffix "-" -}}
{{- end -}}

{{- define "controller.account" -}}
{{- .Values.serviceAccount.name | default (include "controller.name" .) -}}
{{- end -}}

{{- define "controller.region" -}}
{{- .Values.region.namespace | default .Release.Namespace -}}
{{- end -}}

{{- define "controller.selector" -}}
app.kubernetes.io/name: openstack-controller
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "controller.labels" -}}
{{ include "controller.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{- define "controller.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end -}}

{{/* Names of the containers that are deployed, in a fixed order, as a JSON list. */}}
{{- define "controller.deployed" -}}
{{- $deployed := list -}}
{{- range $name := list "core" "helmbundle" "health" "secrets" "node" -}}
{{- if (get $.Values.containers $name).enabled -}}
{{- $deployed = append $deployed $name -}}
{{- end -}}
{{- end -}}
{{- if and .Values.machines.enabled (not .Values.servers.enabled) -}}
{{- fail "machines.enabled needs servers.enabled: the container servers mirrors MachineSets" -}}
{{- end -}}
{{- if .Values.servers.enabled -}}
{{- $deployed = append $deployed "servers" -}}
{{- end -}}
{{- $deployed | toJson -}}
{{- end -}}

{{/* Namespaces in which OpenStackServers are served, the region's first, as a JSON list. */}}
{{- define "controller.serverNamespaces" -}}
{{- concat (list (include "controller.region" .)) .Values.servers.namespaces | uniq | toJson -}}
{{- end -}}

{{/* Subjects of every binding: the one account of all containers. */}}
{{- define "controller.subjects" -}}
subjects:
  - kind: ServiceAccount
    name: {{ include "controller.account" . }}
    namespace: {{ .Release.Namespace }}
{{- end -}}
