{{- define "mariadb.components" }}
{{- $v := .Values }}
{{- $replicas := int $v.pod.replicas.server }}
{{- $service := include "openstack-lib.endpoint.service" (list . "oslo_db" "internal") }}
{{- $direct := include "openstack-lib.endpoint.service" (list . "oslo_db" "direct") }}
{{- $discovery := include "openstack-lib.endpoint.service" (list . "oslo_db" "discovery") }}
{{- $sql := int (include "openstack-lib.endpoint.port" (list . "oslo_db" "direct" "mysql")) }}
{{- $hostPath := and (eq $replicas 1) $v.volume.use_local_path_for_single_pod_cluster.enabled }}
service: mariadb

config:
  secret: mariadb-secrets
  home: /etc/mysql
  files:
    my.cnf: {template: database.my}
    00-base.cnf: {template: database.00_base, path: /etc/mysql/conf.d/00-base.cnf}
    20-override.cnf: {template: database.config_override, path: /etc/mysql/conf.d/20-override.cnf}
    99-force.cnf: {template: database.99_force, path: /etc/mysql/conf.d/99-force.cnf}

scripts: [kube_api.py]

components:
  - kind: StatefulSet
    name: mariadb-server
    manifest: statefulset
    component: server
    account: {{ .Release.Name }}-mariadb
    serviceName: {{ $discovery }}
    node: server
    replicas: server
    grace: server
    security: server
    slot: mariadb
    # The pod looks by root's password whether its server works: one that has another makes another pod.
    annotations: {mariadb-dbadmin-password-hash: {{ include "openstack-lib.secret" (list . "endpoints.oslo_db.auth.admin.password") | sha256sum }}}
    rules:
      - {apiGroups: [""], resources: [configmaps], resourceNames: [{{ .Release.Name }}-mariadb-state], verbs: [get, patch]}
    {{- if $v.volume.chown_on_start }}
    initContainers:
      - name: mariadb-perms
        security: perms
        image: mariadb
        config: false
        command: [chown, "-R", {{ $v.pod.security_context.server.pod.runAsUser | quote }}, /var/lib/mysql]
        volumeMounts: [{name: mysql-data, mountPath: /var/lib/mysql}]
    {{- end }}
    containers:
      - name: mariadb
        image: mariadb
        resources: server
        command: [/scripts/start.py]
        scratch: [/run/mysqld, /var/log/mysql]
        ports:
          - {name: mysql, containerPort: {{ $sql }}}
          {{- range list "wsrep" "ist" "sst" }}
          - {name: {{ . }}, containerPort: {{ include "openstack-lib.endpoint.port" (list $ "oslo_db" "direct" .) }}}
          {{- end }}
        env:
          POD_NAME: {fieldRef: {fieldPath: metadata.name}}
          POD_IP: {fieldRef: {fieldPath: status.podIP}}
          NAMESPACE: {fieldRef: {fieldPath: metadata.namespace}}
          REPLICAS: {{ $replicas }}
          DISCOVERY_DOMAIN: {{ include "openstack-lib.endpoint.host" (list . "oslo_db" "discovery") }}
          WSREP_PORT: {{ include "openstack-lib.endpoint.port" (list . "oslo_db" "direct" "wsrep") }}
          STATE_CONFIGMAP: {{ .Release.Name }}-mariadb-state
          SETUP_WAIT_SECONDS: {{ mul $v.conf.mariadb_server.setup_wait.iteration $v.conf.mariadb_server.setup_wait.duration }}
          MYSQL_HISTFILE: {{ $v.conf.database.mysql_histfile }}
          {{- range $kind := list "admin" "sst" "audit" }}
          MYSQL_DB{{ upper $kind }}_USERNAME: {{ (get $v.endpoints.oslo_db.auth $kind).username }}
          MYSQL_DB{{ upper $kind }}_PASSWORD: {secretKeyRef: {name: mariadb-db{{ $kind }}-password, key: MYSQL_DB{{ upper $kind }}_PASSWORD}}
          {{- end }}
        probes:
          values: server.mariadb
          readiness: {exec: {command: [/scripts/probe.sh, ready]}}
          # New data, recovery after a crash and a copy from another server take as long as they take: a day at most.
          startup: {exec: {command: [/scripts/probe.sh, started]}, periodSeconds: 10, timeoutSeconds: 15, failureThreshold: 8640}
          liveness: {exec: {command: [/scripts/probe.sh, alive]}}
        volumeMounts: [{name: mysql-data, mountPath: /var/lib/mysql}]
    {{- if $hostPath }}
    volumes:
      - {name: mysql-data, hostPath: {path: {{ $v.volume.use_local_path_for_single_pod_cluster.host_path }}, type: DirectoryOrCreate}}
    {{- else if $v.volume.enabled }}
    claims:
      - {name: mysql-data, class: {{ $v.volume.class_name | quote }}, size: {{ $v.volume.size }}}
    {{- else }}
    volumes: [{name: mysql-data, emptyDir: {}}]
    {{- end }}

  {{- if gt $replicas 1 }}
  # Galera takes writes everywhere, but OpenStack's transactions do not bear it: one server is the primary.
  - kind: Deployment
    name: mariadb-controller
    manifest: deployment_controller
    component: controller
    node: controller
    replicas: controller
    dependencies: controller
    security: controller
    slot: mariadb_controller
    role: {{ .Release.Name }}-mariadb-controller-pod
    rules:
      - {apiGroups: [""], resources: [pods], verbs: [get, list, patch]}
    containers:
      - name: controller
        image: mariadb_controller
        resources: controller
        config: false
        command: [/scripts/primary.py]
        env:
          NAMESPACE: {fieldRef: {fieldPath: metadata.namespace}}
          POD_SELECTOR: release_group={{ $v.release_group | default .Release.Name }},application=mariadb,component=server
  {{- end }}

services:
  - name: {{ $service }}
    manifest: service
    component: server
    network: mariadb
    {{- if gt $replicas 1 }}
    selector: {mariadb_role: primary}
    {{- end }}
    ports: [{name: mysql, port: {{ $sql }}}]
  - name: {{ $direct }}
    manifest: service_master
    component: server
    network: mariadb_master
    ports: [{name: mysql, port: {{ $sql }}}]
  - name: {{ $discovery }}
    manifest: service_discovery
    component: server
    network: mariadb_discovery
    headless: true
    unready: true
    ports:
      - {name: mysql, port: {{ $sql }}}
      {{- range list "wsrep" "ist" "sst" }}
      - {name: {{ . }}, port: {{ include "openstack-lib.endpoint.port" (list $ "oslo_db" "direct" .) }}}
      {{- end }}

budgets:
  - {name: mariadb-server, manifest: pdb_server, component: server, budget: mariadb}

credentials: {}

secrets:
  {{- range $kind, $switch := dict "admin" "secret_dbadmin_password" "sst" "secret_sst_password" "audit" "secret_dbaudit_password" }}
  - name: mariadb-db{{ $kind }}-password
    manifest: {{ $switch }}
    data:
      MYSQL_DB{{ upper $kind }}_PASSWORD: {{ include "openstack-lib.secret" (list $ (printf "endpoints.oslo_db.auth.%s.password" $kind)) | quote }}
  {{- end }}
{{- end }}
