{{/*
Deployment, StatefulSet, DaemonSet. All take the pod's context (see _pod.tpl); `hashes` in it holds digests of
scripts and configuration, so that pods roll when these change.
*/}}

{{- define "openstack-lib.template" -}}
metadata:
  labels:
    {{- include "openstack-lib.labels" . | nindent 4 }}
    {{- with .daemonset }}
    daemonset: {{ . }}
    {{- end }}
  annotations:
    configmap-bin-hash: {{ .hashes.bin }}
    configmap-etc-hash: {{ .hashes.etc }}
    {{- with .x.annotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
    {{- with dig "pod" (.x.slot | default .x.name) dict (.root.Values.annotations | default dict) }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  {{- include "openstack-lib.pod_spec" . | nindent 2 }}
{{- end -}}

{{- define "openstack-lib.workload_head" -}}
metadata:
  name: {{ .daemonset | default .x.name }}
  namespace: {{ .root.Release.Namespace }}
  labels:
    {{- include "openstack-lib.labels" . | nindent 4 }}
{{- end -}}

{{- define "openstack-lib.deployment" -}}
{{- $upgrades := .root.Values.pod.lifecycle.upgrades.deployments -}}
---
apiVersion: apps/v1
kind: Deployment
{{ include "openstack-lib.workload_head" . }}
spec:
  replicas: {{ get .root.Values.pod.replicas .x.replicas }}
  revisionHistoryLimit: {{ $upgrades.revision_history }}
  selector:
    matchLabels:
      {{- include "openstack-lib.selector" . | nindent 6 }}
  strategy:
    type: {{ .x.strategy | default $upgrades.pod_replacement_strategy }}
    {{- if eq (.x.strategy | default $upgrades.pod_replacement_strategy) "RollingUpdate" }}
    rollingUpdate:
      {{- /* Where its ports are the node's, a second pod finds no place. */}}
      maxUnavailable: {{ ternary (max 1 $upgrades.rolling_update.max_unavailable) $upgrades.rolling_update.max_unavailable (hasKey (.x.host | default dict) "hostNetwork") }}
      maxSurge: {{ $upgrades.rolling_update.max_surge }}
    {{- end }}
  template:
    {{- include "openstack-lib.template" . | nindent 4 }}
{{- end -}}

{{- define "openstack-lib.statefulset" -}}
---
apiVersion: apps/v1
kind: StatefulSet
{{ include "openstack-lib.workload_head" . }}
spec:
  serviceName: {{ .x.serviceName }}
  podManagementPolicy: {{ .x.podManagementPolicy | default "Parallel" }}
  replicas: {{ get .root.Values.pod.replicas .x.replicas }}
  selector:
    matchLabels:
      {{- include "openstack-lib.selector" . | nindent 6 }}
  template:
    {{- include "openstack-lib.template" . | nindent 4 }}
  {{- with .x.claims }}
  persistentVolumeClaimRetentionPolicy: {whenDeleted: Retain, whenScaled: Retain}
  volumeClaimTemplates:
    {{- range . }}
    - metadata:
        name: {{ .name }}
      spec:
        accessModes: [ReadWriteOnce]
        {{- with .class }}
        storageClassName: {{ . }}
        {{- end }}
        resources:
          requests:
            storage: {{ .size }}
    {{- end }}
  {{- end }}
{{- end -}}

{{/* Context: also `daemonset`, the object's name, and `nodeExpressions`, what keeps it to its nodes. */}}
{{- define "openstack-lib.daemonset" -}}
{{- $upgrades := .root.Values.pod.lifecycle.upgrades.daemonsets -}}
{{- $own := get $upgrades .x.upgrade | default dict -}}
---
apiVersion: apps/v1
kind: DaemonSet
{{ include "openstack-lib.workload_head" . }}
spec:
  minReadySeconds: {{ $own.min_ready_seconds | default 0 }}
  selector:
    matchLabels:
      {{- include "openstack-lib.selector" . | nindent 6 }}
      daemonset: {{ .daemonset }}
  updateStrategy:
    type: {{ $upgrades.pod_replacement_strategy }}
    {{- if eq $upgrades.pod_replacement_strategy "RollingUpdate" }}
    rollingUpdate:
      maxUnavailable: {{ $own.max_unavailable | default 1 }}
    {{- end }}
  template:
    {{- include "openstack-lib.template" . | nindent 4 }}
{{- end -}}
