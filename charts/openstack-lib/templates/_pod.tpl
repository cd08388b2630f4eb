{{/*
Pods. Every template takes one dict, the pod's context:
  root   the chart's root context             chart  its description, as read
  x      the component: what the pod is       etc    name of the Secret with its configuration files
The grace period at its end is pod.lifecycle.termination_grace_period.<x.grace>, else `graceSeconds` of x, in seconds.
With `volumesForUser` in x the volumes are of the group of the pod's user: modes need not open them to the world.
*/}}

{{/* Labels of a pod, and of what belongs to it. The first three select pods: upstream's, immutable. */}}
{{- define "openstack-lib.selector" -}}
release_group: {{ .root.Values.release_group | default .root.Release.Name }}
application: {{ .chart.service }}
component: {{ .x.component }}
{{- end -}}

{{- define "openstack-lib.labels" -}}
{{ include "openstack-lib.selector" . }}
{{ include "openstack-lib.chart_labels" .root }}
app.kubernetes.io/component: {{ .x.component }}
{{- end -}}

{{- define "openstack-lib.chart_labels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/part-of: openstack
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}

{{/*
What the pod waits for, as {jobs, services, pods} in JSON: dependencies.static.<x>, and what the network backend
adds. A Job of this chart that is switched off, or that the lean chart does not have, is not waited for.
*/}}
{{- define "openstack-lib.dependencies" -}}
{{- $v := .root.Values -}}
{{- $jobs := list -}}{{- $services := list -}}{{- $pods := list -}}
{{- if .x.dependencies -}}
  {{- $sources := list (get $v.dependencies.static .x.dependencies | default (get ($v.dependencies.dynamic | default dict) .x.dependencies) | default dict) -}}
  {{- $targeted := (include "openstack-lib.get" (list $v "dependencies.dynamic.targeted") | fromJson).v | default dict -}}
  {{- range (include "openstack-lib.get" (list $v "network.backend") | fromJson).v | default list -}}
    {{- $sources = append $sources (get (get $targeted . | default dict) $.x.dependencies | default dict) -}}
  {{- end -}}
  {{- range $sources -}}
    {{- range .jobs | default list -}}
      {{- if or (not (hasPrefix (printf "%s-" $.root.Chart.Name) .)) (has . $.chart.rendered) -}}{{- $jobs = append $jobs . -}}{{- end -}}
    {{- end -}}
    {{- range .services | default list -}}
      {{- $where := list $.root .service .endpoint -}}
      {{- $services = append $services (dict "namespace" (include "openstack-lib.endpoint.namespace" $where) "name" (include "openstack-lib.endpoint.service" $where)) -}}
    {{- end -}}
    {{- $pods = concat $pods (.pod | default list) -}}
  {{- end -}}
{{- end -}}
{{- dict "jobs" (uniq $jobs) "services" $services "pods" (uniq $pods) | toJson -}}
{{- end -}}

{{/* The init container that waits (kubernetes-entrypoint's contract). */}}
{{- define "openstack-lib.wait_container" -}}
{{- $wanted := include "openstack-lib.dependencies" . | fromJson -}}
{{- $services := list -}}
{{- range $wanted.services -}}{{- $services = append $services (printf "%s:%s" .namespace .name) -}}{{- end -}}
- name: init
  {{- include "openstack-lib.image" (list .root "dep_check") | nindent 2 }}
  command: [kubernetes-entrypoint]
  env:
    - name: POD_NAME
      valueFrom: {fieldRef: {apiVersion: v1, fieldPath: metadata.name}}
    - name: NAMESPACE
      valueFrom: {fieldRef: {apiVersion: v1, fieldPath: metadata.namespace}}
    - {name: INTERFACE_NAME, value: eth0}
    - {name: PATH, value: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/"}
    - {name: DEPENDENCY_SERVICE, value: {{ join "," $services | quote }}}
    - {name: DEPENDENCY_JOBS, value: {{ join "," $wanted.jobs | quote }}}
    - {name: DEPENDENCY_DAEMONSET, value: ""}
    - {name: DEPENDENCY_CONTAINER, value: ""}
    - {name: DEPENDENCY_POD_JSON, value: {{ ternary (toJson $wanted.pods) "" (gt (len $wanted.pods) 0) | quote }}}
    - {name: DEPENDENCY_CUSTOM_RESOURCE, value: "[]"}
  securityContext:
    runAsUser: 65534
    allowPrivilegeEscalation: false
    readOnlyRootFilesystem: true
    capabilities: {drop: [ALL]}
{{- end -}}

{{/* List: root, key of images.tags. */}}
{{- define "openstack-lib.image" -}}
{{- $root := index . 0 -}}
{{- $tag := get $root.Values.images.tags (index . 1) -}}
image: {{ required (printf "%s: images.tags.%s must be set" $root.Chart.Name (index . 1)) $tag | quote }}
imagePullPolicy: {{ $root.Values.images.pull_policy }}
{{- end -}}

{{/* The pod's spec, without restartPolicy. */}}
{{- define "openstack-lib.pod_spec" -}}
{{- $v := .root.Values -}}
{{- $pod := $v.pod -}}
{{- $security := get ($pod.security_context | default dict) (.x.security | default "") | default dict -}}
{{- $extra := .x.slot | default "" -}}
{{- $wanted := include "openstack-lib.dependencies" . | fromJson -}}
{{- $waits := concat $wanted.jobs $wanted.services $wanted.pods -}}
{{- $given := (include "openstack-lib.get" (list $pod (printf "mounts.%s.init_container" $extra)) | fromJson).v -}}
serviceAccountName: {{ include "openstack-lib.account" . }}
{{- if not (or .x.rules $waits) }}
automountServiceAccountToken: false
{{- end }}
enableServiceLinks: false
{{- $context := $security.pod | default dict -}}
{{- if and .x.volumesForUser $context.runAsUser -}}{{- $context = merge (deepCopy $context) (dict "fsGroup" $context.runAsUser) -}}{{- end -}}
{{- with $context }}
securityContext:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with get ($pod.priorityClassName | default dict) (.x.slot | default "") }}
priorityClassName: {{ . }}
{{- end }}
{{- with get ($pod.runtimeClassName | default dict) (.x.slot | default "") }}
runtimeClassName: {{ . }}
{{- end }}
{{- if .x.host }}
{{- toYaml .x.host | nindent 0 }}
dnsPolicy: {{ $pod.dns_policy | default "ClusterFirstWithHostNet" }}
{{- end }}
{{- with (include "openstack-lib.get" (list $v.labels (.x.node | default "job")) | fromJson).v }}
nodeSelector:
  {{ .node_selector_key }}: {{ .node_selector_value | quote }}
{{- end }}
{{- include "openstack-lib.affinity" . }}
{{- with get ($pod.tolerations | default dict) .chart.service }}
{{- if .enabled }}
tolerations:
  {{- toYaml .tolerations | nindent 2 }}
{{- end }}
{{- end }}
{{- with (include "openstack-lib.get" (list $pod.lifecycle (printf "termination_grace_period.%s.timeout" (.x.grace | default ""))) | fromJson).v | default .x.graceSeconds }}
terminationGracePeriodSeconds: {{ . }}
{{- end }}
{{- if or $waits $given .x.initContainers }}
initContainers:
  {{- if $waits }}
  {{- include "openstack-lib.wait_container" . | nindent 2 }}
  {{- end }}
  {{- with $given }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
  {{- range .x.initContainers }}
  {{- include "openstack-lib.container" (dict "root" $.root "chart" $.chart "x" $.x "container" .) | nindent 2 }}
  {{- end }}
{{- end }}
containers:
  {{- range .x.containers }}
  {{- include "openstack-lib.container" (dict "root" $.root "chart" $.chart "x" $.x "container" .) | nindent 2 }}
  {{- end }}
  {{- with get ($pod.extraContainers | default dict) (.x.extras | default $extra) }}
  {{- tpl (toYaml .) $.root | nindent 2 }}
  {{- end }}
volumes:
  - name: scratch
    emptyDir: {}
  - name: scripts
    configMap: {name: {{ .chart.bin | default (printf "%s-bin" .chart.service) }}, defaultMode: 0555}
  {{- if include "openstack-lib.reads_config" . }}
  - name: config
    secret: {secretName: {{ .etc }}, defaultMode: 0444}
  {{- end }}
  {{- with get ($pod.etcSources | default dict) $extra }}
  - name: snippets
    projected:
      sources:
        {{- toYaml . | nindent 8 }}
  {{- end }}
  {{- with .x.volumes }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
  {{- with (include "openstack-lib.get" (list $pod (printf "mounts.%s.%s.volumes" $extra $extra)) | fromJson).v }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
  {{- with get ($pod.extraVolumes | default dict) (.x.extras | default $extra) }}
  {{- tpl (toYaml .) $.root | nindent 2 }}
  {{- end }}
{{- end -}}

{{/* Pods of one component apart from each other, as pod.affinity says, and off nodes that an override took. */}}
{{- define "openstack-lib.affinity" -}}
{{- $anti := (.root.Values.pod.affinity | default dict).anti -}}
{{- $spread := and $anti (has .x.kind (list "Deployment" "StatefulSet")) -}}
{{- if or $spread .nodeExpressions }}
affinity:
{{- with .nodeExpressions }}
  nodeAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
      nodeSelectorTerms:
        - matchExpressions:
            {{- toYaml . | nindent 12 }}
{{- end }}
{{- if $spread }}
{{- $key := .x.component }}
{{- $type := get $anti.type $key | default $anti.type.default }}
{{- $topology := get $anti.topologyKey $key | default $anti.topologyKey.default }}
{{- $weight := get ($anti.weight | default dict) $key | default (($anti.weight | default dict).default | default 10) }}
  podAntiAffinity:
    {{ $type }}:
{{- if hasPrefix "required" $type }}
      - labelSelector:
          matchLabels:
            {{- include "openstack-lib.selector" . | nindent 12 }}
        topologyKey: {{ $topology }}
{{- else }}
      - weight: {{ $weight }}
        podAffinityTerm:
          labelSelector:
            matchLabels:
              {{- include "openstack-lib.selector" . | nindent 14 }}
          topologyKey: {{ $topology }}
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "openstack-lib.reads_config" -}}
{{- if .chart.config -}}
{{- range concat (.x.containers | default list) (.x.initContainers | default list) -}}
{{- if not (eq (toString .config) "false") -}}yes{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/*
`lifecycle` of a container behind a Service. For seconds others still lead requests to a pod that goes: it serves on,
and SIGTERM comes after that. The kubelet itself waits; nothing runs in the container.
*/}}
{{- define "openstack-lib.serves_on" -}}
{preStop: {sleep: {seconds: 5}}}
{{- end -}}

{{- define "openstack-lib.container" -}}
{{- $v := .root.Values -}}
{{- $box := .container -}}
{{- $pod := $v.pod -}}
{{- $security := (include "openstack-lib.get" (list ($pod.security_context | default dict) (printf "%s.container.%s" (.x.security | default "") ($box.security | default ($box.name | replace "-" "_")))) | fromJson).v -}}
- name: {{ $box.name }}
  {{- include "openstack-lib.image" (list .root $box.image) | nindent 2 }}
  {{- with $box.command }}
  command:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with merge (get ($pod.env | default dict) (.x.slot | default "") | default dict | deepCopy) ($box.env | default dict) }}
  env:
    {{- range $name, $value := . }}
    - name: {{ $name }}
      {{- if kindIs "map" $value }}
      valueFrom:
        {{- toYaml $value | nindent 8 }}
      {{- else }}
      value: {{ include "openstack-lib.scalar" $value | quote }}
      {{- end }}
    {{- end }}
  {{- end }}
  {{- with $box.envFrom }}
  envFrom:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $box.ports }}
  ports:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- include "openstack-lib.probes" (list .root $box) | nindent 2 }}
  {{- with $box.lifecycle }}
  lifecycle:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- if and $pod.resources.enabled $box.resources }}
  {{- with (include "openstack-lib.get" (list $pod.resources $box.resources) | fromJson).v }}
  resources:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- end }}
  {{- with $security | default $box.securityDefault }}
  securityContext:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  volumeMounts:
    {{- include "openstack-lib.container_mounts" . | nindent 4 }}
{{- end -}}

{{/* /tmp and other writable directories, the scripts, the configuration files, then what the component adds. */}}
{{- define "openstack-lib.container_mounts" -}}
{{- $service := .chart.service -}}
{{- $slot := .x.slot | default "" -}}
{{- $files := dict -}}
{{- if .chart.config -}}{{- if not (eq (toString .container.config) "false") -}}{{- $files = .chart.config.files -}}{{- end -}}{{- end -}}
{{- $home := ($.chart.config | default dict).home | default (printf "/etc/%s" $service) -}}
{{- if $files }}
- {name: scratch, mountPath: {{ $home }}, subPath: etc-{{ $service }}}
{{- end }}
{{- range prepend (.container.scratch | default list) "/tmp" | uniq }}
- {name: scratch, mountPath: {{ . }}, subPath: {{ . | trimPrefix "/" | replace "/" "-" }}}
{{- end }}
- {name: scripts, mountPath: /scripts, readOnly: true}
{{- range $name, $file := $files }}
{{- if or (not $file.only) (has $slot ($file.only | default list)) }}
- {name: config, mountPath: {{ $file.path | default (printf "%s/%s" $home $name) }}, subPath: {{ $name }}, readOnly: true}
{{- end }}
{{- end }}
{{- if and $files (get (.root.Values.pod.etcSources | default dict) $slot) }}
- {name: snippets, mountPath: {{ $home }}/{{ .chart.config.snippets | default (printf "%s.conf.d" $service) }}, readOnly: true}
{{- end }}
{{- with .container.volumeMounts }}
{{ toYaml . }}
{{- end }}
{{- with (include "openstack-lib.get" (list .root.Values.pod (printf "mounts.%s.%s.volumeMounts" $slot $slot)) | fromJson).v }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/*
Probes: the handler comes from the component, switch and times from pod.probes.<path>.<kind>. Times of a component's
handler apply if the values name none. Without a startup probe, the liveness probe's handler serves as one, for ten
minutes, because the node determines how long a start takes.
List: root, container.
*/}}
{{- define "openstack-lib.probes" -}}
{{- $root := index . 0 -}}
{{- $box := index . 1 -}}
{{- if $box.probes -}}
{{- $all := (include "openstack-lib.get" (list ($root.Values.pod.probes | default dict) $box.probes.values) | fromJson).v | default dict -}}
{{- range $kind := list "startup" "readiness" "liveness" -}}
  {{- $handler := get $box.probes $kind -}}
  {{- $given := get $all $kind | default dict -}}
  {{- if and (eq $kind "startup") (not $handler) $box.probes.liveness -}}
    {{- $living := $all.liveness | default dict -}}
    {{- $handler = merge (dict "periodSeconds" 5 "failureThreshold" 120) (omit $box.probes.liveness "initialDelaySeconds") -}}
    {{- $given = merge (deepCopy $given) (pick $living "enabled") (dict "params" (pick ($living.params | default dict) "timeoutSeconds")) -}}
  {{- end -}}
  {{- if $handler -}}
    {{- if or (not (hasKey $given "enabled")) $given.enabled }}
{{ $kind }}Probe:
  {{- toYaml (merge (deepCopy ($given.params | default dict)) $handler) | nindent 2 }}
    {{- end -}}
  {{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
