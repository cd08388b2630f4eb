#!/bin/bash
# Bring the schema up to date, then make the admin and Keystone's own catalogue entry where they do not exist.
# The URLs and the password come from OS_BOOTSTRAP_*.
set -euo pipefail
config=--config-file=/etc/keystone/keystone.conf
keystone-manage "${config}" db_sync
keystone-manage "${config}" bootstrap
keystone-manage "${config}" doctor || echo "doctor found something to look at; going on"
