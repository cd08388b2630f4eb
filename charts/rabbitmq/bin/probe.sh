#!/bin/bash
# The broker runs on this node and raises no alarm of its own. Asked over HTTP: a command of RabbitMQ would start
# a virtual machine of Erlang each time, seconds of a processor on a busy node.
set -euo pipefail
# shellcheck disable=SC1091
source /scripts/http.sh
# shellcheck disable=SC2034 # read by http.sh
address=127.0.0.1:${RABBITMQ_HTTP_PORT}
broker GET health/checks/local-alarms
