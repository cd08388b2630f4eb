"""An empty MariaDB on loopback, for the programs of backups and restores."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sandbox.openstack.servers import ensure_servers
from sandbox.patience import patient

HOST, START_SECONDS = "127.0.0.1", 60.0


class Refused(Exception):
    """What the server said."""


@dataclass(frozen=True)
class Server:
    """An empty server, and what programs of a Job need."""

    environment: dict[str, str]

    def sql(self, text: str) -> str:
        command = ["mariadb", "--no-defaults", f"--host={HOST}", f"--port={self.environment['DB_PORT']}"]
        command += ["--user=root", "-N", "-e", text]
        done = subprocess.run(command, env=self.environment, check=False, capture_output=True, text=True)
        if done.returncode:
            raise Refused(done.stderr.strip())
        return done.stdout.strip()

    def start(self, script: str, restore: Path, *arguments: str) -> subprocess.Popen[str]:
        text = script.replace("/restore", str(restore))
        return subprocess.Popen(
            ["sh", "-c", text, "work", *arguments],
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def run(self, script: str, restore: Path, *arguments: str) -> tuple[int, str, str]:
        process = self.start(script, restore, *arguments)
        out, error = process.communicate(timeout=patient(120))
        return process.returncode, out, error


@contextmanager
def scratch_server(run: Path) -> Iterator[Server]:
    """An empty MariaDB that runs in an empty directory."""
    programs = ensure_servers(print)
    environment = {**os.environ, **programs.environment}
    own = ["--user=root"] if os.geteuid() == 0 else []
    with socket.socket() as free:
        free.bind((HOST, 0))
        port = int(free.getsockname()[1])
    place = ["--no-defaults", f"--basedir={programs.basedir}", f"--datadir={run}/data", *own]
    install = [str(programs.install_db), *place, "--auth-root-authentication-method=normal", "--skip-test-db"]
    subprocess.run(install, env=environment, check=True, capture_output=True)
    command = [str(programs.mariadbd), *place, f"--socket={run}/socket", f"--bind-address={HOST}"]
    with (run / "log").open("w") as log:
        process = subprocess.Popen([*command, f"--port={port}"], env=environment, stdout=log, stderr=log)
    login = {"DB_HOST": HOST, "DB_PORT": str(port), "DB_USER": "root", "MYSQL_PWD": ""}
    found = Server({**environment, **login})
    try:
        deadline = time.monotonic() + patient(START_SECONDS)
        while True:
            try:
                found.sql("SELECT 1")
                break
            except Refused:
                assert time.monotonic() < deadline, (run / "log").read_text()
                time.sleep(0.2)
        yield found
    finally:
        process.terminate()
        process.wait(timeout=patient(60))
