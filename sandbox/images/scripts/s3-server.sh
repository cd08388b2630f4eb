#!/bin/bash
# A server of buckets whose program lies beside this script.
set -eu
install -m 0755 /mnt/versitygw /usr/local/bin/versitygw
