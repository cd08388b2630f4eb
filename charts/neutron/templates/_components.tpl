{{- define "neutron.components" }}
{{- $v := .Values }}
{{- $conf := $v.conf }}
{{- $api := int (include "openstack-lib.endpoint.port" (list . "network" "service" "api")) }}
{{- $amqp := include "openstack-lib.endpoint.port" (list . "oslo_messaging" "internal" "amqp") }}
{{- $broker := include "openstack-lib.endpoint.host" (list . "oslo_messaging" "internal") }}
{{- $ovs := has "openvswitch" $v.network.backend }}
{{- $agents := list "neutron_ovs_agent" "neutron_l3_agent" "neutron_dhcp_agent" "neutron_metadata_agent" "neutron_netns_cleanup_cron" }}
{{- $servers := list "neutron_server" "neutron_rpc_server" "neutron_db_sync" }}
service: neutron

config:
  files:
    neutron.conf:
      ini: neutron
      derived:
        DEFAULT:
          transport_url: {{ include "openstack-lib.transport_url" (list . "neutron") | quote }}
          bind_port: {{ $api }}
          {{- if $ovs }}
          interface_driver: openvswitch
          {{- end }}
        keystone_authtoken: {{ include "openstack-lib.authtoken" (list . "neutron") | fromYaml | toJson }}
        nova: {{ include "openstack-lib.keystone_login" (list . "nova") | fromYaml | toJson }}
        placement: {{ include "openstack-lib.keystone_login" (list . "placement") | fromYaml | toJson }}
        {{- range list "designate" "ironic" }}
        {{- if (get $v.endpoints.identity.auth .).password }}
        {{ . }}: {{ include "openstack-lib.keystone_login" (list $ .) | fromYaml | toJson }}
        {{- end }}
        {{- end }}
      blank:
        database: {connection: {{ include "openstack-lib.database_uri" (list . "oslo_db" "neutron") | quote }}}
    logging.conf: {ini: logging}
    policy.yaml: {yaml: policy}
    ml2_conf.ini:
      ini: plugins.ml2_conf
      path: /etc/neutron/plugins/ml2/ml2_conf.ini
      {{- if $ovs }}
      derived: {ml2: {mechanism_drivers: "openvswitch,l2population"}}
      {{- end }}
    api-paste.ini: {ini: paste, only: [neutron_server]}
    api_audit_map.conf: {ini: api_audit_map, only: [neutron_server]}
    neutron-api-uwsgi.ini:
      ini: neutron_api_uwsgi
      only: [neutron_server]
      derived: {uwsgi: {http-socket: "0.0.0.0:{{ $api }}", processes: {{ $conf.neutron.DEFAULT.api_workers }}}}
    openvswitch_agent.ini: {ini: plugins.openvswitch_agent, path: /etc/neutron/plugins/ml2/openvswitch_agent.ini, only: [neutron_ovs_agent, neutron_l3_agent]}
    l3_agent.ini: {ini: l3_agent, only: [neutron_l3_agent], derived: {DEFAULT: {interface_driver: openvswitch}}}
    dhcp_agent.ini: {ini: dhcp_agent, only: [neutron_dhcp_agent, neutron_netns_cleanup_cron], derived: {DEFAULT: {interface_driver: openvswitch}}}
    dnsmasq.conf: {template: dnsmasq, only: [neutron_dhcp_agent]}
    {{- if and $ovs $v.manifests.daemonset_metadata_agent }}
    metadata_agent.ini:
      ini: metadata_agent
      only: [neutron_metadata_agent]
      derived:
        DEFAULT:
          metadata_proxy_shared_secret: {{ include "openstack-lib.secret" (list . "conf.metadata_agent.DEFAULT.metadata_proxy_shared_secret") | quote }}
          nova_metadata_host: {{ include "openstack-lib.endpoint.host" (list . "compute_metadata" "internal") }}
          nova_metadata_port: {{ include "openstack-lib.endpoint.port" (list . "compute_metadata" "internal" "metadata") }}
          nova_metadata_protocol: {{ include "openstack-lib.endpoint.field" (list $v.endpoints.compute_metadata.scheme "internal") }}
        cache: {memcache_servers: {{ include "openstack-lib.memcached_servers" . | quote }}}
    {{- end }}
    auto_bridge_add.json: {json: auto_bridge_add, only: [neutron_ovs_agent]}
    rootwrap.conf: {template: rootwrap, only: {{ toJson $agents }}}
    neutron_sudoers: {template: neutron_sudoers, path: /etc/sudoers.d/neutron_sudoers, only: {{ toJson $agents }}}
    {{- range $name, $filter := $conf.rootwrap_filters }}
    {{ $name }}.filters:
      template: rootwrap_filters.{{ $name }}.content
      path: /etc/neutron/rootwrap.d/{{ $name }}.filters
      only: {{ include "neutron.slots" $filter.pods }}
    {{- end }}

scripts: [db-init.py, http.sh, rabbit-init.sh, ks.py, bootstrap.sh, connected.py]

components:
  - kind: Deployment
    name: neutron-server
    manifest: deployment_server
    component: server
    node: server
    replicas: server
    grace: server
    dependencies: server
    security: neutron_server
    slot: neutron_server
    containers:
      - name: neutron-server
        image: neutron_server
        resources: server
        command: [uwsgi, --ini, /etc/neutron/neutron-api-uwsgi.ini]
        env: {OS_NEUTRON_CONFIG_DIR: /etc/neutron, OS_NEUTRON_CONFIG_FILES: "neutron.conf;plugins/ml2/ml2_conf.ini"}
        lifecycle: {{ include "openstack-lib.serves_on" $ }}
        ports: [{name: q-api, containerPort: {{ $api }}}]
        probes:
          values: server.server
          readiness: {httpGet: {path: {{ $v.endpoints.network.path.healthcheck }}, port: {{ $api }}}}
          liveness: {httpGet: {path: /, port: {{ $v.pod.probes.server.server.liveness.port }}}}
        scratch: [/var/lock, /var/lib/neutron]
  - kind: Deployment
    name: neutron-rpc-server
    manifest: deployment_rpc_server
    component: rpc_server
    node: rpc_server
    replicas: rpc_server
    grace: rpc_server
    dependencies: rpc_server
    security: neutron_rpc_server
    slot: neutron_rpc_server
    containers:
      - name: neutron-rpc-server
        image: neutron_rpc_server
        resources: rpc_server
        command: [neutron-rpc-server, --config-file, /etc/neutron/neutron.conf, --config-file, /etc/neutron/plugins/ml2/ml2_conf.ini]
        probes:
          values: rpc_server.rpc_server
          # Only the broker: an idle RPC server has no connection to the database.
          readiness: {exec: {command: [/scripts/connected.py, neutron-rpc-server, {{ $amqp | quote }}]}}
          liveness: {exec: {command: [/scripts/connected.py, neutron-rpc-server, {{ $amqp | quote }}, --unless-away, {{ $broker }}]}}
        scratch: [/var/lock, /var/lib/neutron]
  {{- if $ovs }}
  - kind: DaemonSet
    name: neutron-ovs-agent
    manifest: daemonset_ovs_agent
    component: neutron-ovs-agent
    node: ovs
    upgrade: ovs_agent
    dependencies: ovs_agent
    security: neutron_ovs_agent
    slot: neutron_ovs_agent
    redact: [database]
    host: {hostNetwork: true, hostPID: true}
    initContainers:
      - name: neutron-openvswitch-agent-kernel-modules
        image: neutron_openvswitch_agent
        config: false
        command: [/scripts/load-modules.sh]
        volumeMounts: [{name: host-root, mountPath: /mnt/host-root, mountPropagation: HostToContainer, readOnly: true}]
      - name: neutron-ovs-agent-init
        image: neutron_openvswitch_agent
        command: [/scripts/ovs-agent-init.sh]
        env:
          TUNNEL_INTERFACE: {{ $v.network.interface.tunnel | default "" | quote }}
          TUNNEL_NETWORK: {{ $v.network.interface.tunnel_network_cidr | quote }}
        volumeMounts: [{name: run, mountPath: /run}]
    containers:
      - name: neutron-ovs-agent
        image: neutron_openvswitch_agent
        resources: agent.ovs
        command: [/scripts/agent.sh, neutron-openvswitch-agent, /etc/neutron/plugins/ml2/ml2_conf.ini, /etc/neutron/plugins/ml2/openvswitch_agent.ini]
        probes: {{ include "neutron.agent_probes" (list "ovs_agent.ovs_agent" "neutron-openvswitch-agent" $amqp $broker) }}
        scratch: [/var/lock, /var/lib/neutron]
        volumeMounts:
          - {name: run, mountPath: /run}
          - {name: modules, mountPath: /lib/modules, readOnly: true}
    volumes:
      - {name: run, hostPath: {path: /run}}
      - {name: modules, hostPath: {path: /lib/modules}}
      - {name: host-root, hostPath: {path: /, type: Directory}}
  {{- range $agent := list "l3" "dhcp" "metadata" }}
  - kind: DaemonSet
    name: neutron-{{ $agent }}-agent
    manifest: daemonset_{{ $agent }}_agent
    component: {{ $agent }}-agent
    node: agent.{{ $agent }}
    upgrade: {{ $agent }}_agent
    dependencies: {{ $agent }}
    security: neutron_{{ $agent }}_agent
    slot: neutron_{{ $agent }}_agent
    redact: [database]
    host: {hostNetwork: true, hostPID: true}
    initContainers:
      - name: neutron-{{ $agent }}-agent-init
        security: neutron_metadata_agent_init
        image: neutron_{{ $agent }}
        config: false
        command: [/scripts/agent-init.sh]
        securityDefault: {runAsUser: 0, readOnlyRootFilesystem: true}
        env: {NEUTRON_USER: {{ (get $v.pod.security_context (printf "neutron_%s_agent" $agent)).pod.runAsUser }}}
        volumeMounts: [{name: shared, mountPath: /var/lib/neutron/openstack-helm}]
    containers:
      - name: neutron-{{ $agent }}-agent
        image: neutron_{{ $agent }}
        resources: agent.{{ $agent }}
        command: [/scripts/agent.sh, neutron-{{ $agent }}-agent, /etc/neutron/{{ $agent }}_agent.ini]
        probes: {{ include "neutron.agent_probes" (list (printf "%s_agent.%s_agent" $agent $agent) (printf "neutron-%s-agent" $agent) $amqp $broker) }}
        scratch: [/var/lock, /var/lib/neutron]
        volumeMounts:
          - {name: run, mountPath: /run}
          - {name: modules, mountPath: /lib/modules, readOnly: true}
          # The agents of a node meet here: the proxies that l3 and dhcp start reach the metadata agent's socket.
          - {name: shared, mountPath: /var/lib/neutron/openstack-helm}
          {{- if and $v.network.share_namespaces (ne $agent "metadata") }}
          - {name: netns, mountPath: /run/netns, mountPropagation: Bidirectional}
          {{- end }}
    volumes:
      - {name: run, hostPath: {path: /run}}
      - {name: modules, hostPath: {path: /lib/modules}}
      - {name: shared, hostPath: {path: /var/lib/neutron/openstack-helm, type: DirectoryOrCreate}}
      {{- if and $v.network.share_namespaces (ne $agent "metadata") }}
      - {name: netns, hostPath: {path: /run/netns, type: DirectoryOrCreate}}
      {{- end }}
  {{- end }}
  - kind: DaemonSet
    name: neutron-netns-cleanup-cron
    manifest: daemonset_netns_cleanup_cron
    component: netns-cleanup-cron
    node: netns_cleanup_cron
    upgrade: netns_cleanup_cron
    security: neutron_netns_cleanup_cron
    slot: neutron_netns_cleanup_cron
    redact: [database]
    host: {hostNetwork: true, hostPID: true}
    containers:
      - name: neutron-netns-cleanup-cron
        image: neutron_netns_cleanup_cron
        resources: netns_cleanup_cron
        command: [/scripts/netns-cleanup-cron.sh]
        scratch: [/var/lock, /var/lib/neutron]
        volumeMounts:
          - {name: run, mountPath: /run}
          {{- if $v.network.share_namespaces }}
          - {name: netns, mountPath: /run/netns, mountPropagation: Bidirectional}
          {{- end }}
    volumes:
      - {name: run, hostPath: {path: /run}}
      {{- if $v.network.share_namespaces }}
      - {name: netns, hostPath: {path: /run/netns, type: DirectoryOrCreate}}
      {{- end }}
  {{- end }}

standardJobs:
  db_init:
    weight: -5
    databases: [{admin: {{ $v.secrets.oslo_db.admin }}, file: /etc/neutron/neutron.conf, section: database}]
  db_sync: {weight: -4, image: neutron_db_sync}
  rabbit_init: {weight: -4}
  ks_service: {weight: -3, services: [{name: {{ $v.endpoints.network.name }}, type: network}]}
  ks_endpoints: {weight: -2, services: [{name: {{ $v.endpoints.network.name }}, type: network, endpoint: network}]}
  ks_user: {weight: -1, users: [neutron, nova, placement, designate, ironic]}
  bootstrap: {weight: 5}

services:
  - name: {{ include "openstack-lib.endpoint.service" (list . "network" "internal") }}
    manifest: service_server
    component: server
    network: server
    ports: [{name: q-api, port: {{ include "openstack-lib.endpoint.port" (list . "network" "internal" "api") }}}]

budgets:
  - {name: neutron-server, manifest: pdb_server, component: server, budget: server}

credentials:
  identity: [admin, neutron, nova, placement, designate, ironic]
  optional: [designate, ironic]
  databases: {oslo_db: [admin]}
  messaging: true
{{- end }}

{{/* The pods that a rootwrap filter is for, as slots of components. */}}
{{- define "neutron.slots" -}}
{{- $slots := list -}}
{{- range . -}}{{- $slots = append $slots (printf "neutron_%s" .) -}}{{- end -}}
{{- toJson $slots -}}
{{- end -}}

{{/* An agent serves while it is connected to the broker. List: path in pod.probes, process, the broker's port and host. */}}
{{- define "neutron.agent_probes" -}}
{{- $connected := list "/scripts/connected.py" (index . 1) (index . 2) -}}
{{- $living := concat $connected (list "--unless-away" (index . 3)) -}}
{{- dict "values" (index . 0) "readiness" (dict "exec" (dict "command" $connected)) "liveness" (dict "exec" (dict "command" $living)) | toJson -}}
{{- end -}}
