#!/usr/bin/env python3
"""Start one server of the Galera cluster: make its data directory, give its own tables the form of this
version, decide whether it founds or joins, run it.

One server alone always founds. Of several, a server joins as soon as a peer answers; where none does, all tell
how far their data goes and the one that goes furthest founds. Nothing is founded while a peer does not wait
too, except by the server that Galera itself marked safe to bootstrap.
"""

import http.client
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import uuid

import kube_api

DATA = pathlib.Path("/var/lib/mysql")
STATE = DATA / "grastate.dat"
NAME = os.environ["POD_NAME"]
REPLICAS = int(os.environ["REPLICAS"])
ROOT = NAME.rsplit("-", 1)[0]
PEERS = [f"{ROOT}-{ordinal}" for ordinal in range(REPLICAS)]
# The version whose form the server's own tables have.
FORM = DATA / ".tables-of-version"
UPGRADE_WITHIN_SECONDS = 3600.0
# Tells the liveness probe that this server waits for others and is well.
WAITING = pathlib.Path("/tmp/waiting")
# The server that left last may found without the others after this long.
SAFE_AFTER_SECONDS = float(os.environ["SETUP_WAIT_SECONDS"])
LONGEST_WAIT_SECONDS = max(3600.0, SAFE_AFTER_SECONDS)


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
    state = kube_api.call(method, f"configmaps/{os.environ['STATE_CONFIGMAP']}", body, timeout=10)
    return state.get("data") or {}


def told_by_all(said: dict[str, str]) -> dict[str, str]:
    """What all servers say, after we said ours; nothing where the API server does not answer."""
    try:
        return state_map("PATCH", {"data": said})
    except (OSError, ValueError, http.client.HTTPException) as error:
        print(f"the API server did not answer: {error}", file=sys.stderr, flush=True)
        return {}


def make_data_directory() -> None:
    unfinished = DATA / ".being-made"
    if unfinished.exists():
        for entry in DATA.iterdir():
            if entry.is_dir() and entry.name != "lost+found":
                shutil.rmtree(entry)
            elif entry.is_file() and entry != unfinished:
                entry.unlink()
    elif (DATA / "mysql").is_dir():
        return
    unfinished.touch()
    # Without the cluster's configuration: Galera refuses to start where it has no cluster to belong to.
    command = ["mariadb-install-db", "--no-defaults", f"--datadir={DATA}"]
    subprocess.run([*command, "--auth-root-authentication-method=normal", "--skip-test-db"], check=True)
    FORM.write_text(program_version())
    unfinished.unlink()


def program_version() -> str:
    """Such as `11.8`: tables change their form with these two numbers only."""
    told = subprocess.run(["mariadbd", "--version"], check=True, capture_output=True, text=True).stdout
    found = re.search(r"Ver (\d+\.\d+)\.", told)
    if found is None:
        raise RuntimeError(f"mariadbd --version says {told!r}")
    return found[1]


def upgrade_tables() -> None:
    """Give the tables of the server itself the form of this version, before anyone is served.

    The server runs meanwhile without network and cluster. May be repeated; the next start does it again if this
    one is killed.
    """
    version = program_version()
    if FORM.exists() and FORM.read_text() == version:
        return
    print(f"mariadb-upgrade for {version} begins", flush=True)
    socket_ = "/tmp/upgrade.sock"
    alone = ["--wsrep-on=OFF", "--wsrep-provider=none", "--skip-networking", "--skip-grant-tables"]
    server = subprocess.Popen(["mariadbd", *alone, f"--socket={socket_}", "--pid-file=/tmp/upgrade.pid"])
    try:
        began = time.monotonic()
        ping = ["mariadb-admin", "--no-defaults", f"--socket={socket_}", "ping"]
        while subprocess.run(ping, check=False, capture_output=True).returncode:
            WAITING.touch()
            if server.poll() is not None or time.monotonic() - began > UPGRADE_WITHIN_SECONDS:
                raise RuntimeError("the server for mariadb-upgrade does not start; its log has the cause")
            time.sleep(1)
        upgrade = ["mariadb-upgrade", "--no-defaults", f"--socket={socket_}", "--skip-write-binlog"]
        subprocess.run(upgrade, check=True, timeout=UPGRADE_WITHIN_SECONDS)
    finally:
        server.terminate()
        server.wait()
    FORM.write_text(version)


def recovered_position() -> int:
    """The last transaction in the data, -1 for none (a new server)."""
    if not STATE.exists():
        return -1
    told = re.search(r"^seqno:\s*(-?\d+)", STATE.read_text(), re.MULTILINE)
    if told and int(told.group(1)) >= 0:
        return int(told.group(1))
    log = pathlib.Path("/tmp/recover.log")
    command = ["mariadbd", "--wsrep-recover", "--wsrep-cluster-address=gcomm://", f"--log-error={log}"]
    subprocess.run(command, check=False, timeout=600)
    found = re.findall(r"Recovered position:\s*[0-9a-f-]+:(-?\d+)", log.read_text() if log.exists() else "")
    return int(found[-1]) if found else -1


def marked_safe() -> bool:
    return STATE.exists() and "safe_to_bootstrap: 1" in STATE.read_text()


def founds() -> bool:
    if REPLICAS == 1:
        return True
    position = recovered_position()
    first_seen: dict[str, str] = {}
    present = {NAME: position}
    began = time.monotonic()
    while time.monotonic() - began < LONGEST_WAIT_SECONDS:
        WAITING.touch()
        if some_peer_answers():
            return False
        said = {NAME: json.dumps({"position": position, "said": str(uuid.uuid4())})}
        for peer, text in told_by_all(said).items():
            # What a peer said in an earlier life stays as it is: only one who says it again waits as we do.
            if peer in PEERS and text != first_seen.setdefault(peer, text):
                present[peer] = json.loads(text)["position"]
        all_wait = len(present) == REPLICAS
        if all_wait and max(present, key=lambda peer: (present[peer], -PEERS.index(peer))) == NAME:
            return True
        if not all_wait and marked_safe() and time.monotonic() - began > SAFE_AFTER_SECONDS:
            return True
        time.sleep(5)
    print(f"not all servers were heard of, only {sorted(present)}; starting over", file=sys.stderr)
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
    # A new data directory has accounts without a password, which shadow those above on the server's own host.
    here = socket.gethostname()
    for user, host in (("root", "127.0.0.1"), ("root", "::1"), ("root", here), ("", here), ("", "localhost")):
        lines.append(f"DROP USER IF EXISTS {quoted(user)}@{quoted(host)};")
    file = pathlib.Path("/tmp/accounts.sql")
    file.touch(mode=0o600)
    file.write_text("\n".join(lines) + "\n")
    return file


def end(*_: object) -> None:
    sys.exit(143)


def main() -> None:
    # Process 1 of a container gets no signal that it does not handle; the server handles its own.
    signal.signal(signal.SIGTERM, end)
    make_data_directory()
    upgrade_tables()
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
        members = ",".join(f"{address(peer)}:{os.environ['WSREP_PORT']}" for peer in PEERS)
        arguments.append(f"--wsrep-cluster-address=gcomm://{members}")
    for name in [name for name in os.environ if name.endswith("_PASSWORD")]:
        del os.environ[name]
    os.execvp(arguments[0], arguments)


if __name__ == "__main__":
    main()
