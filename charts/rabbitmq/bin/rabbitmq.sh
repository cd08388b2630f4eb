#!/bin/bash
# Run the broker in the foreground, under the cookie and with the definitions of the Secrets.
set -euo pipefail
home=/var/lib/rabbitmq
install -m 0600 /run/erlang-cookie/erlang_cookie "${home}/.erlang.cookie"
install -m 0600 /etc/rabbitmq/definitions.json "${home}/definitions.json"
export HOME=${home}
pod() { echo "${MY_POD_NAME%-*}-$1${K8S_HOSTNAME_SUFFIX}"; } # the host of that number
own=${MY_POD_NAME##*-}
RABBITMQ_NODENAME=rabbit@${MY_POD_NAME}${K8S_HOSTNAME_SUFFIX}
export RABBITMQ_NODENAME
data=${RABBITMQ_MNESIA_DIR:-${RABBITMQ_MNESIA_BASE:-${home}/mnesia}/${RABBITMQ_NODENAME}}
if [ -z "${RABBITMQ_FEATURE_FLAGS}" ]; then
  unset RABBITMQ_FEATURE_FLAGS
fi
if [ "${RABBITMQ_FORCE_BOOT}" = true ] && [ -d "${data}" ]; then
  touch "${data}/force_load"
fi
{{- if eq .Values.conf.rabbitmq.cluster_formation.peer_discovery_backend "rabbit_peer_discovery_k8s" }}
# The first pod's node founds the cluster and the others join it, which needs nothing of Kubernetes' API.
# RabbitMQ does so itself from 4.1 on. Before, it asks the API, and founds a second cluster where it finds nobody:
# there a new node is told whom to join, and waits for it. A node is new also when it lost its volume: then a first
# one, of any version, joins the others where they serve.
port={{ include "openstack-lib.endpoint.port" (list . "oslo_messaging" "internal" "amqp") }}
serves() { timeout 5 bash -c ": < /dev/tcp/$1/${port}" 2>/dev/null; }
version=${RABBITMQ_VERSION:-$(rabbitmqctl --quiet version)}
older=$(printf '4.1\n%s\n' "${version}" | sort --version-sort)
if [ "${older%%$'\n'*}" = 4.1 ]; then older=; fi
join=
if [ ! -e "${data}/schema.DAT" ] && [ ! -d "${data}/coordination" ]; then
  trap 'exit 143' TERM
  if [ "${own}" = 0 ]; then
    for number in 1 2 3 4; do
      other=$(pod "${number}")
      if serves "${other}"; then
        join=${other}
        break
      fi
    done
  elif [ -n "${older}" ]; then
    join=$(pod 0)
    until serves "${join}"; do
      echo "waiting for ${join} to join its cluster"
      sleep 2 &
      wait "$!"
    done
  fi
  if [ -n "${join}" ]; then
    # Whoever knows this node as a member refuses it as a new one. Most often nobody does, which is no failure.
    timeout 120 rabbitmqctl --node "rabbit@${join}" forget_cluster_node "${RABBITMQ_NODENAME}" >/dev/null 2>&1 &
    wait "$!" || true
    echo "joining the cluster of ${join}"
  fi
  trap - TERM
fi
if [ -n "${older}${join}" ]; then
  founder=$(pod 0)
  mkdir -p /tmp/conf.d
  {
    echo "cluster_formation.peer_discovery_backend = classic_config"
    echo "cluster_formation.classic_config.nodes.1 = rabbit@${join:-${founder}}"
  } > /tmp/conf.d/50-first-node.conf
  export RABBITMQ_CONFIG_FILES=/tmp/conf.d
fi
{{- end }}
exec rabbitmq-server
