"""What a new cloud needs before its services start: databases, tables, keys, the first account."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from sandbox.errors import SandboxError
from sandbox.openstack.configuration import DATABASES, PASSWORD, REGION, Configuration
from sandbox.openstack.series import HOST
from sandbox.openstack.services import environment, in_venv

COMMAND_SECONDS = 900.0


def install_database(configuration: Configuration) -> None:
    """An empty database server's files."""
    run = configuration.places.run
    programs = configuration.programs
    (run / "mysql").mkdir()
    command = [str(programs.install_db), f"--defaults-file={run}/etc/mariadb.cnf"]
    command.append(f"--basedir={programs.basedir}")
    command += ["--auth-root-authentication-method=normal", "--skip-test-db"]
    if os.geteuid() == 0:
        command.append("--user=root")
    run_command(configuration, command)


def create_databases(configuration: Configuration) -> None:
    """One user and the databases of all services, on the running server."""
    run = configuration.places.run
    statements = [f"CREATE USER sandbox@'{HOST}' IDENTIFIED BY '{PASSWORD}'"]
    statements += [f"GRANT ALL ON *.* TO sandbox@'{HOST}'"]
    statements += [f"CREATE DATABASE {name}" for name in DATABASES]
    client = [str(configuration.programs.mariadb), f"--socket={run}/mysql.sock", "-uroot"]
    run_command(configuration, [*client, "-e", ";".join(statements)])


def migrate_schemas(configuration: Configuration) -> None:
    """The tables of all services, and Keystone's keys and first account."""
    run = configuration.places.run
    etc, binary = run / "etc", configuration.places.venv / "bin"
    ids = ["--keystone-user", str(os.getuid()), "--keystone-group", str(os.getgid())]
    keystone = [str(binary / "keystone-manage"), "--config-file", f"{etc}/keystone/keystone.conf"]
    nova = [str(binary / "nova-manage"), "--config-file", f"{etc}/nova/nova.conf"]
    neutron = [str(binary / "neutron-db-manage")]
    for name in ("neutron.conf", "ml2_conf.ini"):
        neutron += ["--config-file", f"{etc}/neutron/{name}"]
    for name in ("fernet", "credential"):
        (run / "keys" / name).mkdir(parents=True, mode=0o700)
    url = configuration.identity_url
    urls = [part for kind in ("public", "internal", "admin") for part in (f"--bootstrap-{kind}-url", url)]
    cell0 = ["--database_connection", configuration.database("nova_cell0")]

    def manage(service: str, file: str, *arguments: str) -> list[str]:
        return [str(binary / f"{service}-manage"), "--config-file", f"{etc}/{file}", *arguments]

    bootstrap = ["--bootstrap-password", PASSWORD, "--bootstrap-region-id", REGION]
    chains: list[list[list[str]]] = [
        [[*neutron, "upgrade", "head"]],
        [
            [*nova, "api_db", "sync"],
            [*nova, "cell_v2", "map_cell0", *cell0],
            [*nova, "db", "sync"],
            [*nova, "cell_v2", "create_cell", "--name", "cell1"],
        ],
        [
            [*keystone, "db_sync"],
            [*keystone, "fernet_setup", *ids],
            [*keystone, "credential_setup", *ids],
            [*keystone, "bootstrap", *bootstrap, *urls],
        ],
        [
            manage("glance", "glance/glance-api.conf", "db_sync"),
            manage("placement", "placement/placement.conf", "db", "sync"),
            manage("cinder", "cinder/cinder.conf", "db", "sync"),
        ],
    ]
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(lambda chain: _run_chain(configuration, chain), chains))


def _run_chain(configuration: Configuration, chain: Sequence[list[str]]) -> None:
    for command in chain:
        run_command(configuration, command)


def login_of(configuration: Configuration, user: str = "admin", project: str = "admin") -> dict[str, str]:
    """An `auth` section of clouds.yaml."""
    return {
        "auth_url": configuration.identity_url,
        "username": user,
        "password": PASSWORD,
        "project_name": project,
        "user_domain_name": "Default",
        "project_domain_name": "Default",
    }


def run_inside(configuration: Configuration, script: str, *arguments: str) -> None:
    """Runs a script of this directory with the packages of the cloud, as its administrator."""
    login = {f"OS_{key.upper()}": value for key, value in login_of(configuration).items()}
    more = {**login, "OS_REGION_NAME": REGION, "OS_IDENTITY_API_VERSION": "3"}
    run_command(configuration, in_venv(configuration, script, *arguments), more)


def run_command(
    configuration: Configuration, command: list[str], more: Mapping[str, str] | None = None
) -> None:
    """Runs it to its end. Raises SandboxError with the end of what it said."""
    answer = subprocess.run(
        command,
        env={**environment(configuration), **(more or {})},
        cwd=configuration.places.run,
        capture_output=True,
        text=True,
        timeout=COMMAND_SECONDS,
        check=False,
    )
    if answer.returncode != 0:
        tail = (answer.stderr or answer.stdout)[-2000:]
        raise SandboxError(f"{Path(command[0]).name} {' '.join(command[1:4])} failed:\n{tail}")
