#!/bin/bash
# The program under the name and in the place that the charts call it by.
set -eu
install -m 0755 /mnt/entrypoint.py /usr/local/bin/kubernetes-entrypoint
