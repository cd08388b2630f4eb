#!/bin/bash
# probe.sh started: the server answers. probe.sh alive: it answers, or has a reason not to. probe.sh ready: it also
# takes part in the cluster.
set -euo pipefail
if [ "$1" = alive ]; then
  # A server that waits for the others, or takes its data from one of them, does not answer and is well.
  if [ -n "$(find /tmp/waiting -mmin -1 2>/dev/null || true)" ] || [ -e /var/lib/mysql/sst_in_progress ]; then exit 0; fi
fi
export MYSQL_PWD="${MYSQL_DBADMIN_PASSWORD}"
client=(--user="${MYSQL_DBADMIN_USERNAME}" --host=127.0.0.1 --connect-timeout=5)
mariadb-admin "${client[@]}" ping >/dev/null
if [ "$1" = ready ]; then
  used=$(df --output=pcent /var/lib/mysql | tail -1 | tr -dc '0-9')
  if [ "${used}" -ge {{ .Values.pod.probes.server.mariadb.readiness.disk_usage_percent | int }} ]; then
    echo "the volume is ${used} % full" >&2
    exit 1
  fi
  state=$(mariadb "${client[@]}" --batch --skip-column-names \
    --execute="SHOW GLOBAL STATUS LIKE 'wsrep_ready'" | awk '{print $2}')
  [ "${state}" = ON ]
fi
