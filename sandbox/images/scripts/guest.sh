#!/bin/bash
# A guest: Debian's kernel for clouds, and a file system in memory with busybox, which says that it runs.
set -eu
cd /tmp
kernel=$(apt-cache depends linux-image-cloud-amd64 | awk '/Depends: linux-image/ {print $2; exit}')
apt-get -qq download "$kernel"
dpkg-deb --extract linux-image-*.deb /tmp/kernel
install -D --mode 0644 /tmp/kernel/boot/vmlinuz-* /guest/vmlinuz
install -d initrd/bin initrd/proc initrd/sys initrd/dev
install /bin/busybox initrd/bin/busybox
cat > initrd/init <<'END'
#!/bin/busybox sh
/bin/busybox mount -t proc proc /proc
/bin/busybox mount -t sysfs sysfs /sys
/bin/busybox mount -t devtmpfs dev /dev
echo "the guest runs: $(/bin/busybox uname -sr), $(/bin/busybox ls /sys/class/net | /bin/busybox tr '\n' ' ')"
while true; do /bin/busybox sleep 3600; done
END
chmod 0755 initrd/init
(cd initrd && find . | cpio --quiet --create --format=newc | gzip -9) > /guest/initrd
