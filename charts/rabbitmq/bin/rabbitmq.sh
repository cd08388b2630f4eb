#!/bin/bash
# Run the broker in the foreground, under the cookie and with the definitions of the Secrets.
set -euo pipefail
home=/var/lib/rabbitmq
install -m 0600 /run/erlang-cookie/erlang_cookie "${home}/.erlang.cookie"
install -m 0600 /etc/rabbitmq/definitions.json "${home}/definitions.json"
export HOME=${home}
own=${MY_POD_NAME##*-}
first=${MY_POD_NAME%-*}-0${K8S_HOSTNAME_SUFFIX}
RABBITMQ_NODENAME=rabbit@${MY_POD_NAME}${K8S_HOSTNAME_SUFFIX}
export RABBITMQ_NODENAME
data=${home}/mnesia/${RABBITMQ_NODENAME}
if [ -z "${RABBITMQ_FEATURE_FLAGS}" ]; then
  unset RABBITMQ_FEATURE_FLAGS
fi
if [ "${RABBITMQ_FORCE_BOOT}" = true ] && [ -d "${data}" ]; then
  touch "${data}/force_load"
fi
{{- if eq .Values.conf.rabbitmq.cluster_formation.peer_discovery_backend "rabbit_peer_discovery_k8s" }}
# The first pod's node founds the cluster and the others join it, which needs nothing of Kubernetes' API.
# RabbitMQ does so itself from 4.1 on. Before, it asks the API, and founds a second cluster where it finds nobody:
# there a new node is told whom to join, and waits for it.
version=${RABBITMQ_VERSION:-$(rabbitmqctl --quiet version)}
older=$(printf '4.1\n%s\n' "${version}" | sort --version-sort)
if [ "${older%%$'\n'*}" != 4.1 ]; then
  mkdir -p /tmp/conf.d
  {
    echo "cluster_formation.peer_discovery_backend = classic_config"
    echo "cluster_formation.classic_config.nodes.1 = rabbit@${first}"
  } > /tmp/conf.d/50-first-node.conf
  export RABBITMQ_CONFIG_FILES=/tmp/conf.d
  port={{ include "openstack-lib.endpoint.port" (list . "oslo_messaging" "internal" "amqp") }}
  serves() { timeout 5 bash -c ": < /dev/tcp/${first}/${port}" 2>/dev/null; }
  if [ "${own}" != 0 ] && [ ! -e "${data}/schema.DAT" ]; then
    trap 'exit 143' TERM
    until serves; do
      echo "waiting for ${first} to join its cluster"
      sleep 2 &
      wait "$!"
    done
    trap - TERM
  fi
fi
{{- end }}
exec rabbitmq-server
