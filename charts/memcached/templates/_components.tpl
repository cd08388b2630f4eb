{{- define "memcached.components" }}
{{- $port := int (include "openstack-lib.endpoint.port" (list . "oslo_cache" "internal" "memcache")) }}
service: memcached
bin: {{ .Release.Name }}-memcached-bin

components:
  - kind: StatefulSet
    name: {{ .Release.Name }}-memcached
    manifest: statefulset
    component: server
    serviceName: {{ include "openstack-lib.endpoint.service" (list . "oslo_cache" "internal") }}
    node: server
    replicas: server
    grace: memcached
    dependencies: memcached
    security: server
    slot: memcached
    containers:
      - name: memcached
        image: memcached
        resources: server
        command: [/scripts/memcached.sh]
        ports: [{name: memcache, containerPort: {{ $port }}}]
        probes:
          values: memcached.memcached
          readiness: {tcpSocket: {port: {{ $port }}}}
          liveness: {tcpSocket: {port: {{ $port }}}}

services:
  - name: {{ include "openstack-lib.endpoint.service" (list . "oslo_cache" "internal") }}
    manifest: service
    component: server
    headless: true
    ports:
      - {name: memcache, port: {{ $port }}}
      {{- range .Values.memcached.extraServicePorts }}
      - {{ toJson . }}
      {{- end }}
{{- end }}
