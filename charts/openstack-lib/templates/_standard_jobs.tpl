{{/*
The Jobs that every OpenStack service needs, from `standardJobs` of a chart's description, as a YAML list of components.
Given: dict of root and chart. Keys of standardJobs, all optional:
  db_init: {weight, databases: [{uri, section, option, admin}]}   uri: text; admin: name of the Secret with the root URI
  db_sync: {weight, image, script}   script: db-sync.sh by default
  rabbit_init: {weight}
  ks_service: {weight, services: [{name, type}]}
  ks_endpoints: {weight, services: [{name, type, endpoint}]}
  ks_user: {weight, users: [name in endpoints.identity.auth]}
  bootstrap: {weight}; {} for a plain Job
*/}}
{{- define "openstack-lib.standard_jobs" -}}
{{- $root := .root -}}
{{- $chart := .chart -}}
{{- $service := $chart.service -}}
{{- $v := $root.Values -}}
{{- with $chart.standardJobs.db_init }}
- name: {{ $service }}-db-init
  manifest: job_db_init
  component: db-init
  dependencies: db_init
  slot: {{ $service }}_db_init
  security: db_init
  {{- include "openstack-lib.standard_weight" . | nindent 2 }}
  containers:
    {{- range $i, $database := .databases }}
    - name: {{ $service }}-db-init-{{ $i }}
      image: db_init
      resources: jobs.db_init
      command: [/scripts/db-init.py]
      securityDefault: {{ include "openstack-lib.unprivileged" $ }}
      env:
        ROOT_DB_CONNECTION: {secretKeyRef: {name: {{ $database.admin }}, key: DB_CONNECTION}}
        OPENSTACK_CONFIG_FILE: {{ $database.file }}
        OPENSTACK_CONFIG_DB_SECTION: {{ $database.section }}
        OPENSTACK_CONFIG_DB_KEY: connection
        {{- with $database.uriSecret }}
        DB_CONNECTION: {secretKeyRef: {name: {{ . }}, key: DB_CONNECTION}}
        {{- end }}
    {{- end }}
{{- end }}
{{- with $chart.standardJobs.db_sync }}
- name: {{ $service }}-db-sync
  manifest: job_db_sync
  component: db-sync
  dependencies: db_sync
  slot: {{ $service }}_db_sync
  # A partly migrated schema must be repaired by hand.
  finishes: true
  graceSeconds: 600
  security: {{ $service }}
  {{- include "openstack-lib.standard_weight" . | nindent 2 }}
  volumesForUser: {{ .volumesForUser | default false }}
  volumes: {{ .volumes | default list | toJson }}
  containers:
    - name: {{ $service }}-db-sync
      image: {{ .image }}
      resources: jobs.db_sync
      command: [/scripts/{{ .script | default "db-sync.sh" }}]
      scratch: {{ .scratch | default (list "/var/lock") | toJson }}
      volumeMounts: {{ .volumeMounts | default list | toJson }}
      env: {{ .env | default dict | toJson }}
      securityDefault: {{ include "openstack-lib.unprivileged" $ }}
{{- end }}
{{- with $chart.standardJobs.rabbit_init }}
- name: {{ $service }}-rabbit-init
  manifest: job_rabbit_init
  component: rabbit-init
  dependencies: rabbit_init
  slot: {{ $service }}_rabbit_init
  {{- include "openstack-lib.standard_weight" . | nindent 2 }}
  containers:
    - name: rabbit-init
      image: rabbit_init
      resources: jobs.rabbit_init
      command: [/scripts/rabbit-init.sh]
      config: false
      securityDefault: {{ include "openstack-lib.unprivileged" $ }}
      env:
        RABBITMQ_ADMIN_CONNECTION: {secretKeyRef: {name: {{ $v.secrets.oslo_messaging.admin }}, key: RABBITMQ_CONNECTION}}
        RABBITMQ_USER_CONNECTION: {secretKeyRef: {name: {{ get $v.secrets.oslo_messaging $service }}, key: RABBITMQ_CONNECTION}}
        RABBITMQ_POLICIES: {{ include "openstack-lib.broker_policies" $v | trim | quote }}
{{- end }}
{{- with $chart.standardJobs.ks_service }}
- name: {{ $service }}-ks-service
  manifest: job_ks_service
  component: ks-service
  dependencies: ks_service
  slot: {{ $service }}_ks_service
  {{- include "openstack-lib.standard_weight" . | nindent 2 }}
  containers:
    - name: ks-service
      {{- include "openstack-lib.keystone_client" (dict "root" $root "chart" $chart "image" "ks_service" "script" "ks.py" "arguments" (list "services")) | nindent 6 }}
      env:
        WANTED: {{ .services | toJson | quote }}
{{- end }}
{{- with $chart.standardJobs.ks_endpoints }}
{{- $wanted := list }}
{{- range $entry := .services }}
{{- range list "admin" "internal" "public" }}
{{- $wanted = append $wanted (dict "type" $entry.type "interface" . "url" (include "openstack-lib.endpoint.uri" (list $root $entry.endpoint . "api"))) }}
{{- end }}
{{- end }}
- name: {{ $service }}-ks-endpoints
  manifest: job_ks_endpoints
  component: ks-endpoints
  dependencies: ks_endpoints
  slot: {{ $service }}_ks_endpoints
  {{- include "openstack-lib.standard_weight" . | nindent 2 }}
  containers:
    - name: ks-endpoints
      {{- include "openstack-lib.keystone_client" (dict "root" $root "chart" $chart "image" "ks_endpoints" "script" "ks.py" "arguments" (list "endpoints")) | nindent 6 }}
      env:
        WANTED: {{ $wanted | toJson | quote }}
{{- end }}
{{- with $chart.standardJobs.ks_user }}
{{- $wanted := list }}
{{- range $i, $user := .users }}
{{- with get $v.endpoints.identity.auth $user }}
{{- if .password }}
{{- $wanted = append $wanted (dict "user" $user "login" (printf "USER%d_" $i) "roles" (.role | splitList "," )) }}
{{- end }}
{{- end }}
{{- end }}
- name: {{ $service }}-ks-user
  manifest: job_ks_user
  component: ks-user
  dependencies: ks_user
  slot: {{ $service }}_ks_user
  {{- include "openstack-lib.standard_weight" . | nindent 2 }}
  containers:
    - name: ks-user
      {{- include "openstack-lib.keystone_client" (dict "root" $root "chart" $chart "image" "ks_user" "script" "ks.py" "arguments" (list "users")) | nindent 6 }}
      {{- range $wanted }}
        - prefix: {{ .login }}
          secretRef: {name: {{ get $v.secrets.identity .user }}}
      {{- end }}
      env:
        WANTED: {{ $wanted | toJson | quote }}
{{- end }}
{{- if hasKey $chart.standardJobs "bootstrap" }}
{{- if $v.bootstrap.enabled }}
- name: {{ $service }}-bootstrap
  manifest: job_bootstrap
  component: bootstrap
  dependencies: bootstrap
  slot: {{ $service }}_bootstrap
  security: bootstrap
  {{- include "openstack-lib.standard_weight" $chart.standardJobs.bootstrap | nindent 2 }}
  containers:
    - name: bootstrap
      {{- include "openstack-lib.keystone_client" (dict "root" $root "chart" $chart "image" "bootstrap" "script" "bootstrap.sh" "user" $v.bootstrap.ks_user) | nindent 6 }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "openstack-lib.standard_weight" -}}
{{- if hasKey . "weight" -}}
weight: {{ .weight }}
{{- end -}}
{{- end -}}

{{/* A container that calls Keystone as the admin (or `user`); ends in envFrom, which a caller may go on with. */}}
{{- define "openstack-lib.keystone_client" -}}
image: {{ .image }}
resources: jobs.{{ .image }}
command: {{ prepend (.arguments | default list) (printf "/scripts/%s" .script) | toJson }}
config: false
securityDefault: {{ include "openstack-lib.unprivileged" . }}
envFrom:
  - secretRef: {name: {{ get .root.Values.secrets.identity (.user | default "admin") }}}
{{- end -}}

{{/* What a Job's container may do where the values say nothing of it. */}}
{{- define "openstack-lib.unprivileged" -}}
{"runAsUser": 65534, "runAsNonRoot": true, "allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true, "capabilities": {"drop": ["ALL"]}}
{{- end -}}

{{/* One line for each policy: virtual host, slash, name, blank, body as the management API takes it. */}}
{{- define "openstack-lib.broker_policies" -}}
{{- range (.conf.rabbitmq | default dict).policies }}
{{ urlquery .vhost }}/{{ urlquery .name }} {{ dict "pattern" .pattern "definition" .definition "priority" (.priority | default 0) "apply-to" (get . "apply-to" | default "all") | toRawJson }}
{{- end }}
{{- end -}}
