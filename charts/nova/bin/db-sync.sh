#!/bin/bash
# Bring the API database and both cells up to date. What cell1 is mapped to follows the configuration.
set -euo pipefail
manage() { nova-manage --config-file /etc/nova/nova.conf "$@"; }
manage api_db sync
manage cell_v2 map_cell0 --database_connection "${DB_CONNECTION_CELL0}"
cell_id() { manage cell_v2 list_cells | awk -F '|' -v name="$1" '{gsub(/ /, "")} $2 == name {print $3}'; }
cell0=$(cell_id cell0)
manage cell_v2 update_cell --cell_uuid "${cell0}" --name cell0 \
  --database_connection "${DB_CONNECTION_CELL0}" --transport-url 'none:///'
cell1=$(cell_id cell1)
if [ -z "${cell1}" ]; then
  manage cell_v2 create_cell --name cell1
else
  manage cell_v2 update_cell --cell_uuid "${cell1}" --name cell1
fi
manage db sync
manage db online_data_migrations || echo "some data cannot move yet; the next run goes on"
