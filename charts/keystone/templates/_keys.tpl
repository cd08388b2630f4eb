{{/* The key repositories: Secrets that the setup Jobs fill and the rotation CronJobs renew. */}}

{{/* Not for the world to read, where it is known who reads them (see volumesForUser in _pod.tpl). */}}
{{- define "keystone.key_volumes" -}}
{{- $mode := ternary 0440 0444 (not (empty .Values.pod.security_context.keystone.pod.runAsUser)) -}}
{{- $volumes := list -}}
{{- range list "fernet" "credential" -}}
{{- $volumes = append $volumes (dict "name" (printf "%s-keys" .) "secret" (dict "secretName" (printf "keystone-%s-keys" .) "defaultMode" $mode)) -}}
{{- end -}}
{{- toJson $volumes -}}
{{- end -}}

{{- define "keystone.key_mounts" -}}
{{- $conf := .Values.conf.keystone -}}
{{- list (dict "name" "fernet-keys" "mountPath" ($conf.fernet_tokens.key_repository | trimSuffix "/") "readOnly" true)
         (dict "name" "credential-keys" "mountPath" ($conf.credential.key_repository | trimSuffix "/") "readOnly" true) | toJson -}}
{{- end -}}

{{/* Given: fernet or credential. */}}
{{- define "keystone.key_rules" -}}
{{- list (dict "apiGroups" (list "") "resources" (list "secrets") "resourceNames" (list (printf "keystone-%s-keys" .)) "verbs" (list "get" "patch")) | toJson -}}
{{- end -}}

{{/* List: root, fernet or credential, setup or rotate. */}}
{{- define "keystone.key_container" -}}
{{- $root := index . 0 -}}
{{- $kind := index . 1 -}}
{{- $action := index . 2 -}}
{{- $section := ternary "fernet_tokens" "credential" (eq $kind "fernet") -}}
{{- $repository := (get $root.Values.conf.keystone $section).key_repository -}}
{{- $job := get $root.Values.jobs (printf "%s_%s" $kind $action) -}}
image: keystone_{{ $kind }}_{{ $action }}
resources: jobs.{{ $kind }}_{{ $action }}
command: [/scripts/keys.py, {{ $kind }}, {{ $action }}]
scratch: [{{ $repository | trimSuffix "/" }}]
env:
  KEY_REPOSITORY: {{ $repository }}
  KEY_SECRET: keystone-{{ $kind }}-keys
  KEY_USER: {{ $job.user }}
  KEY_GROUP: {{ $job.group }}
  {{- with $job.migrate_wait }}
  MIGRATE_WAIT_SECONDS: {{ . }}
  {{- end }}
  NAMESPACE: {fieldRef: {fieldPath: metadata.namespace}}
{{- end -}}
