#!/bin/bash
# The account that guests run as: that of Nova, whose files their disks are.
set -eu
groupadd --force --system kvm
groupadd --gid 42424 nova
useradd --uid 42424 --gid 42424 --no-create-home --home-dir /var/lib/nova --shell /usr/sbin/nologin nova
# Debian's libvirt looks for its own, user and group, before it reads its configuration, and ends without them.
groupadd --system libvirt-qemu
useradd --system --gid libvirt-qemu --no-create-home --home-dir /var/lib/libvirt --shell /usr/sbin/nologin libvirt-qemu
