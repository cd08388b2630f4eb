#!/bin/bash
# probe.sh alive: the node answers. probe.sh ready: the broker runs and raises no alarm.
set -euo pipefail
export HOME=/var/lib/rabbitmq
export RABBITMQ_NODENAME="rabbit@${MY_POD_NAME}${K8S_HOSTNAME_SUFFIX}"
case "$1" in
  alive) rabbitmq-diagnostics --quiet ping ;;
  ready) rabbitmq-diagnostics --quiet check_running && rabbitmq-diagnostics --quiet check_local_alarms ;;
esac
