{{- define "libvirt.components" }}
{{- $v := .Values }}
{{- $ceph := $v.conf.ceph }}
service: libvirt

config:
  files:
    libvirtd.conf: {text: {{ include "libvirt.utils.to_libvirt_conf" $v.conf.libvirt | quote }}}
    qemu.conf: {text: {{ include "libvirt.utils.to_libvirt_conf" $v.conf.qemu | quote }}}
    dynamic-options.sh: {template: dynamic_options.script}

components:
  - kind: DaemonSet
    name: libvirt-libvirt
    manifest: daemonset_libvirt
    override: libvirt
    overrideShape: root
    secretSuffix: -etc
    component: libvirt
    account: libvirt
    node: agent.libvirt
    upgrade: libvirt
    dependencies: libvirt
    security: libvirt
    slot: libvirt
    host: {hostNetwork: true, hostPID: true, hostIPC: true}
    initContainers:
      {{- if $v.conf.init_modules.enabled }}
      - name: libvirt-init-modules
        image: libvirt
        command: [/scripts/init-modules.sh]
        volumeMounts:
          - {name: modprobe, mountPath: /etc/modprobe.d_host}
          - {name: modules, mountPath: /lib/modules, readOnly: true}
      {{- end }}
      - name: init-dynamic-options
        image: libvirt
        command: [bash, /etc/libvirt/dynamic-options.sh]
        scratch: [/tmp/pod-shared]
      {{- if $ceph.enabled }}
      - name: ceph-keyring-placement
        image: libvirt
        config: false
        command: [/scripts/ceph-keyring.sh]
        scratch: [/etc/ceph]
        env:
          RBD_USER: {{ $ceph.cinder.user }}
          RBD_KEY: {secretKeyRef: {name: {{ $v.ceph_client.user_secret_name }}, key: key}}
      {{- end }}
    containers:
      - name: libvirt
        image: libvirt
        resources: libvirt
        command: [/scripts/libvirt.sh]
        lifecycle: {preStop: {exec: {command: [bash, -c, "kill $(cat /run/libvirtd.pid)"]}}}
        {{- if $ceph.enabled }}
        env:
          CEPH_USER: {{ $ceph.cinder.user }}
          CEPH_SECRET_UUID: {{ $ceph.cinder.secret_uuid }}
          CEPH_KEY: {secretKeyRef: {name: {{ $v.ceph_client.user_secret_name }}, key: key}}
        {{- end }}
        probes:
          values: libvirt.libvirt
          {{- range list "readiness" "liveness" }}
          {{ . }}: {exec: {command: [virsh, --connect, "qemu:///system", --quiet, version]}}
          {{- end }}
        scratch: [/tmp/pod-shared{{ if $ceph.enabled }}, /etc/ceph{{ end }}]
        volumeMounts:
          - {name: run, mountPath: /run}
          - {name: dev, mountPath: /dev}
          - {name: cgroup, mountPath: /sys/fs/cgroup}
          - {name: modules, mountPath: /lib/modules, readOnly: true}
          - {name: libvirt, mountPath: /var/lib/libvirt, mountPropagation: Bidirectional}
          - {name: nova, mountPath: /var/lib/nova, mountPropagation: Bidirectional}
          - {name: log, mountPath: /var/log/libvirt}
          - {name: qemu, mountPath: /etc/libvirt/qemu}
          {{- if $ceph.enabled }}
          - {name: ceph-etc, mountPath: /etc/ceph/ceph.conf, subPath: ceph.conf, readOnly: true}
          {{- end }}
    volumes:
      - {name: run, hostPath: {path: /run}}
      - {name: dev, hostPath: {path: /dev}}
      - {name: cgroup, hostPath: {path: /sys/fs/cgroup}}
      - {name: modules, hostPath: {path: /lib/modules}}
      - {name: libvirt, hostPath: {path: /var/lib/libvirt, type: DirectoryOrCreate}}
      - {name: nova, hostPath: {path: /var/lib/nova, type: DirectoryOrCreate}}
      - {name: log, hostPath: {path: /var/log/libvirt, type: DirectoryOrCreate}}
      # Definitions of the guests: they outlive the pod as the guests do.
      - {name: qemu, hostPath: {path: /etc/libvirt/qemu, type: DirectoryOrCreate}}
      {{- if $v.conf.init_modules.enabled }}
      - {name: modprobe, hostPath: {path: /etc/modprobe.d, type: DirectoryOrCreate}}
      {{- end }}
      {{- if $ceph.enabled }}
      - {name: ceph-etc, configMap: {name: {{ $v.ceph_client.configmap }}, defaultMode: 0444}}
      {{- end }}

{{- if $v.conf.init_modules.enabled }}
scriptValues: {init-modules.sh: conf.init_modules.script}
{{- end }}
scripts: [ceph-keyring.sh]
{{- end }}

{{/* libvirt's own format: numbers bare, text quoted, lists in brackets. Upstream's name, so that its values work. */}}
{{- define "libvirt.utils.to_libvirt_conf" -}}
{{- range $option, $value := . }}
{{- if kindIs "slice" $value }}
{{ $option }} = {{ toJson $value }}
{{- else if kindIs "invalid" $value }}
{{- else if regexMatch "^[0-9]+$" (include "openstack-lib.scalar" $value) }}
{{ $option }} = {{ include "openstack-lib.scalar" $value }}
{{- else }}
{{ $option }} = {{ $value | toString | quote }}
{{- end }}
{{- end }}
{{- end -}}
