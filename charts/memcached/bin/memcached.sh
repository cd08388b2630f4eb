#!/bin/sh
# Serve in the foreground. The memory limit is megabytes.
set -e
exec memcached -v \
  -p {{ include "openstack-lib.endpoint.port" (list . "oslo_cache" "internal" "memcache") }} \
  -U 0 \
  {{- if not .Values.conf.memcached.stats_cachedump.enabled }}
  -X \
  {{- end }}
  -c {{ .Values.conf.memcached.max_connections | int }} \
  -m {{ .Values.conf.memcached.memory | int }}
