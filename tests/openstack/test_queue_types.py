"""Classic queues become quorum queues as docs/configuration.md says: with RabbitMQ and oslo.messaging."""

from __future__ import annotations

import os
import re
import subprocess
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from sandbox.openstack.series import DEFAULT, HOST, find_series, places_of
from sandbox.patience import patient
from sandbox.ports import find_free_port
from tests.charts.broker import servers
from tests.cluster.region import ROOT, wait_until

pytestmark = [pytest.mark.openstack, pytest.mark.slow, pytest.mark.timeout(300)]

TOPIC = "conductor"
SERIES = os.environ.get("OPENSTACK_SERIES") or DEFAULT
PYTHON = str(places_of(find_series(SERIES)).venv / "bin" / "python")
# As OpenStack-Helm's charts have it by themselves, with the name that oslo.messaging does not know; and ours.
CLASSIC = {"amqp_durable_queues": "true", "rabbit_ha_queues": "false", "rabbit_quorum_queues": "true"}
QUORUM = {"amqp_durable_queues": "true", "rabbit_ha_queues": "false", "rabbit_quorum_queue": "true"}
# What a service of OpenStack is to the broker.
SERVICE = """
    import logging, sys
    import oslo_messaging
    from oslo_config import cfg
    from oslo_log import log

    log.register_options(cfg.CONF)
    cfg.CONF(["--config-file", sys.argv[1]], project="tested")
    log.setup(cfg.CONF, "tested")

    class Endpoint:
        def ping(self, context):
            return "pong"

    transport = oslo_messaging.get_rpc_transport(cfg.CONF)
    target = oslo_messaging.Target(topic=sys.argv[2], server="host-" + sys.argv[3])
    server = oslo_messaging.get_rpc_server(transport, target, [Endpoint()], executor="threading")
    server.start()
    print("serving", flush=True)
    server.wait()
"""
# Who asks it.
CALLER = """
    import sys
    import oslo_messaging
    from oslo_config import cfg

    cfg.CONF(["--config-file", sys.argv[1]], project="asking")
    target = oslo_messaging.Target(topic=sys.argv[2], server=sys.argv[3])
    client = oslo_messaging.get_rpc_client(oslo_messaging.get_rpc_transport(cfg.CONF), target)
    print(client.prepare(timeout=10).call({}, "ping"))
"""


@dataclass
class Service:
    """A process that declares the queues of a topic and waits for calls."""

    process: subprocess.Popen[str]
    log: Path
    conf: Path
    host: str

    @property
    def serves(self) -> bool:
        return "serving" in self.text

    @property
    def ended(self) -> bool:
        return self.process.poll() is not None

    @property
    def text(self) -> str:
        return self.log.read_text()

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()


@dataclass
class Broker:
    """One RabbitMQ on loopback, and processes of services that use it."""

    directory: Path
    port: int
    environment: dict[str, str]
    services: list[Service] = field(default_factory=list)

    def control(self, *arguments: str) -> str:
        done = self.attempt(*arguments)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def attempt(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        program = servers().rabbitmq.with_name("rabbitmqctl")
        command = [str(program), *arguments]
        return subprocess.run(
            command, env=self.environment, capture_output=True, text=True, timeout=patient(120), check=False
        )

    def types(self) -> dict[str, str]:
        """The type of each queue of the topic that services share and a host has of its own."""
        listed = self.control("list_queues", "--quiet", "--no-table-headers", "name", "type")
        rows = (line.split("\t") for line in listed.splitlines() if "\t" in line)
        return {name: kind for name, kind in rows if name.startswith(TOPIC) and "fanout" not in name}

    def drop_classic(self) -> int:
        """How many there were, by the command of the documentation."""
        text = (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")
        (expression,) = re.findall(r"rabbitmqctl eval '(.*?)'\n", text, re.DOTALL)
        return int(self.control("eval", textwrap.dedent(expression)).splitlines()[-1])

    def service(self, host: str, options: dict[str, str]) -> Service:
        """Starts one; it goes on by itself."""
        settings = "\n".join(f"{name} = {value}" for name, value in options.items())
        number = len(self.services)
        conf = self.directory / f"{host}-{number}.conf"
        url = f"rabbit://guest:guest@{HOST}:{self.port}/"
        conf.write_text(f"[DEFAULT]\ntransport_url = {url}\n[oslo_messaging_rabbit]\n{settings}\n")
        self.services.append(self._run(conf, host, self.directory / f"{host}-{number}.log"))
        return self.services[-1]

    def again(self, service: Service) -> Service:
        """The service, started once more if it has ended, as a kubelet would."""
        if service.ended:
            service.process = self._run(service.conf, service.host, service.log).process
        return service

    def answers(self, service: Service) -> bool:
        """Whether a call of this host is answered within ten seconds."""
        program = self._program("caller", CALLER)
        command = [PYTHON, program, str(service.conf), TOPIC, f"host-{service.host}"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=patient(60), check=False)
        return "pong" in done.stdout

    def _run(self, conf: Path, host: str, log: Path) -> Service:
        program = self._program("service", SERVICE)
        with log.open("a") as output:
            process = subprocess.Popen(
                [PYTHON, program, str(conf), TOPIC, host],
                stdout=output,
                stderr=subprocess.STDOUT,
                text=True,
            )
        return Service(process, log, conf, host)

    def _program(self, name: str, text: str) -> str:
        program = self.directory / f"{name}.py"
        program.write_text(textwrap.dedent(text))
        return str(program)


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    if not Path(PYTHON).exists():
        pytest.skip("no packages of OpenStack here: python -m sandbox openstack prepare")
    programs, ports = servers(), [find_free_port() for _ in range(3)]
    (tmp_path / "rabbitmq.conf").write_text(f"listeners.tcp.1 = {HOST}:{ports[0]}\nlog.console = true\n")
    (tmp_path / "advanced.config").write_text("[{kernel, [{inet_dist_use_interface, {127,0,0,1}}]}].\n")
    (tmp_path / "enabled_plugins").write_text("[].\n")
    environment = {
        "PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
        **programs.environment,
        "HOME": str(tmp_path),
        "LANG": "C.UTF-8",
        "RABBITMQ_NODENAME": f"queues{ports[0]}@localhost",
        "RABBITMQ_CONFIG_FILE": f"{tmp_path}/rabbitmq.conf",
        "RABBITMQ_ADVANCED_CONFIG_FILE": f"{tmp_path}/advanced.config",
        "RABBITMQ_ENABLED_PLUGINS_FILE": f"{tmp_path}/enabled_plugins",
        "RABBITMQ_CONF_ENV_FILE": "/dev/null",
        "RABBITMQ_MNESIA_BASE": f"{tmp_path}/mnesia",
        "RABBITMQ_LOG_BASE": f"{tmp_path}/log",
        "RABBITMQ_GENERATED_CONFIG_DIR": f"{tmp_path}/generated",
        "RABBITMQ_PID_FILE": f"{tmp_path}/pid",
        "RABBITMQ_DIST_PORT": str(ports[1]),
        "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "+S 1:1 +sbwt none",
        "ERL_EPMD_ADDRESS": HOST,
        "ERL_EPMD_PORT": str(ports[2]),
    }
    started: list[subprocess.Popen[Any]] = []
    made = Broker(tmp_path, ports[0], environment)
    try:
        epmd = [str(programs.epmd), "-address", HOST, "-port", str(ports[2])]
        for command, log in ((epmd, "epmd.log"), ([str(programs.rabbitmq)], "broker.log")):
            with (tmp_path / log).open("w") as output:
                started.append(
                    subprocess.Popen(command, env=environment, stdout=output, stderr=subprocess.STDOUT)
                )
        running = made.directory / "broker.log"
        wait_until(
            "the broker runs", lambda: made.attempt("await_startup").returncode == 0, 120, running.read_text
        )
        yield made
    finally:
        for service in made.services:
            service.stop()
        if len(started) == 2:
            made.attempt("shutdown")
        for process in reversed(started):
            process.kill()
            process.wait()


def test_services_have_quorum_queues_once_their_old_pods_are_gone_and_the_old_queues_dropped(
    broker: Broker,
) -> None:
    old = broker.service("a", CLASSIC)
    wait_until("the old service serves", lambda: old.serves, 60, lambda: old.text)
    wait_until("its queues are classic", lambda: set(broker.types().values()) == {"classic"}, 60)

    # While an old process serves, its queue stays: a new one goes on with it, or ends.
    new = broker.service("b", QUORUM)
    wait_until("it is refused", lambda: "inequivalent arg 'x-queue-type'" in new.text, 60, lambda: new.text)
    assert broker.types()[TOPIC] == "classic"
    assert new.serves == (SERIES < "2026.1")

    old.stop()
    wait_until("none is left", lambda: broker.drop_classic() == 0, 60, lambda: str(broker.types()))
    broker.again(new)

    def replicated() -> bool:
        found = broker.types()
        return {TOPIC, f"{TOPIC}.host-b"} <= found.keys() and set(found.values()) == {"quorum"}

    wait_until("its queues are replicated", replicated, 60, lambda: f"{broker.types()} {new.text}")
    wait_until("it answers", lambda: broker.answers(new), 60, lambda: new.text)
    assert broker.drop_classic() == 0
