{{/* Scripts that several charts share. A chart names those it wants in `scripts` of its description. */}}

{{- define "openstack-lib.script.db-init.py" -}}
#!/usr/bin/env python3
"""Make a database and the user that owns it, as the service's own configuration names them. Safe to repeat."""
import configparser
import os
import sys
from urllib.parse import unquote, urlsplit

import pymysql


def service_uri() -> str:
    given = os.environ.get("DB_CONNECTION")
    if given:
        return given
    parser = configparser.RawConfigParser(strict=False)
    with open(os.environ["OPENSTACK_CONFIG_FILE"], encoding="utf-8") as file:
        parser.read_file(file)
    return parser.get(os.environ["OPENSTACK_CONFIG_DB_SECTION"], os.environ["OPENSTACK_CONFIG_DB_KEY"])


def main() -> int:
    admin = urlsplit(os.environ["ROOT_DB_CONNECTION"])
    service = urlsplit(service_uri())
    database = service.path.lstrip("/").split("?")[0]
    if not database.replace("_", "").isalnum():
        print(f"refusing the database name {database!r}", file=sys.stderr)
        return 1
    user, password = unquote(service.username or ""), unquote(service.password or "")
    server = pymysql.connect(
        host=admin.hostname, port=admin.port or 3306, user=unquote(admin.username or ""),
        password=unquote(admin.password or ""), connect_timeout=30, autocommit=True,
    )
    with server, server.cursor() as cursor:
        cursor.execute(f"CREATE DATABASE IF NOT EXISTS `{database}` CHARACTER SET utf8 COLLATE utf8_general_ci")
        cursor.execute("CREATE USER IF NOT EXISTS %s@'%%' IDENTIFIED BY %s", (user, password))
        cursor.execute("ALTER USER %s@'%%' IDENTIFIED BY %s", (user, password))
        cursor.execute(f"GRANT ALL PRIVILEGES ON `{database}`.* TO %s@'%%'", (user,))
    print(f"database {database} belongs to {user}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
{{- end }}

{{- define "openstack-lib.script.ks-service.sh" -}}
#!/bin/bash
# Register OS_SERVICE_NAME of OS_SERVICE_TYPE in the catalogue, once, and leave no second service of that type.
set -euo pipefail
service_of_type() {
  openstack service list -f value -c ID -c Type | awk -v type="${OS_SERVICE_TYPE}" '$2 == type {print $1}'
}
mapfile -t services < <(service_of_type)
if [ "${#services[@]}" -eq 0 ]; then
  openstack service create --name "${OS_SERVICE_NAME}" \
    --description "${OS_SERVICE_NAME}: ${OS_SERVICE_TYPE} service" "${OS_SERVICE_TYPE}"
  exit 0
fi
openstack service set --name "${OS_SERVICE_NAME}" "${services[0]}"
for surplus in "${services[@]:1}"; do
  openstack service delete "${surplus}"
done
{{- end }}

{{- define "openstack-lib.script.ks-endpoints.sh" -}}
#!/bin/bash
# Give the service of OS_SERVICE_TYPE exactly one endpoint of the interface OS_SVC_ENDPOINT in this region.
set -euo pipefail
mapfile -t endpoints < <(openstack endpoint list --service "${OS_SERVICE_TYPE}" \
  --interface "${OS_SVC_ENDPOINT}" --region "${OS_REGION_NAME}" -f value -c ID)
if [ "${#endpoints[@]}" -eq 0 ]; then
  openstack endpoint create --region "${OS_REGION_NAME}" "${OS_SERVICE_TYPE}" \
    "${OS_SVC_ENDPOINT}" "${OS_SERVICE_ENDPOINT}"
  exit 0
fi
if [ "$(openstack endpoint show "${endpoints[0]}" -f value -c url)" != "${OS_SERVICE_ENDPOINT}" ]; then
  openstack endpoint set --url "${OS_SERVICE_ENDPOINT}" "${endpoints[0]}"
fi
for surplus in "${endpoints[@]:1}"; do
  openstack endpoint delete "${surplus}"
done
{{- end }}

{{- define "openstack-lib.script.ks-user.sh" -}}
#!/bin/bash
# Make the user SERVICE_OS_USERNAME with the roles SERVICE_OS_ROLES (comma separated) in its project.
# A password that still serves is not set again: that would revoke the tokens of the running service.
set -euo pipefail
domain=$(openstack domain create --or-show --enable -f value -c id "${SERVICE_OS_USER_DOMAIN_NAME}")
project_domain=$(openstack domain create --or-show --enable -f value -c id "${SERVICE_OS_PROJECT_DOMAIN_NAME}")
project=$(openstack project create --or-show --enable -f value -c id \
  --domain "${project_domain}" "${SERVICE_OS_PROJECT_NAME}")
token_with_service_password() {
  OS_USERNAME="${SERVICE_OS_USERNAME}" OS_PASSWORD="${SERVICE_OS_PASSWORD}" \
  OS_USER_DOMAIN_NAME="${SERVICE_OS_USER_DOMAIN_NAME}" OS_PROJECT_NAME="${SERVICE_OS_PROJECT_NAME}" \
  OS_PROJECT_DOMAIN_NAME="${SERVICE_OS_PROJECT_DOMAIN_NAME}" openstack token issue -f value -c id >/dev/null 2>&1
}
if ! user=$(openstack user show --domain "${domain}" -f value -c id "${SERVICE_OS_USERNAME}" 2>/dev/null); then
  user=$(openstack user create --or-show --enable --domain "${domain}" --project-domain "${project_domain}" \
    --project "${project}" --password "${SERVICE_OS_PASSWORD}" -f value -c id "${SERVICE_OS_USERNAME}")
fi
IFS=',' read -ra roles <<< "${SERVICE_OS_ROLES}"
for role in "${roles[@]}"; do
  openstack role create --or-show "${role}" >/dev/null
  openstack role add --user "${user}" --project "${project}" "${role}"
done
if ! token_with_service_password; then
  openstack user set --enable --password "${SERVICE_OS_PASSWORD}" "${user}"
fi
{{- end }}

{{- define "openstack-lib.script.http.sh" -}}
# Calls of the broker's management API. The broker's image ships no HTTP client that every version shares:
# bash speaks HTTP itself. RABBITMQ_ADMIN_CONNECTION is http://user:password@host:port/.
decoded() { printf '%b' "${1//%/\\x}"; }
json_text() { local text=${1//\\/\\\\}; printf '"%s"' "${text//\"/\\\"}"; }
login=${RABBITMQ_ADMIN_CONNECTION#*://}
address=${login##*@}; address=${address%%/*}; login=${login%@*}
authorization=$(printf '%s:%s' "$(decoded "${login%%:*}")" "$(decoded "${login#*:}")" | base64 -w0)
# broker METHOD PATH [BODY]: prints the body of the answer; fails unless the answer is a 2xx.
broker() {
  local body=${3:-} status line
  exec 3<>"/dev/tcp/${address%%:*}/${address##*:}"
  printf '%s /api/%s HTTP/1.0\r\nHost: %s\r\nAuthorization: Basic %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s' \
    "$1" "$2" "${address}" "${authorization}" "$(printf '%s' "${body}" | wc -c)" "${body}" >&3
  IFS=' ' read -r _ status _ <&3
  while IFS= read -r line <&3 && [ -n "${line%$'\r'}" ]; do :; done
  cat <&3
  exec 3>&-
  case "${status}" in
    2*) ;;
    *) echo "$1 $2: the broker answered ${status}" >&2; return 1 ;;
  esac
}
{{- end }}

{{- define "openstack-lib.script.rabbit-init.sh" -}}
#!/bin/bash
# Make the service's virtual host, user and policies through the broker's management API. Safe to repeat.
set -euo pipefail
# shellcheck disable=SC1091
source /scripts/http.sh
user=${RABBITMQ_USER_CONNECTION#*://}
virtual_host=${user##*@}; virtual_host=${virtual_host#*/}; user=${user%@*}
broker PUT "vhosts/${virtual_host}" '{}'
broker PUT "users/${user%%:*}" "{\"password\": $(json_text "$(decoded "${user#*:}")"), \"tags\": \"\"}"
broker PUT "permissions/${virtual_host}/${user%%:*}" '{"configure": ".*", "write": ".*", "read": ".*"}'
while read -r policy definition; do
  if [ -n "${policy}" ]; then broker PUT "policies/${policy}" "${definition}"; fi
done <<< "${RABBITMQ_POLICIES:-}"
echo "${virtual_host} is ready for ${user%%:*}"
{{- end }}

{{- define "openstack-lib.script.bootstrap.sh" -}}
#!/bin/bash
set -euo pipefail
{{ tpl (.Values.bootstrap.script | default "true") . }}
{{- end }}

{{- define "openstack-lib.script.ceph-keyring.sh" -}}
#!/bin/bash
# Write the keyring of the Ceph user RBD_USER from its bare key.
set -euo pipefail
umask 022
printf '[client.%s]\n  key = %s\n' "${RBD_USER}" "${RBD_KEY}" > "/etc/ceph/ceph.client.${RBD_USER}.keyring"
{{- end }}

{{- define "openstack-lib.script.connected.py" -}}
#!/usr/bin/env python3
"""connected.py NAME PORT...: succeed when a process NAME of this pod holds a TCP connection to each port.

A worker without its broker or database runs on without serving; its open connections tell. They are found by
the process's own sockets, since a pod on the host's network sees the connections of the whole node.
"""
import pathlib
import sys

ESTABLISHED = "01"


def sockets_of(name: str) -> set[str]:
    found = set()
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            command = (process / "cmdline").read_bytes().decode(errors="replace").split("\0")
            if not any(pathlib.PurePath(word).name == name for word in command[:3]):
                continue
            for descriptor in (process / "fd").iterdir():
                target = str(descriptor.readlink())
                if target.startswith("socket:["):
                    found.add(target[8:-1])
        except OSError:
            continue
    return found


def remote_ports(inodes: set[str]) -> set[int]:
    ports = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in pathlib.Path(table).read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == ESTABLISHED and fields[9] in inodes:
                ports.add(int(fields[2].rsplit(":", 1)[1], 16))
    return ports


def main() -> int:
    name, wanted = sys.argv[1], {int(port) for port in sys.argv[2:]}
    missing = wanted - remote_ports(sockets_of(name))
    if missing:
        print(f"{name} has no connection to port {sorted(missing)}", file=sys.stderr)
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
{{- end }}
