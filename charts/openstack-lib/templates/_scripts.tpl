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

{{- define "openstack-lib.script.ks.py" -}}
#!/usr/bin/env python3
"""ks.py services|endpoints|users: make Keystone hold what WANTED says (JSON), and nothing twice.

  services   [{"name", "type"}]
  endpoints  [{"type", "interface", "url"}], in the region OS_REGION_NAME
  users      [{"login": prefix of the variables with its login, "roles": [name, ...]}]

Safe to repeat and to interrupt anywhere: existing objects are found again. While Keystone does not answer, or another
client creates the same at the same time, it starts over, for DEADLINE_SECONDS in all.
"""
import itertools
import json
import os
import signal
import sys
import time

import openstack
from keystoneauth1 import exceptions, session
from keystoneauth1.identity import v3

DEADLINE_SECONDS = 300.0
CALL_SECONDS = 60.0
PAUSES = (1, 2, 5, 10)
# Temporary errors: no answer, a server error, and a conflict with another client.
PASSING = (exceptions.ConnectionError, exceptions.DiscoveryFailure, exceptions.EndpointNotFound)
PASSING_STATUS = {404, 409, 429, 500, 502, 503, 504}


def passes(error):
    # The first of openstacksdk's errors, the second of keystoneauth's.
    status = getattr(error, "status_code", None) or getattr(error, "http_status", None)
    return isinstance(error, PASSING) or status in PASSING_STATUS


def ensure_service(identity, name, type):
    found = sorted(identity.services(type=type), key=lambda one: one.id)
    if not found:
        identity.create_service(name=name, type=type, description=f"{name}: {type} service")
    elif found[0].name != name:
        identity.update_service(found[0], name=name)
    for surplus in found[1:]:
        identity.delete_service(surplus)
    print(f"service {name} of type {type} is there")


def ensure_endpoint(identity, type, interface, url):
    region = os.environ["OS_REGION_NAME"]
    service = min(identity.services(type=type), key=lambda one: one.id, default=None)
    if service is None:
        raise SystemExit(f"there is no service of type {type} to give an endpoint to")
    found = sorted(
        identity.endpoints(service_id=service.id, interface=interface, region_id=region), key=lambda one: one.id
    )
    if not found:
        identity.create_endpoint(service_id=service.id, interface=interface, region_id=region, url=url)
    elif found[0].url != url:
        identity.update_endpoint(found[0], url=url)
    for surplus in found[1:]:
        identity.delete_endpoint(surplus)
    print(f"endpoint {interface} of {type} is {url}")


def ensure_domain(identity, name):
    # Also by id: Keystone's own domain is "default" by id and "Default" by name.
    domain = identity.find_domain(name) or identity.create_domain(name=name, is_enabled=True)
    return domain if domain.is_enabled else identity.update_domain(domain, is_enabled=True)


def ensure_project(identity, name, domain):
    found = next(identity.projects(name=name, domain_id=domain.id), None)
    project = found or identity.create_project(name=name, domain_id=domain.id, is_enabled=True)
    return project if project.is_enabled else identity.update_project(project, is_enabled=True)


def ensure_user(identity, login, roles):
    """A password that serves is not set again: that would revoke the tokens of the running service."""
    domain = ensure_domain(identity, login["USER_DOMAIN_NAME"])
    project = ensure_project(identity, login["PROJECT_NAME"], ensure_domain(identity, login["PROJECT_DOMAIN_NAME"]))
    user = next(identity.users(name=login["USERNAME"], domain_id=domain.id), None)
    if user is None:
        user = identity.create_user(
            name=login["USERNAME"], domain_id=domain.id, default_project_id=project.id,
            password=login["PASSWORD"], is_enabled=True,
        )
    elif not (user.is_enabled and password_serves(user, login)):
        identity.update_user(user, password=login["PASSWORD"], is_enabled=True)
    for name in roles:
        role = next(identity.roles(name=name), None) or identity.create_role(name=name)
        identity.assign_project_role_to_user(project, user, role)
    print(f"user {user.name} has {', '.join(roles)} in {project.name}")


def password_serves(user, login):
    """Without a project: the user's roles may not be there yet. Raises what is no answer about the password."""
    asked = v3.Password(
        auth_url=os.environ["OS_AUTH_URL"], user_id=user.id, password=login["PASSWORD"], unscoped=True
    )
    verify = os.environ.get("OS_CACERT") or True
    try:
        asked.get_access(session.Session(auth=asked, timeout=CALL_SECONDS, verify=verify))
    except exceptions.Unauthorized:
        return False
    return True


def login_of(prefix):
    start = f"{prefix}OS_"
    return {name.removeprefix(start): value for name, value in os.environ.items() if name.startswith(start)}


def ensure_all(kind, wanted):
    identity = openstack.connect(load_yaml_config=False, api_timeout=CALL_SECONDS).identity
    for one in wanted:
        if kind == "services":
            ensure_service(identity, one["name"], one["type"])
        elif kind == "endpoints":
            ensure_endpoint(identity, one["type"], one["interface"], one["url"])
        else:
            ensure_user(identity, login_of(one["login"]), one["roles"])


def without_secrets(text):
    for name, value in os.environ.items():
        if name.endswith("PASSWORD") and value:
            text = text.replace(value, "***")
    return text


def main():
    # As the first process of a container it would otherwise not heed this signal.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    kind, wanted = sys.argv[1], json.loads(os.environ["WANTED"])
    end = time.monotonic() + DEADLINE_SECONDS
    for pause in itertools.chain(PAUSES, itertools.repeat(PAUSES[-1])):
        try:
            return ensure_all(kind, wanted)
        except Exception as error:
            cause = without_secrets(f"{type(error).__name__}: {error}")
            if not passes(error) or time.monotonic() + pause > end:
                return cause
        print(f"{cause}; once more in {pause} s", file=sys.stderr, flush=True)
        time.sleep(pause)


if __name__ == "__main__":
    sys.exit(main())
{{- end }}

{{- define "openstack-lib.script.http.sh" -}}
# Calls of the broker's management API. The broker's image ships no HTTP client that every version shares:
# bash speaks HTTP itself. RABBITMQ_ADMIN_CONNECTION is http://user:password@host:port/.
decoded() { printf '%b' "${1//%/\\x}"; }
json_text() { local text=${1//\\/\\\\}; printf '"%s"' "${text//\"/\\\"}"; }
login=${RABBITMQ_ADMIN_CONNECTION#*://}
address=${login##*@}; address=${address%%/*}; login=${login%@*}
login_name=$(decoded "${login%%:*}")
login_password=$(decoded "${login#*:}")
authorization=$(printf '%s:%s' "${login_name}" "${login_password}" | base64 -w0)
# Seconds that the broker may be silent.
patience=30
# broker METHOD PATH [BODY]: prints the body of the answer; fails unless the answer is a 2xx that came in time.
broker() {
  local body=${3:-} status line LC_ALL=C  # lengths in bytes
  exec 3<>"/dev/tcp/${address%%:*}/${address##*:}"
  printf '%s /api/%s HTTP/1.0\r\nHost: %s\r\nAuthorization: Basic %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s' \
    "$1" "$2" "${address}" "${authorization}" "${#body}" "${body}" >&3
  if ! IFS=' ' read -r -t "${patience}" _ status _ <&3; then
    echo "$1 $2: the broker did not answer within ${patience} s" >&2
    return 1
  fi
  while IFS= read -r -t "${patience}" line <&3 && [ -n "${line%$'\r'}" ]; do :; done
  if ! timeout "${patience}" cat <&3; then
    echo "$1 $2: the broker's answer did not come to its end within ${patience} s" >&2
    return 1
  fi
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
password=$(decoded "${user#*:}")
password=$(json_text "${password}")
broker PUT "users/${user%%:*}" "{\"password\": ${password}, \"tags\": \"\"}"
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

{{- define "openstack-lib.script.kube_api.py" -}}
#!/usr/bin/env python3
"""Calls of the Kubernetes API with the rights of the pod's ServiceAccount, for the scripts that lie beside it."""
import json
import os
import pathlib
import ssl
import urllib.request

ACCOUNT = pathlib.Path("/var/run/secrets/kubernetes.io/serviceaccount")


def call(method: str, path: str, body: dict | None = None, *, timeout: float) -> dict:
    """The answer to `path` of the pod's own namespace, such as "secrets/one". A body is a merge patch.

    Raises OSError when no answer comes within `timeout` seconds, and when the API server refuses.
    """
    host = os.environ["KUBERNETES_SERVICE_HOST"]
    host = f"[{host}]" if ":" in host else host
    port = os.environ.get("KUBERNETES_SERVICE_PORT", "443")
    request = urllib.request.Request(
        f"https://{host}:{port}/api/v1/namespaces/{os.environ['NAMESPACE']}/{path}",
        method=method,
        data=json.dumps(body).encode() if body is not None else None,
        headers={
            # Read each time: the kubelet renews it.
            "Authorization": f"Bearer {(ACCOUNT / 'token').read_text()}",
            "Content-Type": "application/merge-patch+json",
        },
    )
    trusted = ssl.create_default_context(cafile=str(ACCOUNT / "ca.crt"))
    with urllib.request.urlopen(request, context=trusted, timeout=timeout) as answer:
        return json.load(answer)
{{- end }}

{{- define "openstack-lib.script.connected.py" -}}
#!/usr/bin/env python3
"""connected.py NAME PORT... [--unless-away HOST]: succeed when a process NAME holds a TCP connection to each port.

A worker without its broker or database runs on without serving; its open connections tell. They are found by
the process's own sockets, since a pod on the host's network sees the connections of the whole node.
With --unless-away also while no server answers at a port of HOST: a worker connects again as soon as one does, and
to kill it before that would only end its work.
"""
import os
import pathlib
import re
import socket
import sys

ESTABLISHED = "01"
ANSWER_SECONDS = 3.0


def runs(command: bytes, name: str) -> bool:
    """Whether a command line is of NAME: its program, its script, or named in the title that it gave itself.

    Such a title is one text: "neutron-server: rpc worker (/usr/bin/python3 /usr/bin/neutron-rpc-server --…)".
    """
    words = [pathlib.PurePath(word).name for word in re.split(r"[\0\s():]+", command.decode(errors="replace"))]
    return name in words and "connected.py" not in words


def sockets_of(name: str) -> set[str]:
    found = set()
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if not runs((process / "cmdline").read_bytes(), name):
                continue
            for descriptor in os.listdir(process / "fd"):
                target = os.readlink(process / "fd" / descriptor)
                if target.startswith("socket:["):
                    found.add(target[8:-1])
        except OSError:
            continue
    return found


def remote_ports(inodes: set[str]) -> set[int]:
    ports = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            lines = pathlib.Path(table).read_text().splitlines()[1:]
        except FileNotFoundError:  # a kernel without IPv6
            continue
        for line in lines:
            fields = line.split()
            if fields[3] == ESTABLISHED and fields[9] in inodes:
                ports.add(int(fields[2].rsplit(":", 1)[1], 16))
    return ports


def answers(host: str, port: int) -> bool:
    try:
        socket.create_connection((host, port), timeout=ANSWER_SECONDS).close()
    except OSError:
        return False
    return True


def main() -> int:
    name, *ports = sys.argv[1:]
    host = ""
    if "--unless-away" in ports:
        *ports, _, host = ports
    missing = {int(port) for port in ports} - remote_ports(sockets_of(name))
    if not missing:
        return 0
    print(f"{name} has no connection to port {sorted(missing)}", file=sys.stderr)
    if host and not any(answers(host, port) for port in missing):
        print(f"no server answers there at {host}", file=sys.stderr)
        return 0
    return 1


if __name__ == "__main__":
    sys.exit(main())
{{- end }}
