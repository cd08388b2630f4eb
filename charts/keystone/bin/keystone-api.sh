#!/bin/bash
# Run Keystone's WSGI application under Apache in the foreground, or have it finish what it serves.
set -eo pipefail
if [ -f /etc/apache2/envvars ]; then
  # shellcheck disable=SC1091
  source /etc/apache2/envvars
fi
case "${1:-start}" in
  start)
    # A process id left by a killed server would keep a new one from starting.
    rm -f /var/run/apache2/*.pid
    exec {{ .Values.conf.software.apache2.binary }} {{ .Values.conf.software.apache2.start_parameters }}
    ;;
  stop)
    # For seconds others still lead requests here. SIGTERM, which comes when this has ended, would cut off what is
    # being served; the server's own end takes this process with it.
    sleep 5
    {{ .Values.conf.software.apache2.binary }} -k graceful-stop
    sleep infinity
    ;;
esac
