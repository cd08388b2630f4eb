#!/usr/bin/env python3
"""Start one server of the Galera cluster: make its data directory, decide whether it founds or joins, run it.

One server alone always founds. Of several, a server joins as soon as a peer answers; where none does, all tell
how far their data goes and the one that goes furthest founds. Nothing is founded while a peer is unheard of,
except by the server that Galera itself marked safe to bootstrap.
"""
import json
import os
import pathlib
import re
import socket
import ssl
import subprocess
import sys
import time
import urllib.request

DATA = pathlib.Path("/var/lib/mysql")
STATE = DATA / "grastate.dat"
ACCOUNT = pathlib.Path("/var/run/secrets/kubernetes.io/serviceaccount")
NAME = os.environ["POD_NAME"]
REPLICAS = int(os.environ["REPLICAS"])
ROOT = NAME.rsplit("-", 1)[0]
PEERS = [f"{ROOT}-{ordinal}" for ordinal in range(REPLICAS)]
STALE_SECONDS = 60


def address(peer: str) -> str:
    return f"{peer}.{os.environ['DISCOVERY_DOMAIN']}"


def answers(peer: str) -> bool:
    try:
        with socket.create_connection((address(peer), int(os.environ["WSREP_PORT"])), timeout=3):
            return True
    except OSError:
        return False


def some_peer_answers() -> bool:
    return any(answers(peer) for peer in PEERS if peer != NAME)


def state_map(method: str, body: dict | None = None) -> dict:
    host = os.environ["KUBERNETES_SERVICE_HOST"]
    host = f"[{host}]" if ":" in host else host
    request = urllib.request.Request(
        f"https://{host}:{os.environ.get('KUBERNETES_SERVICE_PORT', '443')}/api/v1/namespaces/"
        f"{os.environ['NAMESPACE']}/configmaps/{os.environ['STATE_CONFIGMAP']}",
        method=method,
        data=json.dumps(body).encode() if body is not None else None,
        headers={
            "Authorization": f"Bearer {(ACCOUNT / 'token').read_text()}",
            "Content-Type": "application/merge-patch+json",
        },
    )
    trusted = ssl.create_default_context(cafile=str(ACCOUNT / "ca.crt"))
    with urllib.request.urlopen(request, context=trusted, timeout=10) as answer:
        return json.load(answer).get("data") or {}


def make_data_directory() -> None:
    if (DATA / "mysql").is_dir():
        return
    subprocess.run(
        ["mariadb-install-db", "--auth-root-authentication-method=normal", "--skip-test-db", f"--datadir={DATA}"],
        check=True,
    )


def recovered_position() -> int:
    """The last transaction in the data, -1 for none (a new server)."""
    if not STATE.exists():
        return -1
    told = re.search(r"^seqno:\s*(-?\d+)", STATE.read_text(), re.MULTILINE)
    if told and int(told.group(1)) >= 0:
        return int(told.group(1))
    log = pathlib.Path("/tmp/recover.log")
    subprocess.run(["mariadbd", "--wsrep-recover", f"--log-error={log}"], check=False, timeout=600)
    found = re.findall(r"Recovered position:\s*[0-9a-f-]+:(-?\d+)", log.read_text() if log.exists() else "")
    return int(found[-1]) if found else -1


def marked_safe() -> bool:
    return STATE.exists() and "safe_to_bootstrap: 1" in STATE.read_text()


def founds() -> bool:
    if REPLICAS == 1:
        return True
    position = recovered_position()
    deadline = time.monotonic() + float(os.environ["SETUP_WAIT_SECONDS"])
    while time.monotonic() < deadline:
        if some_peer_answers():
            return False
        state_map("PATCH", {"data": {NAME: json.dumps({"position": position, "time": time.time()})}})
        told = {peer: json.loads(text) for peer, text in state_map("GET").items() if peer in PEERS}
        fresh = {peer: state for peer, state in told.items() if time.time() - state["time"] < STALE_SECONDS}
        if len(fresh) == REPLICAS:
            furthest = max(fresh, key=lambda peer: (fresh[peer]["position"], -PEERS.index(peer)))
            if furthest == NAME:
                return True
        time.sleep(5)
    if marked_safe():
        return True
    print("not all servers were heard of and this one is not marked safe; starting over", file=sys.stderr)
    sys.exit(1)


def quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "''") + "'"


def accounts() -> pathlib.Path:
    """Statements that make the accounts and give them the passwords of the Secrets."""
    grants = {
        "ADMIN": "ALL PRIVILEGES ON *.* TO {user} WITH GRANT OPTION",
        "SST": "PROCESS, RELOAD, LOCK TABLES, BINLOG MONITOR, REPLICA MONITOR ON *.* TO {user}",
        "AUDIT": "SELECT ON *.* TO {user}",
    }
    lines = []
    for kind, grant in grants.items():
        password = quoted(os.environ[f"MYSQL_DB{kind}_PASSWORD"])
        for host in ("%", "localhost"):
            user = f"{quoted(os.environ[f'MYSQL_DB{kind}_USERNAME'])}@'{host}'"
            lines.append(f"CREATE USER IF NOT EXISTS {user} IDENTIFIED BY {password};")
            lines.append(f"ALTER USER {user} IDENTIFIED BY {password};")
            lines.append(f"GRANT {grant.format(user=user)};")
    lines.append("DROP USER IF EXISTS ''@'localhost';")
    file = pathlib.Path("/tmp/accounts.sql")
    file.touch(mode=0o600)
    file.write_text("\n".join(lines) + "\n")
    return file


def main() -> None:
    make_data_directory()
    arguments = [
        "mariadbd",
        f"--wsrep-node-name={NAME}",
        f"--wsrep-node-address={os.environ['POD_IP']}",
    ]
    if founds():
        if STATE.exists():
            STATE.write_text(re.sub("safe_to_bootstrap: 0", "safe_to_bootstrap: 1", STATE.read_text()))
        arguments += [
            "--wsrep-new-cluster",
            "--wsrep-cluster-address=gcomm://",
            f"--init-file={accounts()}",
        ]
    else:
        members = ",".join(address(peer) for peer in PEERS)
        arguments.append(f"--wsrep-cluster-address=gcomm://{members}")
    for name in [name for name in os.environ if name.endswith("_PASSWORD")]:
        del os.environ[name]
    os.execvp(arguments[0], arguments)


if __name__ == "__main__":
    main()
