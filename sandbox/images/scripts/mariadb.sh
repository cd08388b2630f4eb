#!/bin/bash
# The account that the chart's pods run as, and no configuration but what they mount.
set -eu
groupadd --gid 999 mysql
useradd --uid 999 --gid 999 --home-dir /nonexistent --no-create-home --shell /usr/sbin/nologin mysql
rm -rf /etc/mysql/conf.d /etc/mysql/mariadb.conf.d
install -d -o mysql -g mysql /var/lib/mysql /run/mysqld /etc/mysql/conf.d /etc/mysql/mariadb.conf.d
# What the controller of OpenStack-Helm's chart is written with, which Debian does not have.
python3 -m venv /tmp/pip-here
/tmp/pip-here/bin/pip install --quiet --disable-pip-version-check --no-deps --no-compile \
  --target "$(echo /usr/local/lib/python3.*/dist-packages)" pykube-ng==23.6.0
