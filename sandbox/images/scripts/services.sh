#!/bin/bash
# What Nova asks a hypervisor by, Debian's module, made for Debian's library; and how Neutron binds ports here.
set -eu
site=$(echo /var/lib/openstack/lib/python3.*/site-packages)
ln -s /usr/lib/python3/dist-packages/libvirt*.{py,so} "$site"
cp /mnt/ml2_driver.py "$site/osctl_sandbox_ml2.py"
cp /mnt/tap_driver.py "$site/osctl_sandbox_tap.py"
information=$site/osctl_sandbox_ml2-1.0.dist-info
mkdir "$information"
printf 'Metadata-Version: 2.1\nName: osctl-sandbox-ml2\nVersion: 1.0\n' > "$information/METADATA"
cat > "$information/entry_points.txt" <<'END'
[neutron.ml2.mechanism_drivers]
osctl_loopback = osctl_sandbox_ml2:LoopbackDriver
osctl_tap = osctl_sandbox_tap:TapDriver
END
