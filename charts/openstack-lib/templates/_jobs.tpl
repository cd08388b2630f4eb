{{/*
Jobs and CronJobs, in the pod's context (see _pod.tpl). In x:
  weight  makes the Job a hook after install and upgrade, of that weight; without it the Job is a plain object
  hook    other hook events                     deletePolicy  when Helm removes it (default: before the next)
  schedule, history                             make it a CronJob
  backoffLimit, activeDeadlineSeconds, ttl      as in a Job
  finishes  what it does should not be cut short: it may use its grace period after SIGTERM (see graceSeconds)
*/}}

{{- define "openstack-lib.job_spec" -}}
backoffLimit: {{ .x.backoffLimit | default 1000 }}
{{- with .x.activeDeadlineSeconds }}
activeDeadlineSeconds: {{ . }}
{{- end }}
template:
  metadata:
    labels:
      {{- include "openstack-lib.labels" . | nindent 6 }}
  spec:
    restartPolicy: {{ .x.restartPolicy | default "OnFailure" }}
    {{- if not .x.finishes }}
    # A first process ignores SIGTERM unless it asks for it, which neither shells nor Python do: deleting such a Job
    # would take the whole grace period. In a shared namespace the first process is Kubernetes' own.
    shareProcessNamespace: true
    {{- end }}
    {{- include "openstack-lib.pod_spec" . | nindent 4 }}
{{- end -}}

{{- define "openstack-lib.job" -}}
---
apiVersion: batch/v1
kind: Job
metadata:
  name: {{ .x.name }}
  namespace: {{ .root.Release.Namespace }}
  labels:
    {{- include "openstack-lib.labels" . | nindent 4 }}
  {{- if or .x.hook (hasKey .x "weight") .x.annotations }}
  annotations:
    {{- if or .x.hook (hasKey .x "weight") }}
    helm.sh/hook: {{ .x.hook | default "post-install,post-upgrade" }}
    helm.sh/hook-weight: {{ .x.weight | default 0 | toString | quote }}
    helm.sh/hook-delete-policy: {{ .x.deletePolicy | default "before-hook-creation" }}
    {{- end }}
    {{- with .x.annotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- end }}
spec:
  {{- include "openstack-lib.job_spec" . | nindent 2 }}
{{- end -}}

{{- define "openstack-lib.cronjob" -}}
---
apiVersion: batch/v1
kind: CronJob
metadata:
  name: {{ .x.name }}
  namespace: {{ .root.Release.Namespace }}
  labels:
    {{- include "openstack-lib.labels" . | nindent 4 }}
spec:
  schedule: {{ .x.schedule | quote }}
  concurrencyPolicy: Forbid
  {{- with .x.startingDeadlineSeconds }}
  startingDeadlineSeconds: {{ . }}
  {{- end }}
  successfulJobsHistoryLimit: {{ .x.history.success }}
  failedJobsHistoryLimit: {{ .x.history.failed }}
  jobTemplate:
    metadata:
      labels:
        {{- include "openstack-lib.labels" . | nindent 8 }}
    spec:
      {{- include "openstack-lib.job_spec" . | nindent 6 }}
{{- end -}}
