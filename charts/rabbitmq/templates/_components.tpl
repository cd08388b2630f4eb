{{- define "rabbitmq.components" }}
{{- $v := .Values }}
{{- $service := include "openstack-lib.endpoint.service" (list . "oslo_messaging" "internal") }}
{{- $amqp := int (include "openstack-lib.endpoint.port" (list . "oslo_messaging" "internal" "amqp")) }}
{{- $http := int (include "openstack-lib.endpoint.port" (list . "oslo_messaging" "internal" "http")) }}
{{- $metrics := int (include "openstack-lib.endpoint.port" (list . "oslo_messaging" "internal" "metrics")) }}
{{- $clustering := add $amqp 20000 }}
service: rabbitmq
bin: {{ .Release.Name }}-rabbitmq-bin

# A Secret, where upstream has a ConfigMap: the definitions hold the users.
config:
  secret: {{ .Release.Name }}-rabbitmq-etc
  files:
    rabbitmq.conf: {text: {{ include "rabbitmq.conf" . | quote }}}
    enabled_plugins: {text: {{ printf "[%s]." (join "," $v.conf.enabled_plugins) | quote }}}
    definitions.json: {text: {{ include "rabbitmq.definitions" . | quote }}}
    {{- if $v.conf.rabbit_advanced_config.enabled }}
    advanced.config: {text: "[{rabbit, [{default_consumer_prefetch, {false, {{ $v.conf.rabbit_advanced_config.default_consumer_prefetch | int }}}}]}]."}
    {{- end }}

scripts: [http.sh]

components:
  - kind: StatefulSet
    name: {{ .Release.Name }}-rabbitmq
    manifest: statefulset
    component: server
    serviceName: {{ $service }}
    node: server
    replicas: server
    dependencies: rabbitmq
    security: server
    slot: rabbitmq
    # What is in its queues it writes to its volume before it ends.
    graceSeconds: 120
    {{- if $v.network.host_namespace }}
    host: {hostNetwork: true}
    {{- end }}
    {{- if $v.monitoring.prometheus.enabled }}
    annotations: {prometheus.io/scrape: {{ $v.monitoring.prometheus.rabbitmq.scrape | quote }}, prometheus.io/port: {{ $metrics | quote }}}
    {{- end }}
    {{- if $v.volume.chown_on_start }}
    initContainers:
      - name: rabbitmq-perms
        image: rabbitmq
        config: false
        command: [chown, -R, {{ $v.pod.security_context.server.pod.runAsUser | quote }}, /var/lib/rabbitmq]
        volumeMounts: [{name: rabbitmq-data, mountPath: /var/lib/rabbitmq}]
    {{- end }}
    containers:
      - name: rabbitmq
        image: rabbitmq
        resources: server
        command: [/scripts/rabbitmq.sh]
        scratch: [/var/log/rabbitmq]
        ports:
          - {name: amqp, containerPort: {{ $amqp }}}
          - {name: clustering, containerPort: {{ $clustering }}}
          - {name: http, containerPort: {{ $http }}}
          - {name: metrics, containerPort: {{ $metrics }}}
          - {name: epmd, containerPort: 4369}
        env:
          MY_POD_NAME: {fieldRef: {fieldPath: metadata.name}}
          K8S_SERVICE_NAME: {{ $service }}
          K8S_HOSTNAME_SUFFIX: .{{ include "openstack-lib.endpoint.host" (list . "oslo_messaging" "internal") }}
          RABBITMQ_USE_LONGNAME: "true"
          RABBITMQ_CONFIG_FILE: /etc/rabbitmq/rabbitmq.conf
          RABBITMQ_ENABLED_PLUGINS_FILE: /etc/rabbitmq/enabled_plugins
          RABBITMQ_FEATURE_FLAGS: {{ ternary "" $v.conf.feature_flags (eq ($v.conf.feature_flags | default "") "default") | quote }}
          RABBITMQ_FORCE_BOOT: {{ $v.forceBoot.enabled | quote }}
          RABBITMQ_LOGS: "-"
          RABBITMQ_HTTP_PORT: {{ $http }}
          RABBITMQ_ADMIN_CONNECTION: {secretKeyRef: {name: {{ .Release.Name }}-admin-user, key: RABBITMQ_ADMIN_CONNECTION}}
        probes:
          values: rabbitmq.rabbitmq
          readiness: {exec: {command: [/scripts/probe.sh]}}
          # The node's own port, which opens before the broker does: a node that waits for the others is well.
          # Until then the first start may wait for the first pod, and a busy node be slow.
          startup: {tcpSocket: {port: clustering}, periodSeconds: 5, failureThreshold: 240}
          liveness: {tcpSocket: {port: clustering}}
        volumeMounts:
          - {name: rabbitmq-data, mountPath: /var/lib/rabbitmq}
          - {name: erlang-cookie, mountPath: /run/erlang-cookie, readOnly: true}
    volumes:
      - {name: erlang-cookie, secret: {secretName: {{ .Release.Name }}-erlang-cookie, defaultMode: 0444}}
      {{- if $v.volume.use_local_path.enabled }}
      - {name: rabbitmq-data, hostPath: {path: {{ $v.volume.use_local_path.host_path }}, type: DirectoryOrCreate}}
      {{- else if not $v.volume.enabled }}
      - {name: rabbitmq-data, emptyDir: {}}
      {{- end }}
    {{- if and $v.volume.enabled (not $v.volume.use_local_path.enabled) }}
    claims:
      - {name: rabbitmq-data, class: {{ $v.volume.class_name | quote }}, size: {{ $v.volume.size }}}
    {{- end }}

jobs:
  - name: {{ .Release.Name }}-cluster-wait
    manifest: job_cluster_wait
    component: cluster-wait
    node: jobs
    weight: 5
    dependencies: cluster_wait
    security: cluster_wait
    slot: rabbitmq_cluster_wait
    containers:
      - name: rabbitmq-cluster-wait
        image: scripted_test
        config: false
        command: [/scripts/cluster-wait.sh]
        env:
          RABBITMQ_ADMIN_CONNECTION: {secretKeyRef: {name: {{ .Release.Name }}-admin-user, key: RABBITMQ_ADMIN_CONNECTION}}
          RABBITMQ_REPLICAS: {{ $v.pod.replicas.server }}

services:
  - name: {{ $service }}
    manifest: service
    component: server
    headless: true
    unready: true
    ports:
      - {name: amqp, port: {{ $amqp }}}
      - {name: clustering, port: {{ $clustering }}}
      - {name: http, port: {{ $http }}}
      - {name: metrics, port: {{ $metrics }}}

secrets:
  - name: {{ .Release.Name }}-erlang-cookie
    manifest: secret_erlang_cookie
    data:
      erlang_cookie: {{ include "openstack-lib.secret" (list . "endpoints.oslo_messaging.auth.erlang_cookie") | quote }}
  - name: {{ .Release.Name }}-admin-user
    manifest: secret_admin_user
    data:
      RABBITMQ_ADMIN_CONNECTION: {{ include "openstack-lib.broker_uri" (list . "user") | quote }}
{{- end }}
