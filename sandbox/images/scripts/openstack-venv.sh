#!/bin/bash
# OpenStack from its pinned packages, where OpenStack-Helm's images have it.
set -eu
venv=/var/lib/openstack
python3 -m venv "$venv"
"$venv/bin/pip" install --quiet --disable-pip-version-check --no-compile \
  --requirement /mnt/requirements-*.txt --requirement /mnt/openstack-extra.txt
site=$(echo "$venv"/lib/python3.*/site-packages)
cp /mnt/ml2_driver.py "$site/osctl_sandbox_ml2.py"
information=$site/osctl_sandbox_ml2-1.0.dist-info
mkdir "$information"
printf 'Metadata-Version: 2.1\nName: osctl-sandbox-ml2\nVersion: 1.0\n' > "$information/METADATA"
printf '[neutron.ml2.mechanism_drivers]\nosctl_loopback = osctl_sandbox_ml2:LoopbackDriver\n' > "$information/entry_points.txt"
cd "$site"
# What no server reads: tests, translations, descriptions of other clouds.
rm -rf {nova,neutron,keystone,glance,cinder,placement,glance_store,os_brick,oslo_db,os_ken}/tests \
  pip pip-* googleapiclient/discovery_cache ./*/locale/* networkx/*/tests
find . -name '*.pyi' -delete
"$venv/bin/python" -m compileall -q -j 2 . || true
