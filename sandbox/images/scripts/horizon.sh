#!/bin/bash
# Horizon from its pinned packages beside the services', and what its pods put in the place of Apache's own site.
set -eu
venv=/var/lib/openstack
pip --python "$venv/bin/python" install --quiet --disable-pip-version-check --no-compile --no-deps \
  --requirement /mnt/horizon-*.txt
cd "$venv"/lib/python3.*/site-packages
find django openstack_dashboard horizon -type d -name tests -prune -exec rm -rf {} +
find . \( -name '*.po' -o -name '*.pot' -o -name '*.mo' \) ! -path '*/locale/en/*' -delete
strip --strip-unneeded _sass*.so
"$venv/bin/python" -m compileall -q -j 2 . || true
ln -s ../sites-available/000-default.conf /etc/apache2/sites-enabled/000-default.conf
echo 'Listen 80' > /etc/apache2/ports.conf
