{{- define "octavia-network.labels" -}}
application: octavia-network
release_group: {{ .Release.Name }}
{{- end }}

{{/* One container that runs the script with these words: (dict "root" $ "name" … "args" …). */}}
{{- define "octavia-network.pod" -}}
{{- $root := .root -}}
serviceAccountName: {{ $root.Release.Name }}
nodeSelector:
  {{ .label.node_selector_key }}: {{ .label.node_selector_value | quote }}
{{- with $root.Values.pod.tolerations }}
tolerations: {{ toYaml . | nindent 2 }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 65534
  fsGroup: 65534
  seccompProfile: {type: RuntimeDefault}
containers:
  - name: {{ .name }}
    image: {{ $root.Values.images.tags.client | quote }}
    imagePullPolicy: {{ $root.Values.images.pull_policy }}
    command: [python3, -u, /scripts/network.py]
    args: {{ toJson .args }}
    env:
      - {name: OS_CLOUD, value: default}
      - {name: HOME, value: /tmp}
      - {name: RANGE, value: {{ $root.Values.range | quote }}}
      - {name: SECRET, value: {{ $root.Values.secretName | quote }}}
      - {name: NAMESPACE, value: {{ $root.Release.Namespace | quote }}}
      - {name: NODE, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}
    resources: {{ toYaml $root.Values.pod.resources | nindent 6 }}
    securityContext:
      allowPrivilegeEscalation: false
      readOnlyRootFilesystem: true
      capabilities: {drop: [ALL]}
    volumeMounts:
      - {name: scripts, mountPath: /scripts, readOnly: true}
      - {name: clouds, mountPath: /etc/openstack, readOnly: true}
      - {name: tmp, mountPath: /tmp}
volumes:
  - name: scripts
    configMap: {name: {{ $root.Release.Name }}}
  - name: clouds
    secret: {secretName: {{ $root.Values.clouds }}}
  - {name: tmp, emptyDir: {}}
{{- end }}
