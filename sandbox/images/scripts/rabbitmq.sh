#!/bin/bash
# The account of the chart's pods; the commands that do not ask who calls them come first in PATH.
set -eu
old=$(id -u rabbitmq)
groupmod --gid 999 rabbitmq
usermod --uid 999 rabbitmq
find / -xdev \( -uid "$old" -o -nouser \) -exec chown -h rabbitmq:rabbitmq {} +
rm -rf /var/lib/rabbitmq/* /var/lib/rabbitmq/.erlang.cookie /etc/rabbitmq/*
install -d -o rabbitmq -g rabbitmq /var/lib/rabbitmq /var/log/rabbitmq /etc/rabbitmq
# Debian's own commands change to the account first, which only root can: here the pod is that account.
for command in rabbitmq-server rabbitmqctl rabbitmq-diagnostics rabbitmq-plugins; do
  printf '#!/bin/sh\nexec /usr/lib/rabbitmq/bin/%s "$@"\n' "$command" > "/usr/local/bin/$command"
  chmod 755 "/usr/local/bin/$command"
done
