{{- define "glance.components" }}
{{- $v := .Values }}
{{- $port := int (include "openstack-lib.endpoint.port" (list . "image" "internal" "api")) }}
{{- $backend := get (dict "pvc" "file" "rbd" "rbd" "swift" "swift" "radosgw" "swift") $v.storage | default $v.storage }}
{{- $claim := eq $v.storage "pvc" }}
{{- $uwsgi := $v.conf.glance_api_uwsgi.uwsgi }}
{{- $shared := has "ReadWriteMany" $v.volume.accessModes }}
service: glance

config:
  snippets: glance-api.conf.d
  files:
    glance-api.conf:
      ini: glance
      derived:
        DEFAULT:
          bind_port: {{ $port }}
          enabled_backends: "{{ $backend }}:{{ $backend }}"
          transport_url: {{ include "openstack-lib.transport_url" (list . "glance") | quote }}
        glance_store: {default_backend: {{ $backend }}}
        keystone_authtoken: {{ include "openstack-lib.authtoken" (list . "glance") | fromYaml | toJson }}
      blank:
        database: {connection: {{ include "openstack-lib.database_uri" (list . "oslo_db" "glance") | quote }}}
    glance-api-paste.ini: {ini: paste}
    logging.conf: {ini: logging}
    policy.yaml: {yaml: policy}
    {{- if eq $backend "swift" }}
    swift-store.conf: {template: swift_store, only: [glance_api]}
    {{- end }}
    glance-api-uwsgi.ini:
      ini: glance_api_uwsgi
      only: [glance_api]
      derived:
        uwsgi:
          http-socket: "0.0.0.0:{{ $port }}"
          processes: {{ $v.conf.glance.DEFAULT.workers }}

scripts: [db-init.py, http.sh, rabbit-init.sh, ks.py, ceph-keyring.sh]

components:
  - kind: Deployment
    name: glance-api
    manifest: deployment_api
    component: api
    node: api
    replicas: api
    grace: api
    dependencies: api
    security: glance
    slot: glance_api
    {{- if and $claim (not $shared) }}
    # The volume bears one node at a time: the old pod goes before the new one comes.
    strategy: Recreate
    {{- end }}
    initContainers:
      {{- if $claim }}
      - name: glance-perms
        image: glance_api
        config: false
        command: [chown, "{{ $v.pod.security_context.glance.pod.runAsUser }}", {{ $v.conf.glance.file.filesystem_store_datadir }}]
        volumeMounts: [{name: glance-images, mountPath: {{ $v.conf.glance.file.filesystem_store_datadir }}}]
      {{- end }}
      {{- if eq $backend "rbd" }}
      - name: ceph-keyring-placement
        image: glance_api
        config: false
        command: [/scripts/ceph-keyring.sh]
        scratch: [/etc/ceph]
        env:
          RBD_USER: {{ $v.conf.glance.rbd.rbd_store_user }}
          RBD_KEY: {secretKeyRef: {name: {{ $v.secrets.rbd }}, key: key}}
      {{- end }}
    containers:
      - name: glance-api
        image: glance_api
        resources: api
        command: [uwsgi, --ini, /etc/glance/glance-api-uwsgi.ini]
        lifecycle: {{ include "openstack-lib.serves_on" $ }}
        ports: [{name: g-api, containerPort: {{ $port }}}]
        probes:
          values: api.glance-api
          readiness: {httpGet: {path: {{ $v.endpoints.image.path.healthcheck }}, port: {{ $port }}}}
          # The server itself: its one worker may be busy with a large image, or with loading the application.
          {{- if and $uwsgi.stats (get $uwsgi "stats-http") }}
          liveness: {httpGet: {path: /, port: {{ last (splitList ":" $uwsgi.stats) }}}}
          {{- else }}
          liveness: {tcpSocket: {port: {{ $port }}}}
          {{- end }}
        scratch: [/var/lock, /var/lib/glance/tmp{{ if eq $backend "rbd" }}, /etc/ceph{{ end }}]
        volumeMounts:
          {{- if $claim }}
          - {name: glance-images, mountPath: {{ $v.conf.glance.file.filesystem_store_datadir }}}
          {{- else if eq $backend "rbd" }}
          - {name: ceph-etc, mountPath: /etc/ceph/ceph.conf, subPath: ceph.conf, readOnly: true}
          {{- end }}
    volumes:
      {{- if $claim }}
      - {name: glance-images, persistentVolumeClaim: {claimName: glance-images}}
      {{- else if eq $backend "rbd" }}
      - {name: ceph-etc, configMap: {name: {{ $v.ceph_client.configmap }}, defaultMode: 0444}}
      {{- end }}

standardJobs:
  db_init:
    weight: -5
    databases: [{admin: {{ $v.secrets.oslo_db.admin }}, file: /etc/glance/glance-api.conf, section: database}]
  db_sync: {weight: -4, image: glance_db_sync}
  rabbit_init: {weight: -4}
  ks_service: {weight: -3, services: [{name: {{ $v.endpoints.image.name }}, type: image}]}
  ks_endpoints: {weight: -2, services: [{name: {{ $v.endpoints.image.name }}, type: image, endpoint: image}]}
  ks_user: {weight: -1, users: [glance]}
  bootstrap: {weight: 5}

jobs:
  - name: glance-metadefs-load
    manifest: job_metadefs_load
    component: metadefs-load
    weight: 0
    dependencies: metadefs_load
    security: metadefs_load
    slot: glance_metadefs_load
    containers:
      - name: glance-metadefs-load
        image: glance_metadefs_load
        resources: jobs.metadefs_load
        command: [glance-manage, --config-file, /etc/glance/glance-api.conf, db_load_metadefs]
        scratch: [/var/lock]

services:
  - name: {{ include "openstack-lib.endpoint.service" (list . "image" "internal") }}
    manifest: service_api
    component: api
    network: api
    ports: [{name: g-api, port: {{ $port }}}]

budgets:
  - {name: glance-api, manifest: pdb_api, component: api, budget: api}

{{- if $claim }}
claims:
  - name: glance-images
    manifest: pvc_images
    class: {{ $v.volume.class_name | quote }}
    size: {{ $v.volume.size }}
    modes: {{ $v.volume.accessModes | toJson }}
    keep: {{ $v.keep_pvc }}
{{- end }}

credentials:
  identity: [admin, glance]
  databases: {oslo_db: [admin]}
  messaging: true
{{- end }}
