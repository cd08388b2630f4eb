{{/*
The other objects of a chart, and the chart as a whole.
*/}}

{{- define "openstack-lib.metadata" -}}
metadata:
  name: {{ .name }}
  namespace: {{ .root.Release.Namespace }}
  labels:
    {{- include "openstack-lib.chart_labels" .root | nindent 4 }}
    application: {{ .chart.service }}
{{- end -}}

{{/* A Service: {name, component, ports: [{name, port, target?}], headless, network: key below values.network, selector}. */}}
{{- define "openstack-lib.service" -}}
{{- $x := .x -}}
{{- $network := (include "openstack-lib.get" (list (.root.Values.network | default dict) ($x.network | default "-")) | fromJson).v | default dict -}}
{{- $node := $network.node_port | default dict -}}
---
apiVersion: v1
kind: Service
{{ include "openstack-lib.metadata" (dict "root" .root "chart" .chart "name" $x.name) }}
spec:
  {{- if $x.headless }}
  clusterIP: None
  {{- end }}
  {{- if $x.unready }}
  publishNotReadyAddresses: true
  {{- end }}
  {{- if $node.enabled }}
  type: NodePort
  {{- if $network.external_policy_local }}
  externalTrafficPolicy: Local
  {{- end }}
  {{- end }}
  selector:
    {{- include "openstack-lib.selector" . | nindent 4 }}
    {{- with $x.selector }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  ports:
    {{- range $x.ports }}
    - name: {{ .name }}
      port: {{ .port }}
      {{- with $network.target_port }}
      targetPort: {{ . }}
      {{- end }}
      {{- if $node.enabled }}
      nodePort: {{ $node.port }}
      {{- end }}
    {{- end }}
{{- end -}}

{{/* {name, component, budget: key of pod.lifecycle.disruption_budget} */}}
{{- define "openstack-lib.disruption_budget" -}}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
{{ include "openstack-lib.metadata" (dict "root" .root "chart" .chart "name" .x.name) }}
spec:
  minAvailable: {{ (get .root.Values.pod.lifecycle.disruption_budget .x.budget).min_available }}
  selector:
    matchLabels:
      {{- include "openstack-lib.selector" . | nindent 6 }}
{{- end -}}

{{/* Rules of values.network_policy for all pods of the application in this release. */}}
{{- define "openstack-lib.network_policies" -}}
{{- $prefix := ternary "" (printf "%s-" .root.Release.Name) (eq .root.Release.Name .root.Chart.Name) -}}
{{- range $application, $rules := .root.Values.network_policy }}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
{{ include "openstack-lib.metadata" (dict "root" $.root "chart" $.chart "name" (printf "%s%s-netpol" $prefix $application)) }}
spec:
  podSelector:
    matchLabels:
      release_group: {{ $.root.Values.release_group | default $.root.Release.Name }}
      application: {{ $application }}
  policyTypes: [Ingress, Egress]
  ingress:
    {{- tpl (toYaml $rules.ingress) $.root | nindent 4 }}
  egress:
    {{- tpl (toYaml $rules.egress) $.root | nindent 4 }}
{{- end }}
{{- end -}}

{{/* {name, data: map of text, annotations, labels} */}}
{{- define "openstack-lib.secret_object" -}}
---
apiVersion: v1
kind: Secret
{{ include "openstack-lib.metadata" (dict "root" .root "chart" .chart "name" .x.name) }}
  {{- with .x.annotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
type: Opaque
{{- with .x.data }}
data:
  {{- range $key, $value := . }}
  {{ $key }}: {{ $value | toString | b64enc }}
  {{- end }}
{{- end }}
{{- end -}}

{{/* The environment of an OpenStack client as endpoints.identity.auth.<user>. List: root, user. YAML map. */}}
{{- define "openstack-lib.openrc" -}}
{{- $root := index . 0 -}}
{{- $auth := index $root.Values.endpoints.identity.auth (index . 1) -}}
OS_IDENTITY_API_VERSION: "3"
OS_AUTH_URL: {{ $auth.auth_url | default (include "openstack-lib.endpoint.uri" (list $root "identity" "internal" "api")) | quote }}
OS_REGION_NAME: {{ $auth.region_name | quote }}
OS_INTERFACE: internal
OS_ENDPOINT_TYPE: internalURL
OS_PROJECT_DOMAIN_NAME: {{ $auth.project_domain_name | quote }}
OS_PROJECT_NAME: {{ $auth.project_name | quote }}
OS_USER_DOMAIN_NAME: {{ $auth.user_domain_name | quote }}
OS_USERNAME: {{ $auth.username | quote }}
OS_DEFAULT_DOMAIN: {{ $auth.default_domain_id | default "default" | quote }}
OS_PASSWORD: {{ include "openstack-lib.secret" (list $root (printf "endpoints.identity.auth.%s.password" (index . 1))) | quote }}
{{- end -}}

{{/*
The Secrets that the standard Jobs read: one for each user in `credentials.identity`, database endpoint in
`credentials.databases`, and the two of the message broker.
*/}}
{{- define "openstack-lib.credential_secrets" -}}
{{- $root := .root -}}
{{- $chart := .chart -}}
{{- $v := $root.Values -}}
{{- if $v.manifests.secret_keystone }}
{{- range $user := $chart.credentials.identity }}
{{- if or (get $v.endpoints.identity.auth $user).password (not (has $user ($chart.credentials.optional | default list))) }}
{{ include "openstack-lib.secret_object" (dict "root" $root "chart" $chart "x" (dict "name" (get $v.secrets.identity $user) "data" (include "openstack-lib.openrc" (list $root $user) | fromYaml))) }}
{{- end }}
{{- end }}
{{- end }}
{{- range $type, $users := $chart.credentials.databases }}
{{- if get $v.manifests ($type | replace "oslo_db" "secret_db") }}
{{- range $user := $users }}
{{- $scope := ternary "server" "database" (eq $user "admin") }}
{{ include "openstack-lib.secret_object" (dict "root" $root "chart" $chart "x" (dict "name" (index $v.secrets $type $user) "data" (dict "DB_CONNECTION" (include "openstack-lib.database_uri" (list $root $type $user $scope))))) }}
{{- end }}
{{- end }}
{{- end }}
{{- if and $chart.credentials.messaging $v.manifests.secret_rabbitmq }}
{{- range $user := list "admin" $chart.service }}
{{ include "openstack-lib.secret_object" (dict "root" $root "chart" $chart "x" (dict "name" (get $v.secrets.oslo_messaging $user) "data" (dict "RABBITMQ_CONNECTION" (include "openstack-lib.broker_uri" (list $root $user))))) }}
{{- end }}
{{- end }}
{{- end -}}

{{/* Address of the broker's management API for a user, with the virtual host. List: root, user. */}}
{{- define "openstack-lib.broker_uri" -}}
{{- $root := index . 0 -}}
{{- $user := index . 1 -}}
{{- $entry := $root.Values.endpoints.oslo_messaging -}}
{{- $path := ternary "/" $entry.path (eq $user "admin") -}}
{{- printf "http://%s:%s@%s:%s%s" (get $entry.auth $user).username (include "openstack-lib.endpoint.password" (list $root "oslo_messaging" $user)) (include "openstack-lib.endpoint.host" (list $root "oslo_messaging" "internal")) (include "openstack-lib.endpoint.port" (list $root "oslo_messaging" "internal" "http")) $path -}}
{{- end -}}

{{/* A volume claim that outlives the release: {name, class, size, modes, keep}. */}}
{{- define "openstack-lib.claim" -}}
---
apiVersion: v1
kind: PersistentVolumeClaim
{{ include "openstack-lib.metadata" (dict "root" .root "chart" .chart "name" .x.name) }}
  {{- if .x.keep }}
  annotations:
    helm.sh/resource-policy: keep
  {{- end }}
spec:
  accessModes: {{ toJson .x.modes }}
  {{- with .x.class }}
  storageClassName: {{ . }}
  {{- end }}
  resources:
    requests:
      storage: {{ .x.size }}
{{- end -}}
