#!/bin/bash
# Run libvirtd beside the guests of this host, which live on when the pod goes.
set -euo pipefail
{{- if .Values.conf.kubernetes.cgroup_controllers }}
# Guests are put below a group of our own, outside the pod's: removing the pod must not stop them.
group=osh-libvirt
if [ -f /sys/fs/cgroup/cgroup.controllers ]; then
  mkdir -p "/sys/fs/cgroup/${group}"
  echo $$ > "/sys/fs/cgroup/${group}/cgroup.procs"
else
  for controller in {{ join " " .Values.conf.kubernetes.cgroup_controllers }}; do
    if [ -d "/sys/fs/cgroup/${controller}" ]; then
      mkdir -p "/sys/fs/cgroup/${controller}/${group}"
      echo $$ > "/sys/fs/cgroup/${controller}/${group}/tasks" || true
    fi
  done
fi
{{- end }}
if [ -c /dev/kvm ]; then
  chmod 0660 /dev/kvm
  chown root:kvm /dev/kvm
fi
rm -f /run/libvirtd.pid
{{- if .Values.conf.ceph.enabled }}
define_secret() {
  until virsh --connect qemu:///system --quiet version >/dev/null 2>&1; do sleep 1; done
  local file=/tmp/secret.xml
  cat > "${file}" <<XML
<secret ephemeral='no' private='no'>
  <uuid>${CEPH_SECRET_UUID}</uuid>
  <usage type='ceph'><name>client.${CEPH_USER}. secret</name></usage>
</secret>
XML
  virsh --connect qemu:///system secret-define --file "${file}"
  # Through a file: a process's arguments are there for everyone to read.
  (umask 077; printf '%s' "${CEPH_KEY}" > /tmp/secret.key)
  virsh --connect qemu:///system secret-set-value --secret "${CEPH_SECRET_UUID}" --file /tmp/secret.key
  rm -f /tmp/secret.key
}
define_secret &
{{- end }}
exec libvirtd --listen --config /tmp/pod-shared/libvirtd.conf --pid-file /run/libvirtd.pid
