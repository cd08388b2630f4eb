#!/bin/bash
set -euo pipefail
placement-manage --config-file /etc/placement/placement.conf db sync
placement-manage --config-file /etc/placement/placement.conf db online_data_migrations ||
  echo "some data cannot move yet; the next run goes on"
