{{/* rabbitmq.conf: nested maps become dotted names. List: prefix, map. */}}
{{- define "rabbitmq.flat" -}}
{{- $prefix := index . 0 -}}
{{- range $name, $value := index . 1 -}}
{{- if kindIs "map" $value -}}
{{- include "rabbitmq.flat" (list (printf "%s%s." $prefix $name) $value) -}}
{{- else if not (kindIs "invalid" $value) -}}
{{- printf "%s%s = %s\n" $prefix $name (include "openstack-lib.scalar" $value) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "rabbitmq.conf" -}}
{{- $conf := .Values.conf -}}
{{- $amqp := include "openstack-lib.endpoint.port" (list . "oslo_messaging" "internal" "amqp") -}}
{{- $http := include "openstack-lib.endpoint.port" (list . "oslo_messaging" "internal" "http") -}}
{{- /* An address of IPv6 stands without brackets: ":::5672" is every address. */ -}}
{{- printf "listeners.tcp.1 = %s:%s\n" $conf.bind_address $amqp -}}
{{- $listeners := deepCopy ($conf.rabbitmq.listeners | default dict) -}}
{{- if kindIs "map" $listeners.tcp -}}{{- $_ := unset $listeners.tcp "1" -}}{{- end -}}
{{- include "rabbitmq.flat" (list "" (merge (dict "listeners" $listeners) (omit $conf.rabbitmq "listeners"))) -}}
{{- $management := deepCopy $conf.rabbit_additonal_conf -}}
{{- if not (get $management "management.listener.port") -}}{{- $_ := set $management "management.listener.port" $http -}}{{- end -}}
{{- include "rabbitmq.flat" (list "" $management) -}}
{{- end -}}

{{/* The users that exist from the start, and what values.conf adds, as the management plugin loads them. */}}
{{- define "rabbitmq.definitions" -}}
{{- $root := . -}}
{{- $auth := .Values.endpoints.oslo_messaging.auth -}}
{{- $users := list
  (dict "name" $auth.user.username "password" (include "openstack-lib.secret" (list . "endpoints.oslo_messaging.auth.user.password")) "tags" "administrator")
  (dict "name" "guest" "password" (include "openstack-lib.secret" (list . "endpoints.oslo_messaging.auth.guest.password")) "tags" "administrator") -}}
{{- $hosts := list (dict "name" "/") -}}
{{- $permissions := list -}}
{{- range $users -}}
  {{- $permissions = append $permissions (dict "user" .name "vhost" "/" "configure" ".*" "write" ".*" "read" ".*") -}}
{{- end -}}
{{- range $name, $entry := .Values.conf.users -}}
  {{- $host := $entry.path | trimPrefix "/" -}}
  {{- $hosts = append $hosts (dict "name" $host) -}}
  {{- range $key, $login := $entry.auth -}}
    {{- $path := printf "conf.users.%s.auth.%s.password" $name $key -}}
    {{- $users = append $users (dict "name" $login.username "password" (include "openstack-lib.secret" (list $root $path)) "tags" "") -}}
    {{- $permissions = append $permissions (dict "user" $login.username "vhost" $host "configure" ".*" "write" ".*" "read" ".*") -}}
  {{- end -}}
{{- end -}}
{{- merge (dict "users" $users "vhosts" $hosts "permissions" $permissions) (deepCopy .Values.conf.aux_conf) | toRawJson -}}
{{- end -}}
