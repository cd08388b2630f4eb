{{- define "nova.components" }}
{{- $v := .Values }}
{{- $conf := $v.conf }}
{{- $nova := $conf.nova }}
{{- $osapi := int (include "openstack-lib.endpoint.port" (list . "compute" "service" "api")) }}
{{- $metadata := int (include "openstack-lib.endpoint.port" (list . "compute_metadata" "internal" "metadata")) }}
{{- $novnc := int (include "openstack-lib.endpoint.port" (list . "compute_novnc_proxy" "internal" "novnc_proxy")) }}
{{- $amqp := include "openstack-lib.endpoint.port" (list . "oslo_messaging" "internal" "amqp") }}
{{- $broker := include "openstack-lib.endpoint.host" (list . "oslo_messaging" "internal") }}
{{- $sql := include "openstack-lib.endpoint.port" (list . "oslo_db" "internal" "mysql") }}
{{- $internal := dict "valid_interfaces" "internal" }}
{{- $shared := dict "metadata_proxy_shared_secret" (include "openstack-lib.secret" (list . "conf.nova.neutron.metadata_proxy_shared_secret")) }}
{{- $ceph := $v.conf.ceph.enabled }}
service: nova

config:
  files:
    nova.conf:
      ini: nova
      derived:
        DEFAULT:
          transport_url: {{ include "openstack-lib.transport_url" (list . "nova") | quote }}
          osapi_compute_listen_port: {{ $osapi }}
        keystone_authtoken: {{ include "openstack-lib.authtoken" (list . "nova") | fromYaml | toJson }}
        service_user: {{ include "openstack-lib.keystone_login" (list . "service") | fromYaml | toJson }}
        neutron: {{ include "openstack-lib.keystone_login" (list . "neutron") | fromYaml | merge $shared $internal | toJson }}
        placement: {{ include "openstack-lib.keystone_login" (list . "placement") | fromYaml | merge (deepCopy $internal) | toJson }}
        {{- if $v.endpoints.identity.auth.cinder.password }}
        cinder: {{ omit (include "openstack-lib.keystone_login" (list . "cinder") | fromYaml) "region_name" | toJson }}
        {{- end }}
        glance: {valid_interfaces: internal, region_name: {{ $v.endpoints.identity.auth.nova.region_name }}}
        cache: {memcache_servers: {{ include "openstack-lib.memcached_servers" . | quote }}}
        vnc:
          novncproxy_port: {{ $novnc }}
          novncproxy_base_url: {{ include "openstack-lib.endpoint.uri" (list . "compute_novnc_proxy" "public" "novnc_proxy") }}
      blank:
        api_database: {connection: {{ include "openstack-lib.database_uri" (list . "oslo_db" "nova") | quote }}}
        database: {connection: {{ include "openstack-lib.database_uri" (list . "oslo_db_cell1" "nova") | quote }}}
    logging.conf: {ini: logging}
    policy.yaml: {yaml: policy}
    api-paste.ini: {ini: paste, only: [nova_api_osapi, nova_api_metadata]}
    api_audit_map.conf: {ini: api_audit_map, only: [nova_api_osapi, nova_api_metadata]}
    nova-api-uwsgi.ini:
      ini: nova_api_uwsgi
      only: [nova_api_osapi]
      derived: {uwsgi: {http-socket: "0.0.0.0:{{ $osapi }}", processes: {{ $nova.DEFAULT.osapi_compute_workers }}}}
    nova-metadata-uwsgi.ini:
      ini: nova_metadata_uwsgi
      only: [nova_api_metadata]
      derived: {uwsgi: {http-socket: "0.0.0.0:{{ $metadata }}", processes: {{ $nova.DEFAULT.metadata_workers }}}}
    rootwrap.conf: {template: rootwrap, only: [nova_compute]}
    nova_sudoers: {template: nova_sudoers, path: /etc/sudoers.d/nova_sudoers, only: [nova_compute]}
    {{- range $name, $filter := $v.conf.rootwrap_filters }}
    {{- if has "compute" $filter.pods }}
    {{ $name }}.filters: {template: rootwrap_filters.{{ $name }}.content, path: /etc/nova/rootwrap.d/{{ $name }}.filters, only: [nova_compute]}
    {{- end }}
    {{- end }}

scripts: [db-init.py, http.sh, rabbit-init.sh, ks.py, connected.py, ceph-keyring.sh]

components:
  - kind: Deployment
    name: nova-api-osapi
    manifest: deployment_api_osapi
    component: os-api
    node: osapi
    replicas: osapi
    grace: osapi
    dependencies: api
    security: nova
    slot: nova_api_osapi
    extras: nova_osapi
    containers:
      - name: nova-osapi
        image: nova_api
        resources: api
        command: [uwsgi, --ini, /etc/nova/nova-api-uwsgi.ini]
        lifecycle: {{ include "openstack-lib.serves_on" $ }}
        ports: [{name: n-api, containerPort: {{ $osapi }}}]
        probes: {values: api-osapi.default, readiness: {httpGet: {path: /, port: {{ $osapi }}}}, liveness: {tcpSocket: {port: {{ $osapi }}}}}
        scratch: [/var/lock, /var/lib/nova]
  - kind: Deployment
    name: nova-api-metadata
    manifest: deployment_api_metadata
    component: metadata
    node: api_metadata
    replicas: api_metadata
    grace: metadata
    dependencies: api_metadata
    security: nova
    slot: nova_api_metadata
    extras: nova_metadata
    containers:
      - name: nova-api
        image: nova_api
        resources: api_metadata
        command: [uwsgi, --ini, /etc/nova/nova-metadata-uwsgi.ini]
        lifecycle: {{ include "openstack-lib.serves_on" $ }}
        ports: [{name: n-meta, containerPort: {{ $metadata }}}]
        probes: {values: api-metadata.default, readiness: {httpGet: {path: /, port: {{ $metadata }}}}, liveness: {tcpSocket: {port: {{ $metadata }}}}}
        scratch: [/var/lock, /var/lib/nova]
  {{- range $worker := list "conductor" "scheduler" }}
  - kind: Deployment
    name: nova-{{ $worker }}
    manifest: deployment_{{ $worker }}
    component: {{ $worker }}
    node: {{ $worker }}
    replicas: {{ $worker }}
    grace: {{ $worker }}
    dependencies: {{ $worker }}
    security: nova
    slot: nova_{{ $worker }}
    containers:
      - name: nova-{{ $worker }}
        image: nova_{{ $worker }}
        resources: {{ $worker }}
        command: [nova-{{ $worker }}, --config-file, /etc/nova/nova.conf]
        probes:
          values: {{ $worker }}.default
          readiness: {exec: {command: [/scripts/connected.py, nova-{{ $worker }}, {{ $amqp | quote }}, {{ $sql | quote }}]}}
          liveness: {exec: {command: [/scripts/connected.py, nova-{{ $worker }}, {{ $amqp | quote }}, --unless-away, {{ $broker }}]}}
        scratch: [/var/lock, /var/lib/nova]
  {{- end }}
  {{- if eq $v.console.console_kind "novnc" }}
  - kind: Deployment
    name: nova-novncproxy
    manifest: deployment_novncproxy
    component: novnc-proxy
    node: novncproxy
    replicas: novncproxy
    dependencies: novncproxy
    security: nova
    slot: nova_novncproxy
    {{- if $v.pod.useHostNetwork.novncproxy }}
    host: {hostNetwork: true}
    {{- end }}
    containers:
      - name: nova-novncproxy
        image: nova_novncproxy
        resources: novncproxy
        command: [nova-novncproxy, --config-file, /etc/nova/nova.conf, --web, /usr/share/novnc]
        lifecycle: {{ include "openstack-lib.serves_on" $ }}
        ports: [{name: n-novnc, containerPort: {{ $novnc }}}]
        probes: {values: novncproxy.default, readiness: {tcpSocket: {port: {{ $novnc }}}}, liveness: {tcpSocket: {port: {{ $novnc }}}}}
        scratch: [/var/lock, /var/lib/nova]
  {{- end }}
  - kind: DaemonSet
    name: nova-compute
    manifest: daemonset_compute
    component: compute
    node: agent.compute
    upgrade: compute
    grace: compute
    dependencies: compute
    security: nova
    slot: nova_compute
    redact: {{ $v.conf.nova_compute_redactions | toJson }}
    host: {hostNetwork: true, hostPID: true, hostIPC: true}
    initContainers:
      - name: nova-compute-init
        image: nova_compute
        command: [/scripts/nova-compute-init.sh]
        env:
          NOVA_USER: {{ $v.pod.security_context.nova.pod.runAsUser }}
          SELF_PROVISIONED_ID: {{ $v.manifests.compute_uuid_self_provisioning | quote }}
          NODE_NAME: {fieldRef: {fieldPath: spec.nodeName}}
          HOSTNAME_IS_FQDN: {{ $v.pod.use_fqdn.compute | quote }}
          {{- include "nova.address" (list "MY_IP" $conf.hypervisor.host_interface $conf.hypervisor.host_network_cidr $conf.hypervisor.address_search_enabled) | nindent 10 }}
          {{- include "nova.address" (list "MIGRATION" $conf.libvirt.live_migration_interface $conf.libvirt.live_migration_network_cidr $conf.libvirt.address_search_enabled) | nindent 10 }}
          {{- include "nova.address" (list "CONSOLE" $v.console.novnc.compute.vncserver_proxyclient_interface $v.console.novnc.compute.vncserver_proxyclient_network_cidr $v.console.address_search_enabled) | nindent 10 }}
        volumeMounts: [{name: nova, mountPath: /var/lib/nova}]
      {{- if $ceph }}
      - name: ceph-perms
        image: nova_compute
        config: false
        command: [/scripts/ceph-keyring.sh]
        scratch: [/etc/ceph]
        env:
          RBD_USER: {{ $v.conf.ceph.cinder.user }}
          RBD_KEY: {secretKeyRef: {name: {{ $v.ceph_client.user_secret_name }}, key: key}}
      {{- end }}
    containers:
      - name: nova-compute
        image: nova_compute
        resources: compute
        command: [/scripts/nova-compute.sh]
        env:
          LIBVIRT_CEPH_CINDER_SECRET_UUID: {{ ternary $v.conf.ceph.cinder.secret_uuid "" $ceph }}
        probes:
          values: compute.default
          {{- range list "startup" "readiness" }}
          {{ . }}: {exec: {command: [/scripts/connected.py, nova-compute, {{ $amqp | quote }}]}}
          {{- end }}
          liveness: {exec: {command: [/scripts/connected.py, nova-compute, {{ $amqp | quote }}, --unless-away, {{ $broker }}]}}
        scratch: [/var/lock{{ if $ceph }}, /etc/ceph{{ end }}]
        volumeMounts:
          - {name: nova, mountPath: /var/lib/nova, mountPropagation: Bidirectional}
          - {name: libvirt, mountPath: /var/lib/libvirt, mountPropagation: Bidirectional}
          - {name: run, mountPath: /run}
          - {name: dev, mountPath: /dev}
          - {name: modules, mountPath: /lib/modules, readOnly: true}
          - {name: cgroup, mountPath: /sys/fs/cgroup}
          {{- if $v.conf.enable_iscsi }}
          - {name: iscsi, mountPath: /etc/iscsi}
          {{- end }}
          {{- if $ceph }}
          - {name: ceph-etc, mountPath: /etc/ceph/ceph.conf, subPath: ceph.conf, readOnly: true}
          {{- end }}
    volumes:
      - {name: nova, hostPath: {path: /var/lib/nova, type: DirectoryOrCreate}}
      - {name: libvirt, hostPath: {path: /var/lib/libvirt, type: DirectoryOrCreate}}
      - {name: run, hostPath: {path: /run}}
      - {name: dev, hostPath: {path: /dev}}
      - {name: modules, hostPath: {path: /lib/modules}}
      - {name: cgroup, hostPath: {path: /sys/fs/cgroup}}
      {{- if $v.conf.enable_iscsi }}
      - {name: iscsi, hostPath: {path: /etc/iscsi, type: DirectoryOrCreate}}
      {{- end }}
      {{- if $ceph }}
      - {name: ceph-etc, configMap: {name: {{ $v.ceph_client.configmap }}, defaultMode: 0444}}
      {{- end }}

standardJobs:
  db_init:
    weight: -5
    databases:
      - {admin: {{ $v.secrets.oslo_db.admin }}, file: /etc/nova/nova.conf, section: api_database}
      - {admin: {{ $v.secrets.oslo_db_cell1.admin }}, file: /etc/nova/nova.conf, section: database}
      - {admin: {{ $v.secrets.oslo_db_cell0.admin }}, file: "", section: "", uriSecret: {{ $v.secrets.oslo_db_cell0.nova }}}
  db_sync:
    weight: -4
    image: nova_db_sync
    script: db-sync.py
    env:
      DB_CONNECTION_CELL0: {secretKeyRef: {name: {{ $v.secrets.oslo_db_cell0.nova }}, key: DB_CONNECTION}}
  rabbit_init: {weight: -4}
  ks_service: {weight: -3, services: [{name: {{ $v.endpoints.compute.name }}, type: compute}]}
  ks_endpoints: {weight: -2, services: [{name: {{ $v.endpoints.compute.name }}, type: compute, endpoint: compute}]}
  ks_user: {weight: -1, users: [nova, service, neutron, placement, cinder, ironic]}
  bootstrap: {}

jobs:
  - name: nova-cell-setup
    manifest: job_cell_setup
    component: cell-setup
    dependencies: cell_setup
    security: nova_cell_setup
    slot: nova_cell_setup
    containers:
      - &discover
        name: nova-cell-setup
        image: nova_cell_setup
        resources: jobs.cell_setup
        command: [/scripts/cell-setup.sh]
        scratch: [/var/lock, /var/lib/nova]
  - name: nova-cell-setup
    manifest: cron_job_cell_setup
    component: cell-setup
    account: nova-cell-setup-cron
    schedule: {{ $v.jobs.cell_setup.cron | quote }}
    startingDeadlineSeconds: {{ $v.jobs.cell_setup.starting_deadline }}
    history: {{ $v.jobs.cell_setup.history | toJson }}
    dependencies: cell_setup
    security: cell_setup
    slot: nova_cell_setup
    containers: [*discover]
  - name: nova-service-cleaner
    manifest: cron_job_service_cleaner
    component: service-cleaner
    schedule: {{ $v.jobs.service_cleaner.cron | quote }}
    startingDeadlineSeconds: {{ $v.jobs.service_cleaner.starting_deadline }}
    history: {{ $v.jobs.service_cleaner.history | toJson }}
    dependencies: service_cleaner
    security: service_cleaner
    slot: nova_service_cleaner
    containers:
      - name: nova-service-cleaner
        image: nova_cell_setup_init
        config: false
        resources: jobs.service_cleaner
        command: [/scripts/service-cleaner.sh]
        envFrom: [{secretRef: {name: {{ $v.secrets.identity.admin }}}}]

services:
  - name: {{ include "openstack-lib.endpoint.service" (list . "compute" "internal") }}
    manifest: service_osapi
    component: os-api
    network: osapi
    ports: [{name: n-api, port: {{ $v.network.osapi.port }}}]
  - name: {{ include "openstack-lib.endpoint.service" (list . "compute_metadata" "internal") }}
    manifest: service_metadata
    component: metadata
    network: metadata
    ports: [{name: n-meta, port: {{ $v.network.metadata.port }}}]
  {{- if eq $v.console.console_kind "novnc" }}
  - name: {{ include "openstack-lib.endpoint.service" (list . "compute_novnc_proxy" "internal") }}
    manifest: service_novncproxy
    component: novnc-proxy
    network: novncproxy
    ports: [{name: n-novnc, port: {{ $novnc }}}]
  {{- end }}

budgets:
  - {name: nova-api-osapi, manifest: pdb_osapi, component: os-api, budget: osapi}
  - {name: nova-api-metadata, manifest: pdb_metadata, component: metadata, budget: metadata}

credentials:
  identity: [admin, nova, service, neutron, placement, cinder, ironic]
  optional: [cinder, ironic]
  databases:
    oslo_db: [admin]
    oslo_db_cell0: [admin, nova]
    oslo_db_cell1: [admin]
  messaging: true
{{- end }}

{{/* Where nova-compute-init looks for one address: <name>_INTERFACE, else <name>_NETWORK. List: name, interface, CIDR, whether to search. */}}
{{- define "nova.address" -}}
{{ index . 0 }}_INTERFACE: {{ index . 1 | default "" | quote }}
{{ index . 0 }}_NETWORK: {{ ternary (index . 2) "" (index . 3) | quote }}
{{- end -}}
