"""A MariaDB, a RabbitMQ with its management API and a Keystone of their own, and clients that never rest."""

from __future__ import annotations

import contextlib
import json
import shutil
import signal
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sandbox import processes
from sandbox.openstack.configuration import Configuration
from sandbox.openstack.provision import ensure_provisions
from sandbox.openstack.schema import install_database, run_command
from sandbox.openstack.series import HOST, SERVICES, Places, Series, places_of
from sandbox.openstack.services import environment, infrastructure, services
from sandbox.patience import patient
from sandbox.ports import find_free_port
from tests.charts.pods import wait_until
from tests.charts.test_scripts import scripts

# That of 127.0.0.1 exists from the start, and has no password.
ROOT = "keeper"
ROOT_PASSWORD = "root-of-the-test"
START_SECONDS = 120.0
CLIENT = Path(__file__).parent / "account_client.py"


class OwnPlaces(Places):
    """The packages of the cloud, in a directory of its own."""

    directory: Path

    @property
    def run(self) -> Path:
        return self.directory


@dataclass(frozen=True)
class AccountServersBed:
    """The servers, and what Jobs of a release do to them. `management`: the port of the broker's API;
    `administrators`: the passwords that the servers know."""

    configuration: Configuration
    management: int
    scripts: Path
    administrators: dict[str, str] = field(
        default_factory=lambda: {"broker": "guest", "keystone": "sandbox"}, repr=False
    )

    @property
    def run(self) -> Path:
        return self.configuration.places.run

    @property
    def python(self) -> str:
        return str(self.configuration.places.venv / "bin/python")

    def port(self, name: str) -> int:
        return self.configuration.ports[name]

    def sql(self, *statements: str) -> None:
        """As root, by the socket."""
        client = [str(self.configuration.programs.mariadb), f"--socket={self.run}/mysql.sock", "-uroot"]
        run_command(self.configuration, [*client, "-e", ";".join(statements)])

    def run_jobs(self, logins: Mapping[str, tuple[str, str]]) -> None:
        """The scripts of the chart's db-init, rabbit-init and ks-user, with these names and passwords."""
        name, password = logins["database"]
        database = f"{HOST}:{self.port('mariadb')}"
        self._job(
            [self.python, "db-init.py"],
            ROOT_DB_CONNECTION=f"mysql+pymysql://{ROOT}:{ROOT_PASSWORD}@{database}",
            DB_CONNECTION=f"mysql+pymysql://{name}:{password}@{database}/glance",
        )
        name, password = logins["broker"]
        api = f"{HOST}:{self.management}"
        self._job(
            ["bash", "rabbit-init.sh"],
            RABBITMQ_ADMIN_CONNECTION=f"http://guest:{self.administrators['broker']}@{api}/",
            RABBITMQ_USER_CONNECTION=f"http://{name}:{password}@{api}/glance",
        )
        name, password = logins["keystone"]
        service = {
            "USERNAME": name,
            "PASSWORD": password,
            "PROJECT_NAME": "service",
            "USER_DOMAIN_NAME": "service",
            "PROJECT_DOMAIN_NAME": "service",
        }
        self._job(
            [self.python, "ks.py", "users"],
            WANTED=json.dumps([{"login": "SERVICE_", "roles": ["admin", "service"]}]),
            OS_AUTH_URL=self.configuration.identity_url,
            OS_USERNAME="admin",
            OS_PASSWORD=self.administrators["keystone"],
            OS_PROJECT_NAME="admin",
            OS_USER_DOMAIN_NAME="Default",
            OS_PROJECT_DOMAIN_NAME="Default",
            OS_REGION_NAME="RegionOne",
            OS_IDENTITY_API_VERSION="3",
            **{f"SERVICE_OS_{key}": value for key, value in service.items()},
        )

    def _job(self, command: list[str], **env: str) -> None:
        done = subprocess.run(
            command,
            cwd=self.scripts,
            env={**environment(self.configuration), **env},
            capture_output=True,
            text=True,
            timeout=patient(120),
            check=False,
        )
        assert done.returncode == 0, done.stderr[-2000:]

    def client(self, logins: Mapping[str, tuple[str, str]]) -> Client:
        return Client(self, logins)


class Client:
    """A pod: works with its accounts without a pause until it is ended, and counts."""

    def __init__(self, bed: AccountServersBed, logins: Mapping[str, tuple[str, str]]) -> None:
        given = {
            "host": HOST,
            "database": bed.port("mariadb"),
            "broker": bed.port("rabbit"),
            "keystone": bed.configuration.identity_url,
            "logins": {name: list(login) for name, login in logins.items()},
        }
        self._process = subprocess.Popen(
            [bed.python, str(CLIENT)],
            env=environment(bed.configuration),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert self._process.stdin
        self._process.stdin.write(json.dumps(given) + "\n")
        self._process.stdin.flush()

    def ready(self) -> None:
        """It has done everything once."""
        assert self._process.stdout
        said = ""
        for line in self._process.stdout:  # libraries may warn of something first
            if line.strip() == "ready":
                return
            said += line
        raise AssertionError(said[-2000:])

    def end(self) -> dict[str, Any]:
        """What it has counted: requests, failures."""
        self._process.send_signal(signal.SIGTERM)
        out, _ = self._process.communicate(timeout=patient(60))
        counted: dict[str, Any] = json.loads(out.strip().splitlines()[-1])
        return counted


def own_configuration(series: Series, directory: Path) -> Configuration:
    """Of servers in a directory of their own, with ports of their own and one for the broker's API; as it is
    written there. Raises SandboxError."""
    known = places_of(series)
    places = OwnPlaces(known.root, known.setup)
    object.__setattr__(places, "directory", directory / "run")
    for name in ("home", "tmp", "rabbit", "log", "lock"):
        (places.run / name).mkdir(parents=True)
    ports: dict[str, int] = {}
    for name in (*SERVICES, "management"):
        ports[name] = find_free_port(ports.values())
    configuration = Configuration(places, ports, ensure_provisions(series, known, lambda _: None))
    configuration.write()
    return configuration


@contextlib.contextmanager
def account_servers(series: Series, directory: Path) -> Iterator[AccountServersBed]:
    """Starts them in the directory, and ends them. Raises SandboxError."""
    configuration = own_configuration(series, directory)
    places, ports = configuration.places, configuration.ports
    with (places.run / "etc/keystone/keystone.conf").open("a") as file:  # as the charts have it
        file.write("[security_compliance]\nlockout_failure_attempts = 5\nlockout_duration = 1800\n")
    rabbit = places.run / "etc/rabbit"
    (rabbit / "enabled_plugins").write_text("[rabbitmq_management].\n")
    with (rabbit / "rabbitmq.conf").open("a") as file:
        file.write(f"management.tcp.port = {ports['management']}\nmanagement.tcp.ip = {HOST}\n")
    bed = AccountServersBed(configuration, ports["management"], directory / "scripts")
    bed.scripts.mkdir()
    for name, text in scripts("glance").items():
        (bed.scripts / name).write_text(text.replace("/scripts/http.sh", str(bed.scripts / "http.sh")))
    try:
        _start(bed)
        yield bed
    finally:
        processes.stop_processes(processes.find_owned(places.run), grace=5)
        shutil.rmtree(places.run, ignore_errors=True)


def _start(bed: AccountServersBed) -> None:
    configuration = bed.configuration
    install_database(configuration)
    for process in infrastructure(configuration):
        processes.start_process(
            process.command,
            log=bed.run / "log" / f"{process.name}.log",
            owner=bed.run,
            environment=process.environment,
        )
        if process.name == "epmd":
            time.sleep(0.5)  # before the broker, which would start one that listens everywhere
    wait_until("MariaDB answers", lambda: _succeeds(bed, "SELECT 1"), START_SECONDS)
    bed.sql(
        f"CREATE USER {ROOT}@'%' IDENTIFIED BY '{ROOT_PASSWORD}'",
        f"GRANT ALL ON *.* TO {ROOT}@'%' WITH GRANT OPTION",
        "CREATE USER sandbox@'127.0.0.1' IDENTIFIED BY 'sandbox'",
        "GRANT ALL ON *.* TO sandbox@'127.0.0.1'",
        "CREATE DATABASE keystone",
    )
    etc, binary = bed.run / "etc", configuration.places.venv / "bin"
    manage = [str(binary / "keystone-manage"), "--config-file", f"{etc}/keystone/keystone.conf"]
    for name in ("fernet", "credential"):
        (bed.run / "keys" / name).mkdir(parents=True, mode=0o700)
        run_command(
            configuration, [*manage, f"{name}_setup", "--keystone-user", "0", "--keystone-group", "0"]
        )
    run_command(configuration, [*manage, "db_sync"])
    bootstrap = ["--bootstrap-password", "sandbox", "--bootstrap-region-id", "RegionOne"]
    for kind in ("public", "internal", "admin"):
        bootstrap += [f"--bootstrap-{kind}-url", configuration.identity_url]
    run_command(configuration, [*manage, "bootstrap", *bootstrap])
    keystone = next(one for one in services(configuration) if one.name == "keystone")
    processes.start_process(
        keystone.command,
        log=bed.run / "log/keystone.log",
        owner=bed.run,
        environment=keystone.environment,
    )
    wait_until("Keystone answers", lambda: _answers(f"{configuration.identity_url}/"), START_SECONDS)
    wait_until("RabbitMQ answers", lambda: _answers(f"http://{HOST}:{bed.management}/api/"), START_SECONDS)


def _succeeds(bed: AccountServersBed, statement: str) -> bool:
    from sandbox.errors import SandboxError

    try:
        bed.sql(statement)
    except SandboxError:
        return False
    return True


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5):
            return True
    except urllib.error.HTTPError:
        return True
    except OSError:
        return False
