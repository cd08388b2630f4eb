#!/bin/bash
# A guest: Debian's kernel for clouds, and a file system in memory with busybox, which says that it runs.
# With a network card it asks for an address, and sends packets to the one after guest.ping= on its command line.
set -eu
cd /tmp
kernel=$(apt-cache depends linux-image-cloud-amd64 | awk '/Depends: linux-image/ {print $2; exit}')
apt-get -qq download "$kernel"
dpkg-deb --extract linux-image-*.deb /tmp/kernel
install -D --mode 0644 /tmp/kernel/boot/vmlinuz-* /guest/vmlinuz
install -d initrd/bin initrd/proc initrd/sys initrd/dev initrd/modules
install /bin/busybox initrd/bin/busybox
# In the order in which they need each other.
modules="virtio_ring virtio virtio_pci_modern_dev virtio_pci_legacy_dev virtio_pci failover net_failover virtio_net"
for module in $modules; do
  find /tmp/kernel/lib/modules -name "$module.ko" -exec install --mode 0644 {} initrd/modules/ \;
done
cat > initrd/address <<'END'
#!/bin/sh
# What the client of DHCP runs, with what it was told in its environment.
[ "$1" = bound ] || exit 0
ip address replace "$ip/$mask" dev "$interface"
[ -z "${router:-}" ] || ip route replace default via "${router%% *}"
echo "the guest has $ip by DHCP from $serverid"
END
cat > initrd/init <<'END'
#!/bin/busybox sh
/bin/busybox mount -t proc proc /proc
/bin/busybox mount -t sysfs sysfs /sys
/bin/busybox mount -t devtmpfs dev /dev
/bin/busybox --install -s /bin
export PATH=/bin
for module in MODULES; do insmod /modules/$module.ko; done
echo "the guest runs: $(uname -sr), $(ls /sys/class/net | tr '\n' ' ')"
if [ -e /sys/class/net/eth0 ]; then
  ip link set eth0 up
  udhcpc -i eth0 -t 60 -T 2 -n -q -s /address || echo "the guest has no address"
  target=$(sed -n 's/.*guest\.ping=\([^ ]*\).*/\1/p' /proc/cmdline)
  while [ -n "$target" ]; do ping -c 10 "$target"; done
fi
while true; do sleep 3600; done
END
sed -i "s/MODULES/$modules/" initrd/init
chmod 0755 initrd/init initrd/address
(cd initrd && find . | cpio --quiet --create --format=newc | gzip -9) > /guest/initrd
