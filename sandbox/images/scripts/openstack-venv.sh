#!/bin/bash
# OpenStack from its pinned packages, where OpenStack-Helm's images have it.
set -eu
venv=/var/lib/openstack
python3 -m venv "$venv"
"$venv/bin/pip" install --quiet --disable-pip-version-check --no-compile \
  --requirement /mnt/requirements-*.txt --requirement /mnt/openstack-extra-*.txt
site=$(echo "$venv"/lib/python3.*/site-packages)
cd "$site"
# What no server reads: tests (but for Cinder's fake driver), translations, descriptions of other clouds, symbols of
# compilers. noVNC's proxy does without numpy, slower.
tar -cf /tmp/kept.tar cinder/tests/{__init__,fake_driver}.py cinder/tests/unit/{__init__,utils,fake_constants}.py \
  cinder/tests/unit/brick/{__init__,fake_lvm}.py
find . -type d -name tests -prune -exec rm -rf {} +
tar -xf /tmp/kept.tar
rm -rf pip pip-* googleapiclient/discovery_cache numpy numpy.libs numpy-*.dist-info
find . \( -name '*.po' -o -name '*.pot' -o -name '*.mo' \) ! -path '*/locale/en/*' -delete
# Not every series has these.
[ ! -d babel ] || find babel/locale-data -type f ! -name 'en*' ! -name 'root*' -delete
[ ! -d botocore ] || find botocore/data -mindepth 1 -maxdepth 1 -type d ! -name s3 -exec rm -rf {} +
find . -name '*.pyi' -delete
find . -name '*.so' ! -path '*.libs/*' -exec strip --strip-unneeded {} +
"$venv/bin/python" -m compileall -q -j 2 . || true
