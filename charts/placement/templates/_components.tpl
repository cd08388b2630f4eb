{{- define "placement.components" }}
{{- $port := int (include "openstack-lib.endpoint.port" (list . "placement" "service" "api")) }}
service: placement

config:
  files:
    placement.conf:
      ini: placement
      derived:
        keystone_authtoken: {{ include "openstack-lib.authtoken" (list . "placement") | fromYaml | toJson }}
      blank:
        placement_database: {connection: {{ include "openstack-lib.database_uri" (list . "oslo_db" "placement") | quote }}}
    logging.conf: {ini: logging}
    policy.yaml: {yaml: policy}
    placement-api-uwsgi.ini:
      ini: placement_api_uwsgi
      derived: {uwsgi: {http-socket: "0.0.0.0:{{ $port }}"}}

scripts: [db-init.py, ks.py]

components:
  - kind: Deployment
    name: placement-api
    manifest: deployment
    component: api
    node: api
    replicas: api
    grace: api
    dependencies: api
    security: placement
    slot: placement
    extras: placement_api
    containers:
      - name: placement-api
        image: placement
        resources: api
        command: [uwsgi, --ini, /etc/placement/placement-api-uwsgi.ini]
        lifecycle: {{ include "openstack-lib.serves_on" $ }}
        ports: [{name: p-api, containerPort: {{ $port }}}]
        probes:
          values: placement.api
          readiness: {httpGet: {path: /, port: {{ $port }}}, periodSeconds: 10, timeoutSeconds: 5}
          liveness: {httpGet: {path: /, port: {{ .Values.pod.probes.placement.api.liveness.port }}}, initialDelaySeconds: 50, periodSeconds: 30, timeoutSeconds: 15}
        scratch: [/var/lock]

standardJobs:
  db_init:
    weight: -5
    databases: [{admin: {{ .Values.secrets.oslo_db.admin }}, file: /etc/placement/placement.conf, section: placement_database}]
  db_sync: {weight: -3, image: placement_db_sync}
  ks_service: {weight: -2, services: [{name: {{ .Values.endpoints.placement.name }}, type: placement}]}
  ks_user: {weight: -1, users: [placement]}
  ks_endpoints: {weight: 1, services: [{name: {{ .Values.endpoints.placement.name }}, type: placement, endpoint: placement}]}

services:
  - name: {{ include "openstack-lib.endpoint.service" (list . "placement" "internal") }}
    manifest: service
    component: api
    network: api
    ports: [{name: p-api, port: {{ .Values.network.api.port }}}]

budgets:
  - {name: placement-api, manifest: pdb, component: api, budget: api}

credentials:
  identity: [admin, placement]
  databases: {oslo_db: [admin]}
{{- end }}
