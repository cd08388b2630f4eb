#!/bin/sh
# One step of an image: packages and a script, in a root file system of the layers below and one above them.
#   stage.sh LOWER UPPER WORK INPUTS CACHE SCRIPT [PACKAGE...]
# Runs in a mount namespace of its own. The machine's sources of packages and its resolver are seen from inside,
# and stay out of the layer, as do lists and archives of packages.
set -eu
lower=$1 upper=$2 work=$3 inputs=$4 cache=$5 script=$6
shift 6
root=$work/root
mkdir -p "$root" "$work/overlay"
mount --make-rprivate /
mount -t overlay overlay -o "lowerdir=$lower,upperdir=$upper,workdir=$work/overlay" "$root"
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
for place in tmp run var/cache/apt var/lib/apt/lists mnt; do
  mkdir -p "$root/$place"
  mount -t tmpfs tmpfs "$root/$place"
done
mount --bind "$inputs" "$root/mnt"
# Archives that were fetched once are not fetched again.
mkdir -p "$cache/apt/partial" "$cache/pip" "$root/tmp/pip" "$root/var/cache/apt/archives" "$root/usr/share/keyrings"
mount --bind "$cache/apt" "$root/var/cache/apt/archives"
mount --bind "$cache/pip" "$root/tmp/pip"
mount -t tmpfs tmpfs "$root/etc/apt"
cp -a /etc/apt/. "$root/etc/apt/"
mount -t tmpfs tmpfs "$root/usr/share/keyrings"
cp -aL /usr/share/keyrings/. "$root/usr/share/keyrings/"
cat /etc/resolv.conf > "$root/run/resolv.conf"
mount --bind "$root/run/resolv.conf" "$root/etc/resolv.conf"
# No package starts a server here.
printf '#!/bin/sh\nexit 101\n' > "$root/run/policy-rc.d"
chmod 755 "$root/run/policy-rc.d"
touch "$root/usr/sbin/policy-rc.d"
mount --bind "$root/run/policy-rc.d" "$root/usr/sbin/policy-rc.d"
# What the machine trusts, a mirror behind a proxy may need.
if [ -f /etc/ssl/certs/ca-certificates.crt ] && [ -f "$root/etc/ssl/certs/ca-certificates.crt" ]; then
  cat /etc/ssl/certs/ca-certificates.crt > "$root/run/trusted.crt"
  mount --bind "$root/run/trusted.crt" "$root/etc/ssl/certs/ca-certificates.crt"
fi
export DEBIAN_FRONTEND=noninteractive HOME=/root LC_ALL=C.UTF-8 PYTHONDONTWRITEBYTECODE=1 PIP_CACHE_DIR=/tmp/pip
unset PIP_FIND_LINKS PYTHONPYCACHEPREFIX PYTHONPATH VIRTUAL_ENV || true
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
if [ $# -gt 0 ]; then
  chroot "$root" apt-get -qq -o APT::Sandbox::User=root update
  chroot "$root" apt-get -qq -o APT::Sandbox::User=root -o Dpkg::Use-Pty=0 -o APT::Keep-Downloaded-Packages=true install --yes --no-install-recommends "$@"
fi
[ -z "$script" ] || chroot "$root" /bin/bash "/mnt/$script"
rm -rf "$root"/usr/share/doc/* "$root"/usr/share/man/* "$root"/usr/share/info/* "$root"/usr/share/locale/* \
  "$root"/var/log/*.log "$root"/var/log/apt "$root"/var/cache/ldconfig/* "$root"/var/lib/dpkg/*-old \
  "$root"/var/cache/debconf/*-old "$root"/root/.cache
umount -l "$root/usr/sbin/policy-rc.d"
rm -f "$root/usr/sbin/policy-rc.d"
