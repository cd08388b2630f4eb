{{- define "keystone.components" }}
{{- $api := int (include "openstack-lib.endpoint.port" (list . "identity" "service" "api")) }}
{{- $apache := .Values.conf.software.apache2 }}
service: keystone

config:
  files:
    keystone.conf:
      ini: keystone
      derived:
        DEFAULT: {transport_url: {{ include "openstack-lib.transport_url" (list . "keystone") | quote }}}
        {{- if .Values.conf.ks_domains }}
        # The domains' own settings are written through the API, not read from files at start.
        identity: {domain_configurations_from_database: true}
        {{- end }}
        cache: {memcache_servers: {{ include "openstack-lib.memcached_servers" . | quote }}}
      blank:
        database: {connection: {{ include "openstack-lib.database_uri" (list . "oslo_db" "keystone") | quote }}}
    logging.conf: {ini: logging}
    policy.yaml: {yaml: policy}
    access_rules.json: {json: access_rules}
    sso_callback_template.html: {template: sso_callback_template}
    ks_domains.json: {json: ks_domains, only: [keystone_domain_manage]}
    ports.conf: {text: "", path: /etc/apache2/ports.conf, only: [keystone_api]}
    wsgi-keystone.conf: {template: wsgi_keystone, path: {{ $apache.conf_dir }}/wsgi-keystone.conf, only: [keystone_api]}
    wsgi.py: {template: wsgi_script, path: /var/www/cgi-bin/keystone/wsgi.py, only: [keystone_api]}
    mpm_event.conf: {template: mpm_event, path: {{ $apache.mods_dir }}/mpm_event.conf, only: [keystone_api]}
    security.conf: {template: security, path: {{ $apache.conf_dir }}/security.conf, only: [keystone_api]}

scripts: [db-init.py, http.sh, rabbit-init.sh, bootstrap.sh, kube_api.py]

components:
  - kind: Deployment
    name: keystone-api
    manifest: deployment_api
    component: api
    node: api
    replicas: api
    grace: api
    dependencies: api
    security: keystone
    slot: keystone_api
    volumesForUser: true
    volumes: {{ include "keystone.key_volumes" . }}
    containers:
      - name: keystone-api
        image: keystone_api
        resources: api
        command: [/scripts/keystone-api.sh, start]
        lifecycle: {preStop: {exec: {command: [/scripts/keystone-api.sh, stop]}}}
        ports: [{name: ks-pub, containerPort: {{ $api }}}]
        probes:
          values: api.api
          {{- range list "readiness" "liveness" }}
          {{ . }}: {httpGet: {path: {{ $.Values.endpoints.identity.path.healthcheck }}, port: {{ $api }}}}
          {{- end }}
        scratch: [/var/lock, /var/run/apache2, /var/log/apache2]
        volumeMounts: {{ include "keystone.key_mounts" . }}

standardJobs:
  db_init:
    weight: -5
    databases: [{admin: {{ .Values.secrets.oslo_db.admin }}, file: /etc/keystone/keystone.conf, section: database}]
  db_sync:
    weight: -4
    image: keystone_db_sync
    volumesForUser: true
    env:
      OS_BOOTSTRAP_USERNAME: {secretKeyRef: {name: {{ .Values.secrets.identity.admin }}, key: OS_USERNAME}}
      OS_BOOTSTRAP_PASSWORD: {secretKeyRef: {name: {{ .Values.secrets.identity.admin }}, key: OS_PASSWORD}}
      OS_BOOTSTRAP_PROJECT_NAME: {secretKeyRef: {name: {{ .Values.secrets.identity.admin }}, key: OS_PROJECT_NAME}}
      OS_BOOTSTRAP_REGION_ID: {secretKeyRef: {name: {{ .Values.secrets.identity.admin }}, key: OS_REGION_NAME}}
      OS_BOOTSTRAP_SERVICE_NAME: {{ .Values.endpoints.identity.name }}
      OS_BOOTSTRAP_ROLE_NAME: admin
      {{- range list "admin" "internal" "public" }}
      OS_BOOTSTRAP_{{ upper . }}_URL: {{ include "keystone.url" (list $ .) }}
      {{- end }}
    volumes: {{ include "keystone.key_volumes" . }}
    volumeMounts: {{ include "keystone.key_mounts" . }}
  rabbit_init: {weight: -4}
  bootstrap: {weight: 5}

jobs:
  {{- range $kind := list "fernet" "credential" }}
  - name: keystone-{{ $kind }}-setup
    manifest: job_{{ $kind }}_setup
    component: {{ $kind }}-setup
    weight: -5
    dependencies: {{ $kind }}_setup
    security: {{ $kind }}_setup
    slot: keystone_{{ $kind }}_setup
    rules: {{ include "keystone.key_rules" $kind }}
    containers:
      - name: keystone-{{ $kind }}-setup
        {{- include "keystone.key_container" (list $ $kind "setup") | nindent 8 }}
  - name: keystone-{{ $kind }}-rotate
    manifest: cron_{{ $kind }}_rotate
    component: {{ $kind }}-rotate
    schedule: {{ (get $.Values.jobs (printf "%s_rotate" $kind)).cron | quote }}
    history: {{ (get $.Values.jobs (printf "%s_rotate" $kind)).history | toJson }}
    dependencies: {{ $kind }}_rotate
    security: fernet_rotate
    slot: keystone_{{ $kind }}_rotate
    rules: {{ include "keystone.key_rules" $kind }}
    containers:
      - name: keystone-{{ $kind }}-rotate
        security: keystone_fernet_rotate
        {{- include "keystone.key_container" (list $ $kind "rotate") | nindent 8 }}
  {{- end }}
  - name: keystone-domain-manage
    manifest: job_domain_manage
    component: domain-manage
    weight: 0
    dependencies: domain_manage
    security: domain_manage
    slot: keystone_domain_manage
    containers:
      - name: keystone-domain-manage
        image: bootstrap
        resources: jobs.domain_manage
        command: [/scripts/domain-manage.py]
        envFrom: [{secretRef: {name: {{ .Values.secrets.identity.admin }}}}]
        env:
          {{- range list "admin" "internal" "public" }}
          IDENTITY_{{ upper . }}_URL: {{ include "keystone.url" (list $ .) }}
          {{- end }}

services:
  - name: {{ include "openstack-lib.endpoint.service" (list . "identity" "internal") }}
    manifest: service_api
    component: api
    network: api
    ports: [{name: ks-pub, port: {{ include "openstack-lib.endpoint.port" (list . "identity" "internal" "api") }}}]

budgets:
  - {name: keystone-api, manifest: pdb_api, component: api, budget: api}

credentials:
  identity: [admin]
  databases: {oslo_db: [admin]}
  messaging: true

# Created before everything else and always kept: without the keys, tokens and stored credentials are
# unreadable.
secrets:
  {{- range $kind := list "fernet" "credential" }}
  - name: keystone-{{ $kind }}-keys
    manifest: secret_{{ $kind }}_keys
    annotations:
      helm.sh/hook: pre-install
      helm.sh/hook-delete-policy: hook-failed
      helm.sh/resource-policy: keep
  {{- end }}
{{- end }}

{{/*
The URL of Keystone at an interface. The name that all others fall back to is the public one, which is made elsewhere;
clients at the admin interface are inside the region. List: root, interface.
*/}}
{{- define "keystone.url" -}}
{{- $root := index . 0 -}}
{{- $interface := index . 1 -}}
{{- $entry := $root.Values.endpoints.identity -}}
{{- if and (eq $interface "admin") (not (or $entry.hosts.admin $entry.host_fqdn_override.admin)) -}}{{- $interface = "internal" -}}{{- end -}}
{{- include "openstack-lib.endpoint.uri" (list $root "identity" $interface "api") -}}
{{- end -}}
