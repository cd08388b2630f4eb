#!/bin/bash
# The accounts and the web server that the charts' pods expect in an image of a service.
set -eu
# All have one number. Nova comes first: its pods ask which name that number has, and where its home is.
for name in nova keystone glance placement neutron cinder heat horizon; do
  groupadd --non-unique --gid 42424 "$name"
  useradd --non-unique --uid 42424 --gid 42424 --no-create-home --home-dir "/var/lib/$name" --shell /usr/sbin/nologin "$name"
  install -d -o 42424 -g 42424 "/var/lib/$name" "/var/log/$name" "/etc/$name"
done
# Each pod makes keys of its own.
rm -f /etc/ssh/ssh_host_*
# Keystone runs under Apache: with the packages of the virtual environment, and without the default site.
rm -f /etc/apache2/sites-enabled/* /etc/apache2/ports.conf
touch /etc/apache2/ports.conf
a2enmod --quiet wsgi headers
echo 'WSGIPythonHome /var/lib/openstack' > /etc/apache2/conf-enabled/openstack.conf
install -d /var/www/cgi-bin/keystone
for name in keystone-wsgi-public keystone-wsgi-admin; do
  ln -s /var/lib/openstack/bin/keystone-wsgi-public "/var/www/cgi-bin/keystone/$name"
done
# The pages of noVNC, without the proxy that its package would bring: that is Nova's.
cd /tmp
apt-get -qq download novnc
dpkg-deb --extract novnc_*.deb /tmp/novnc
cp -a /tmp/novnc/usr/share/novnc /usr/share/novnc
# Perl is there for the commands that switch Apache's modules on, and of it they need little.
install -D --mode 0644 "$(find -L /usr/share/perl -name if.pm -print -quit)" /usr/local/lib/site_perl/if.pm
rm -rf /usr/share/perl /usr/lib/*/perl /usr/lib/*/libperl.so.* /usr/bin/perl5* /usr/lib/python3.*/{test,pydoc_data}
a2enmod --quiet rewrite
a2dismod --quiet rewrite
