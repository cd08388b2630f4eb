{{/*
Addresses from `endpoints.<type>`. Every template takes a list: root context, endpoint type, endpoint
(internal, public, admin, …) and, where it says so, a port name or user.
`hosts`, `host_fqdn_override`, `scheme`, `port.<name>` and `path` are looked up by endpoint, then by `default`.
*/}}

{{/* One field by endpoint or default, as text; a bare scalar serves every endpoint. */}}
{{- define "openstack-lib.endpoint.field" -}}
{{- $field := index . 0 -}}
{{- $endpoint := index . 1 -}}
{{- if kindIs "map" $field -}}
  {{- $value := get $field $endpoint | default (get $field "default") -}}
  {{- if kindIs "map" $value -}}{{- $value = $value.host -}}{{- end -}}
  {{- if $value -}}{{- include "openstack-lib.scalar" $value -}}{{- end -}}
{{- else if $field -}}
  {{- include "openstack-lib.scalar" $field -}}
{{- end -}}
{{- end -}}

{{/* The Service's own name. */}}
{{- define "openstack-lib.endpoint.service" -}}
{{- $entry := index (index . 0).Values.endpoints (index . 1) -}}
{{- include "openstack-lib.endpoint.field" (list $entry.hosts (index . 2)) -}}
{{- end -}}

{{- define "openstack-lib.endpoint.namespace" -}}
{{- $root := index . 0 -}}
{{- (index $root.Values.endpoints (index . 1)).namespace | default $root.Release.Namespace -}}
{{- end -}}

{{/* The name clients use: the override if there is one, else the Service's name in the cluster's domain. */}}
{{- define "openstack-lib.endpoint.host" -}}
{{- $root := index . 0 -}}
{{- $entry := index $root.Values.endpoints (index . 1) -}}
{{- $override := include "openstack-lib.endpoint.field" (list $entry.host_fqdn_override (index . 2)) -}}
{{- $service := include "openstack-lib.endpoint.service" . -}}
{{- if $override -}}
  {{- $override -}}
{{- else if regexMatch "^[0-9.]+$|:" $service -}}
  {{- $service -}}
{{- else -}}
  {{- printf "%s.%s.svc.%s" $service (include "openstack-lib.endpoint.namespace" .) $root.Values.endpoints.cluster_domain_suffix -}}
{{- end -}}
{{- end -}}

{{/* List: root, type, endpoint, port name. */}}
{{- define "openstack-lib.endpoint.port" -}}
{{- $ports := (index (index . 0).Values.endpoints (index . 1)).port -}}
{{- include "openstack-lib.endpoint.field" (list (get $ports (index . 3)) (index . 2)) -}}
{{- end -}}

{{/* List: root, type, endpoint, port name. A scheme's own port is left out, as a catalogue entry has it. */}}
{{- define "openstack-lib.endpoint.uri" -}}
{{- $entry := index (index . 0).Values.endpoints (index . 1) -}}
{{- $scheme := include "openstack-lib.endpoint.field" (list $entry.scheme (index . 2)) -}}
{{- $port := include "openstack-lib.endpoint.port" . -}}
{{- $path := include "openstack-lib.endpoint.field" (list $entry.path (index . 2)) -}}
{{- $known := dict "http" "80" "https" "443" -}}
{{- $suffix := ternary "" (printf ":%s" $port) (eq (get $known $scheme) $port) -}}
{{- printf "%s://%s%s%s" $scheme (include "openstack-lib.endpoint.host" .) $suffix $path -}}
{{- end -}}

{{/* List: root, type, user. Text safe in the user part of a URI. */}}
{{- define "openstack-lib.endpoint.password" -}}
{{- include "openstack-lib.secret" (list (index . 0) (printf "endpoints.%s.auth.%s.password" (index . 1) (index . 2))) | urlquery | replace "+" "%20" -}}
{{- end -}}

{{/* List: root, type (oslo_db, …), user, and "server" to leave the database's name out. */}}
{{- define "openstack-lib.database_uri" -}}
{{- $root := index . 0 -}}
{{- $type := index . 1 -}}
{{- $user := index . 2 -}}
{{- $entry := index $root.Values.endpoints $type -}}
{{- $host := include "openstack-lib.endpoint.host" (list $root $type "internal") -}}
{{- $port := include "openstack-lib.endpoint.port" (list $root $type "internal" "mysql") -}}
{{- $path := ternary "" $entry.path (and (gt (len .) 3) (eq (last .) "server")) -}}
{{- printf "%s://%s:%s@%s:%s%s" $entry.scheme (index $entry.auth $user).username (include "openstack-lib.endpoint.password" (list $root $type $user)) $host $port $path -}}
{{- end -}}

{{/* List: root, user. One address for each broker of `statefulset`, or the Service where it is not given. */}}
{{- define "openstack-lib.transport_url" -}}
{{- $root := index . 0 -}}
{{- $user := index . 1 -}}
{{- $entry := $root.Values.endpoints.oslo_messaging -}}
{{- $host := include "openstack-lib.endpoint.host" (list $root "oslo_messaging" "internal") -}}
{{- $port := include "openstack-lib.endpoint.port" (list $root "oslo_messaging" "internal" "amqp") -}}
{{- $login := printf "%s:%s" (index $entry.auth $user).username (include "openstack-lib.endpoint.password" (list $root "oslo_messaging" $user)) -}}
{{- $override := include "openstack-lib.endpoint.field" (list $entry.host_fqdn_override "internal") -}}
{{- $brokers := list -}}
{{- if and $entry.statefulset (not $override) -}}
  {{- range $i := until (int $entry.statefulset.replicas) -}}
    {{- $brokers = append $brokers (printf "%s@%s-%d.%s:%s" $login $entry.statefulset.name $i $host $port) -}}
  {{- end -}}
{{- else -}}
  {{- $brokers = list (printf "%s@%s:%s" $login $host $port) -}}
{{- end -}}
{{- printf "%s://%s%s" $entry.scheme (join "," $brokers) $entry.path -}}
{{- end -}}

{{- define "openstack-lib.memcached_servers" -}}
{{- printf "%s:%s" (include "openstack-lib.endpoint.host" (list . "oslo_cache" "internal")) (include "openstack-lib.endpoint.port" (list . "oslo_cache" "internal" "memcache")) -}}
{{- end -}}

{{/*
Options with which an oslo service logs in to Keystone as endpoints.identity.auth.<user>, as a YAML map.
List: root, user.
*/}}
{{- define "openstack-lib.keystone_login" -}}
{{- $root := index . 0 -}}
{{- $user := index . 1 -}}
{{- $auth := index $root.Values.endpoints.identity.auth $user -}}
auth_url: {{ include "openstack-lib.endpoint.uri" (list $root "identity" "internal" "api") }}
region_name: {{ $auth.region_name }}
project_name: {{ $auth.project_name }}
project_domain_name: {{ $auth.project_domain_name }}
user_domain_name: {{ $auth.user_domain_name }}
username: {{ $auth.username }}
password: {{ include "openstack-lib.oslo_secret" (list $root (printf "endpoints.identity.auth.%s.password" $user)) }}
{{- end -}}

{{/* What [keystone_authtoken] needs beyond what the values say, as a YAML map. List: root, user. */}}
{{- define "openstack-lib.authtoken" -}}
{{- $root := index . 0 -}}
{{ include "openstack-lib.keystone_login" . }}
www_authenticate_uri: {{ include "openstack-lib.endpoint.uri" (list $root "identity" "internal" "api") }}
memcached_servers: {{ include "openstack-lib.memcached_servers" $root }}
memcache_secret_key: {{ include "openstack-lib.oslo_secret" (list $root "endpoints.oslo_cache.auth.memcache_secret_key") }}
{{- end -}}

{{/* A secret as a quoted YAML scalar for an oslo.config option, where "$" begins a substitution. */}}
{{- define "openstack-lib.oslo_secret" -}}
{{- include "openstack-lib.secret" . | replace "$" "$$" | quote -}}
{{- end -}}
