"""A MariaDB and a RabbitMQ that serve TLS with leaves of a region's authority, as the values of its releases
say, and clients that show theirs."""

from __future__ import annotations

import contextlib
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from controller.domain.credentials.x509.issued import new_authority, new_leaf
from controller.domain.credentials.x509.read import Authority, LeafNames, Pair
from controller.domain.region.required_certificates import server_secret
from controller.render.region import Region
from sandbox import processes
from sandbox.openstack.configuration import Configuration
from sandbox.openstack.schema import install_database, run_command
from sandbox.openstack.series import HOST, Series
from sandbox.openstack.services import environment, infrastructure
from sandbox.patience import patient
from tests.charts.pods import wait_until
from tests.fakes.world import FakeRandomness
from tests.openstack.account_servers import own_configuration
from tests.render.region import core_spec, render

ROOT, ROOT_PASSWORD = "keeper", "root-of-the-test"
START_SECONDS = 120.0
CLIENT_SECONDS = 60
CERTS = {"mariadb": "/etc/mysql/certs", "rabbitmq": "/etc/rabbitmq/certs"}
# What OpenStack-Helm's charts write after the connection of a service (keystone: configmap-etc.yaml).
CLIENT_QUERY = (
    "charset=utf8&ssl_ca={certs}/ca.crt&ssl_key={certs}/tls.key&ssl_cert={certs}/tls.crt&ssl_verify_cert"
)
# Where a pod finds the servers; here this name is of loopback.
DOMAIN = "openstack.svc.cluster.local"
_DAY = 24 * 3600.0
_CLIENT = Path(__file__).parent / "encrypted_client.py"


def rendered() -> Region:
    """A region with the database and the broker encrypted by its own authority."""
    tls = {"internal": {"enabled": True, "traffic": ["database", "messaging", "endpoints"]}}
    return render(core_spec(preset="core", features={"tls": tls}))


def values_of(region: Region, release: str) -> Mapping[str, Any]:
    found = region.release(release)
    assert found is not None
    return found.spec.values


@dataclass(frozen=True)
class EncryptedServers:
    """The servers. `certs` has a directory for each leaf, as pods mount its Secret; `stranger` is of another
    authority."""

    configuration: Configuration
    management: int
    region: Region
    authority: Authority
    stranger: Authority
    certs: Path

    @property
    def run(self) -> Path:
        return self.configuration.places.run

    def port(self, name: str) -> int:
        return self.configuration.ports[name]

    def sql(self, *statements: str) -> None:
        """As root, by the socket."""
        client = [str(self.configuration.programs.mariadb), f"--socket={self.run}/mysql.sock", "-uroot"]
        run_command(self.configuration, [*client, "-e", ";".join(statements)])

    def leaf(self, secret: str) -> Pair:
        found = self.certs / secret
        return Pair(*((found / name).read_text() for name in ("tls.crt", "tls.key")))

    def client(self, database: str, broker: Mapping[str, Any]) -> subprocess.CompletedProcess[str]:
        """A service of the cloud's own packages: a query, and a message there and back."""
        lines = [f"{key} = {value}" for key, value in broker.items()]
        file = self.run / "etc" / "client.conf"
        file.write_text("\n".join(["[oslo_messaging_rabbit]", *lines, ""]))
        transport = f"rabbit://guest:guest@rabbitmq-rabbitmq-0.rabbitmq.{DOMAIN}:{self.port('rabbit')}/"
        return subprocess.run(
            [
                str(self.configuration.places.venv / "bin/python"),
                str(_CLIENT),
                database,
                transport,
                str(file),
            ],
            env=environment(self.configuration),
            capture_output=True,
            text=True,
            timeout=patient(CLIENT_SECONDS),
            check=False,
        )


@contextlib.contextmanager
def encrypted_servers(series: Series, directory: Path) -> Iterator[EncryptedServers]:
    """Starts them in the directory, and ends them. Raises SandboxError."""
    configuration = own_configuration(series, directory)
    places, ports = configuration.places, configuration.ports
    now = time.time()
    authority, stranger = (
        new_authority(f"authority {seed}", now - _DAY, now + 30 * _DAY, FakeRandomness(seed))
        for seed in (1, 2)
    )
    bed = EncryptedServers(
        configuration, ports["management"], rendered(), authority, stranger, directory / "certs"
    )
    _write_leaves(bed, now)
    _configure(bed)
    try:
        _start(bed)
        yield bed
    finally:
        processes.stop_processes(processes.find_owned(places.run), grace=5)
        shutil.rmtree(places.run, ignore_errors=True)


def _write_leaves(bed: EncryptedServers, now: float) -> None:
    """Every one that the region asks for, as its Secret has it."""
    for seed, one in enumerate(bed.region.certificates):
        names = LeafNames(one.name, one.names, one.addresses)
        pair = new_leaf(names, now - 300, now + 10 * _DAY, bed.authority, FakeRandomness(50 + seed))
        place = bed.certs / one.name
        place.mkdir(parents=True)
        for file, text in (("tls.crt", pair.chain), ("tls.key", pair.key), ("ca.crt", bed.authority.anchors)):
            (place / file).write_text(text)


def _configure(bed: EncryptedServers) -> None:
    """With what the charts write into their files for these values (mariadb: conf.database.config_base;
    rabbitmq: configmap-etc.yaml)."""
    place = bed.certs / server_secret("mariadb")
    with (bed.run / "etc/mariadb.cnf").open("a") as file:
        file.write("[mariadbd]\n")
        file.writelines(
            f"ssl_{option}={place}/{name}\n"
            for option, name in (("ca", "ca.crt"), ("key", "tls.key"), ("cert", "tls.crt"))
        )
    values = values_of(bed.region, "rabbitmq")
    assert values["manifests"]["certificates"]
    lines = _lines(values["conf"]["rabbitmq"])
    kept = [line for line in lines if line.startswith(("ssl_options.", "management.ssl."))]
    text = "\n".join(kept).replace(CERTS["rabbitmq"], str(bed.certs / server_secret("rabbitmq")))
    rabbit = bed.run / "etc/rabbit"
    (rabbit / "enabled_plugins").write_text("[rabbitmq_management].\n")
    written = (rabbit / "rabbitmq.conf").read_text()
    plain = f"listeners.tcp.1 = {HOST}:{bed.port('rabbit')}\n"
    assert plain in written
    encrypted = f"listeners.tcp = none\nlisteners.ssl.1 = {HOST}:{bed.port('rabbit')}\n"
    management = f"management.ssl.port = {bed.management}\nmanagement.ssl.ip = {HOST}\n"
    (rabbit / "rabbitmq.conf").write_text(written.replace(plain, encrypted) + management + text + "\n")


def _lines(values: Mapping[str, Any], above: str = "") -> Iterator[str]:
    """As the chart writes rabbitmq.conf (rabbitmq: utils/_to_rabbit_config.tpl)."""
    for key, value in values.items():
        if isinstance(value, Mapping):
            yield from _lines(value, f"{above}{key}.")
        else:
            yield f"{above}{key} = {str(value).lower() if isinstance(value, bool) else value}"


def _start(bed: EncryptedServers) -> None:
    install_database(bed.configuration)
    for process in infrastructure(bed.configuration):
        processes.start_process(
            process.command,
            log=bed.run / "log" / f"{process.name}.log",
            owner=bed.run,
            environment=process.environment,
        )
        if process.name == "epmd":
            wait_until("epmd listens", lambda: _listens(bed.port("epmd")), START_SECONDS)
    wait_until("MariaDB answers", lambda: _succeeds(bed), START_SECONDS)
    # As its chart and db-init make accounts of a database with certificates (mariadb: bin/_start.py).
    bed.sql(
        f"CREATE USER {ROOT}@'%' IDENTIFIED BY '{ROOT_PASSWORD}'",
        f"GRANT ALL ON *.* TO {ROOT}@'%' REQUIRE X509 WITH GRANT OPTION",
        "CREATE DATABASE keystone",
        "CREATE USER keystone@'%' IDENTIFIED BY 'of-keystone' REQUIRE X509",
        "GRANT ALL ON keystone.* TO keystone@'%'",
    )
    for port in (bed.management, bed.port("rabbit")):
        wait_until(f"RabbitMQ listens on {port}", lambda port=port: _listens(port), START_SECONDS)


def _listens(port: int) -> bool:
    try:
        socket.create_connection((HOST, port), 5).close()
    except OSError:
        return False
    return True


def _succeeds(bed: EncryptedServers) -> bool:
    from sandbox.errors import SandboxError

    try:
        bed.sql("SELECT 1")
    except SandboxError:
        return False
    return True
