#!/bin/bash
# Wait until as many nodes run in one cluster as the StatefulSet has.
set -euo pipefail
# shellcheck disable=SC1091
source /scripts/http.sh
until running=$(broker GET nodes | grep -o '"running":true' | wc -l) && [ "${running}" -ge "${RABBITMQ_REPLICAS}" ]; do
  echo "${running:-0} of ${RABBITMQ_REPLICAS} nodes run"
  sleep 5
done
echo "all ${RABBITMQ_REPLICAS} nodes run"
