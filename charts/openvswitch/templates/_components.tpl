{{- define "openvswitch.components" }}
{{- $v := .Values }}
service: openvswitch

components:
  - kind: DaemonSet
    name: openvswitch
    manifest: daemonset
    overrideShape: none
    component: server
    account: openvswitch-server
    node: ovs
    upgrade: ovs
    dependencies: ovs
    security: ovs
    slot: openvswitch
    host: {hostNetwork: true}
    initContainers:
      - name: openvswitch-db-perms
        security: perms
        image: openvswitch_db_server
        command: [chown, "-R", "{{ $v.pod.security_context.ovs.pod.runAsUser }}", /run/openvswitch]
        volumeMounts: [{name: run, mountPath: /run/openvswitch}]
      {{- if $v.manifests.daemonset_ovs_vswitchd }}
      - name: openvswitch-vswitchd-modules
        security: modules
        image: openvswitch_vswitchd
        command: [/scripts/load-modules.sh]
        volumeMounts: [{name: host-root, mountPath: /mnt/host-root, mountPropagation: HostToContainer, readOnly: true}]
      {{- end }}
    containers:
      - name: openvswitch-db
        security: server
        image: openvswitch_db_server
        resources: ovs.db
        command: [/scripts/db-server.sh]
        env:
          OVS_USER: {{ $v.conf.ovs_user_name | quote }}
        probes:
          values: ovs.ovs_db
          readiness: {exec: {command: [ovs-vsctl, --timeout=20, show]}}
          # Five times: a new start of either makes the switch forget its flows for a moment.
          liveness: {exec: {command: [ovs-vsctl, --timeout=20, show]}, failureThreshold: 5}
        volumeMounts: [{name: run, mountPath: /run/openvswitch}]
      {{- if $v.manifests.daemonset_ovs_vswitchd }}
      - name: openvswitch-vswitchd
        security: vswitchd
        image: openvswitch_vswitchd
        resources: ovs.vswitchd
        command: [/scripts/vswitchd.sh]
        lifecycle: {postStart: {exec: {command: [/scripts/vswitchd-poststart.sh]}}}
        probes:
          values: ovs.ovs_vswitch
          readiness: {exec: {command: [ovs-vsctl, --timeout=8, list, Open_vSwitch]}}
          liveness: {exec: {command: [ovs-appctl, --timeout=20, bond/list]}, failureThreshold: 5}
        volumeMounts:
          - {name: run, mountPath: /run/openvswitch}
          - {name: host-root, mountPath: /mnt/host-root, mountPropagation: HostToContainer, readOnly: true}
          {{- if $v.conf.ovs_dpdk.enabled }}
          - {name: hugepages, mountPath: /dev/hugepages}
          - {name: devices, mountPath: /dev}
          {{- end }}
      {{- end }}
    volumes:
      - {name: run, hostPath: {path: /run/openvswitch, type: DirectoryOrCreate}}
      - {name: host-root, hostPath: {path: /, type: Directory}}
      {{- if $v.conf.ovs_dpdk.enabled }}
      - {name: hugepages, hostPath: {path: /dev/hugepages, type: Directory}}
      - {name: devices, hostPath: {path: /dev, type: Directory}}
      {{- end }}
{{- end }}
