{{/*
Some upstream values are templates themselves and call upstream's library by name
(conf.wsgi_keystone, conf.database.00_base, conf.swift_store …). These names keep such values usable here.
*/}}
{{- define "helm-toolkit.endpoints.endpoint_port_lookup" -}}
{{- include "openstack-lib.endpoint.port" (list (index . 3) (index . 0) (index . 1) (index . 2)) -}}
{{- end -}}
{{- define "helm-toolkit.endpoints.keystone_endpoint_uri_lookup" -}}
{{- include "openstack-lib.endpoint.uri" (list (index . 3) (index . 0) (index . 1) (index . 2)) -}}
{{- end -}}
{{- define "helm-toolkit.endpoints.hostname_fqdn_endpoint_lookup" -}}
{{- include "openstack-lib.endpoint.host" (list (index . 2) (index . 0) (index . 1)) -}}
{{- end -}}
{{- define "helm-toolkit.endpoints.hostname_namespaced_endpoint_lookup" -}}
{{- printf "%s.%s" (include "openstack-lib.endpoint.service" (list (index . 2) (index . 0) (index . 1))) (include "openstack-lib.endpoint.namespace" (list (index . 2) (index . 0))) -}}
{{- end -}}
{{- define "helm-toolkit.endpoints.hostname_short_endpoint_lookup" -}}
{{- include "openstack-lib.endpoint.service" (list (index . 2) (index . 0) (index . 1)) -}}
{{- end -}}
