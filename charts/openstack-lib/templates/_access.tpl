{{/*
ServiceAccounts and Roles. A pod may read what it waits for, and what its component's `rules` say; nothing more.
All take the pod's context (see _pod.tpl).
*/}}

{{- define "openstack-lib.account" -}}
{{- .x.account | default .x.name -}}
{{- end -}}

{{- define "openstack-lib.access" -}}
{{- $account := include "openstack-lib.account" . }}
---
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ $account }}
  namespace: {{ .root.Release.Namespace }}
  labels:
    {{- include "openstack-lib.labels" . | nindent 4 }}
{{- with .root.Values.endpoints.oci_image_registry }}
{{- if (.auth | default dict).enabled }}
imagePullSecrets:
  - name: {{ get $.root.Values.secrets.oci_image_registry $.chart.service }}
{{- end }}
{{- end }}
{{- include "openstack-lib.waiting_roles" . }}
{{- with .x.rules }}
{{ include "openstack-lib.role" (dict "context" $ "name" ($.x.role | default $account) "namespace" $.root.Release.Namespace "rules" .) }}
{{- end }}
{{- end -}}

{{/* One Role for each namespace that holds something the pod waits for. */}}
{{- define "openstack-lib.waiting_roles" -}}
{{- $wanted := include "openstack-lib.dependencies" . | fromJson -}}
{{- $own := .root.Release.Namespace -}}
{{- $namespaces := dict -}}
{{- range $wanted.services -}}{{- $_ := set $namespaces .namespace (list "services") -}}{{- end -}}
{{- if $wanted.jobs -}}{{- $_ := set $namespaces $own (append (get $namespaces $own | default list) "jobs") -}}{{- end -}}
{{- if $wanted.pods -}}{{- $_ := set $namespaces $own (append (get $namespaces $own | default list) "pods") -}}{{- end -}}
{{- range $namespace, $kinds := $namespaces -}}
{{- $rules := list -}}
{{- $core := list -}}
{{- if has "services" $kinds -}}{{- $core = list "services" "endpoints" -}}{{- end -}}
{{- if has "pods" $kinds -}}{{- $core = append $core "pods" -}}{{- end -}}
{{- if $core -}}{{- $rules = append $rules (dict "apiGroups" (list "") "resources" $core "verbs" (list "get" "list")) -}}{{- end -}}
{{- if has "services" $kinds -}}{{- $rules = append $rules (dict "apiGroups" (list "discovery.k8s.io") "resources" (list "endpointslices") "verbs" (list "get" "list")) -}}{{- end -}}
{{- if has "jobs" $kinds -}}{{- $rules = append $rules (dict "apiGroups" (list "batch") "resources" (list "jobs") "verbs" (list "get" "list")) -}}{{- end }}
{{ include "openstack-lib.role" (dict "context" $ "name" (printf "%s-%s-%s" $.root.Release.Name $own (include "openstack-lib.account" $)) "namespace" $namespace "rules" $rules) }}
{{- end -}}
{{- end -}}

{{/* A Role and its binding to the pod's account. */}}
{{- define "openstack-lib.role" -}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: {{ .name }}
  namespace: {{ .namespace }}
  labels:
    {{- include "openstack-lib.labels" .context | nindent 4 }}
rules:
  {{- toYaml .rules | nindent 2 }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: {{ .name }}
  namespace: {{ .namespace }}
  labels:
    {{- include "openstack-lib.labels" .context | nindent 4 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: Role
  name: {{ .name }}
subjects:
  - kind: ServiceAccount
    name: {{ include "openstack-lib.account" .context }}
    namespace: {{ .context.root.Release.Namespace }}
{{- end -}}
