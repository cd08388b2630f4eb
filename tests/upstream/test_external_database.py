"""A real MariaDB outside of the region: Jobs of the charts make accounts there as the administrator."""

from __future__ import annotations

import configparser
import os
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pymysql
import pytest

from sandbox.openstack.servers import Programs, ensure_servers
from sandbox.patience import patient
from tests.render import production
from tests.upstream.option_packages import python_of
from tests.upstream.regions import objects, region, releases
from tests.upstream.test_external_servers import SPEC

pytestmark = [pytest.mark.upstream, pytest.mark.timeout(900)]

HOST, SERIES, START_SECONDS = "127.0.0.1", "2026.1", 120
INSIDE = "@mariadb.openstack.svc.cluster.local:3306/"
SERVICES = {"keystone", "placement", "glance", "neutron", "nova", "cinder", "heat", "barbican", "horizon"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """The port of an empty server, whose root has no password."""
    programs, run = ensure_servers(print), tmp_path_factory.mktemp("mariadb")
    environment = {**os.environ, **programs.environment}
    own = ["--user=root"] if os.geteuid() == 0 else []
    with socket.socket() as free:
        free.bind((HOST, 0))
        port = int(free.getsockname()[1])
    subprocess.run(_installation(programs, run, own), env=environment, check=True, capture_output=True)
    command = [
        str(programs.mariadbd),
        "--no-defaults",
        f"--basedir={programs.basedir}",
        f"--datadir={run}/data",
    ]
    command += [
        f"--socket={run}/socket",
        f"--bind-address={HOST}",
        f"--port={port}",
        "--skip-log-bin",
        "--skip-name-resolve",
        *own,
    ]
    with (run / "log").open("w") as log:
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
        try:
            yield _started(port, process, run / "log")
        finally:
            process.terminate()
            process.wait(timeout=patient(60))


def _installation(programs: Programs, run: Path, own: list[str]) -> list[str]:
    command = [str(programs.install_db), "--no-defaults", f"--basedir={programs.basedir}"]
    return [
        *command,
        f"--datadir={run}/data",
        "--auth-root-authentication-method=normal",
        "--skip-test-db",
        *own,
    ]


def _started(port: int, process: subprocess.Popen[bytes], log: Path) -> int:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        try:
            pymysql.connect(host=HOST, port=port, user="root").close()
        except pymysql.OperationalError:
            time.sleep(0.2)
        else:
            return port
    pytest.fail(f"MariaDB does not come up:\n{log.read_text()[-2000:]}")


class Job:
    """One container that makes a database and its account, as the chart has it."""

    def __init__(
        self, container: Mapping[str, Any], files: Mapping[str, Mapping[str, str]], release: str
    ) -> None:
        self.script = files[f"{release}-bin"]["db-init.py"]
        self.variables: dict[str, str] = {}
        for one in container["env"]:
            source = one.get("valueFrom", {}).get("secretKeyRef")
            self.variables[one["name"]] = files[source["name"]][source["key"]] if source else one["value"]
        self.file = self.variables.get("OPENSTACK_CONFIG_FILE", "")
        self.text = files[f"{release}-etc"][Path(self.file).name] if self.file else ""

    @property
    def connection(self) -> str:
        """What the service connects with."""
        if not self.file:
            return self.variables["DB_CONNECTION"]
        parser = configparser.RawConfigParser(strict=False)
        parser.read_string(self.text)
        return parser[self.variables["OPENSTACK_CONFIG_DB_SECTION"]][
            self.variables["OPENSTACK_CONFIG_DB_KEY"]
        ]

    def run(self, directory: Path, port: int) -> None:
        """Runs it where the Service `mariadb` leads to this port."""
        variables = {key: _outside(value, port) for key, value in self.variables.items()}
        if self.file:
            variables["OPENSTACK_CONFIG_FILE"] = str(directory / "service.conf")
            (directory / "service.conf").write_text(_outside(self.text, port))
        (directory / "db-init.py").write_text(self.script)
        command = [str(python_of(SERIES)), str(directory / "db-init.py")]
        done = subprocess.run(
            command, env=variables, capture_output=True, text=True, timeout=patient(120), check=False
        )
        assert done.returncode == 0, done.stderr


def _outside(text: str, port: int) -> str:
    return text.replace(INSIDE, f"@{HOST}:{port}/")


def jobs(charts: Path) -> dict[str, list[Job]]:
    found: dict[str, list[Job]] = {}
    for release in releases(region(charts, SPEC)):
        made = objects(release, namespace="openstack")
        files = {obj["metadata"]["name"]: dict(production.files(obj)) for obj in made}
        for obj, spec in production.pod_specs(made):
            if obj["kind"] == "Job" and obj["metadata"]["name"].endswith("-db-init"):
                name = release.spec.name
                found[name] = [Job(one, files, name) for one in spec["containers"]]
    return found


def test_every_service_gets_its_databases_and_logs_in_there(
    charts: Path, server: int, tmp_path: Path
) -> None:
    wanted = jobs(charts)
    assert set(wanted) == SERVICES
    administrator = urlsplit(wanted["nova"][0].variables["ROOT_DB_CONNECTION"])
    assert administrator.username == "cloud"
    with closing(pymysql.connect(host=HOST, port=server, user="root")) as root, root.cursor() as cursor:
        # What docs/external-servers.md says of the account.
        cursor.execute("CREATE USER cloud@'%%' IDENTIFIED BY %s", [unquote(administrator.password or "")])
        cursor.execute("GRANT ALL ON *.* TO cloud@'%' WITH GRANT OPTION")
    databases = set()
    for job in (one for found in wanted.values() for one in found):
        job.run(tmp_path, server)
        login = urlsplit(job.connection)
        name, user, password = login.path.removeprefix("/").partition("?")[0], login.username, login.password
        arguments: Any = {"user": user, "password": unquote(password or ""), "database": name}
        with closing(pymysql.connect(host=HOST, port=server, **arguments)) as own, own.cursor() as cursor:
            cursor.execute("CREATE TABLE of_its_own (id INT)")
        databases.add(name)
    assert databases == SERVICES | {"nova_cell0", "nova_cell1"}
