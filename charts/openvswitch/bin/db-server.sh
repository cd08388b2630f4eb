#!/bin/bash
# Serve the switch's database from the host's run directory: it lives as long as the host is up.
set -euo pipefail
run=/run/openvswitch
database=${run}/conf.db
if [ ! -e "${database}" ]; then
  # In its place when it is whole: half a database would be taken for one at the next start.
  rm -f "${database}.new"
  ovsdb-tool create "${database}.new" /usr/share/openvswitch/vswitch.ovsschema
  mv "${database}.new" "${database}"
else
  outdated=$(ovsdb-tool needs-conversion "${database}" /usr/share/openvswitch/vswitch.ovsschema)
  if [ "${outdated}" = yes ]; then ovsdb-tool convert "${database}" /usr/share/openvswitch/vswitch.ovsschema; fi
fi
rm -f "${run}/ovsdb-server.pid"
exec ovsdb-server "${database}" -vconsole:info -vfile:off -vsyslog:off \
  --pidfile="${run}/ovsdb-server.pid" --remote="punix:${run}/db.sock" \
  --remote=db:Open_vSwitch,Open_vSwitch,manager_options \
  {{- with .Values.conf.openvswitch_db_server.ptcp_port }}
  --remote=ptcp:{{ . | int }} \
  {{- end }}
  --private-key=db:Open_vSwitch,SSL,private_key --certificate=db:Open_vSwitch,SSL,certificate \
  --bootstrap-ca-cert=db:Open_vSwitch,SSL,ca_cert
