#!/bin/bash
set -euo pipefail
glance-manage --config-file /etc/glance/glance-api.conf db_sync
