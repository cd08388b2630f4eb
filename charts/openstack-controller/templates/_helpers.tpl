{{/* Name of all objects of this installation. */}}
{{- define "controller.name" -}}
{{- .Values.nameOverride | default .Release.Name | trunc 52 | trimSuffix "-" -}}
{{- end -}}

{{- define "controller.account" -}}
{{- .Values.serviceAccount.name | default (include "controller.name" .) -}}
{{- end -}}

{{/* The account in the region's namespace that charts act as. */}}
{{- define "controller.chartsAccount" -}}
{{- (.Values.chartsServiceAccount | default dict).name | default (printf "%s-charts" (include "controller.name" .)) -}}
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

{{/* Subjects of the bindings of what charts may do. */}}
{{- define "controller.chartsSubjects" -}}
subjects:
  - kind: ServiceAccount
    name: {{ include "controller.chartsAccount" . }}
    namespace: {{ include "controller.region" . }}
{{- end -}}

{{/* Subjects of every other binding: the one account of all containers. */}}
{{- define "controller.subjects" -}}
subjects:
  - kind: ServiceAccount
    name: {{ include "controller.account" . }}
    namespace: {{ .Release.Namespace }}
{{- end -}}
