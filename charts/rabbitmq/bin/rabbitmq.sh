#!/bin/bash
# Run the broker in the foreground, under the cookie and with the definitions of the Secrets.
set -euo pipefail
home=/var/lib/rabbitmq
install -m 0600 /run/erlang-cookie/erlang_cookie "${home}/.erlang.cookie"
install -m 0600 /etc/rabbitmq/definitions.json "${home}/definitions.json"
export HOME=${home}
export RABBITMQ_NODENAME="rabbit@${MY_POD_NAME}${K8S_HOSTNAME_SUFFIX}"
if [ -z "${RABBITMQ_FEATURE_FLAGS}" ]; then
  unset RABBITMQ_FEATURE_FLAGS
fi
if [ "${RABBITMQ_FORCE_BOOT}" = true ] && [ -d "${home}/mnesia/${RABBITMQ_NODENAME}" ]; then
  touch "${home}/mnesia/${RABBITMQ_NODENAME}/force_load"
fi
exec rabbitmq-server
