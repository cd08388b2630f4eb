"""A real cluster of RabbitMQ is replaced node by node by core, and keeps the messages of a quorum queue.

The program is the same in every step: this machine has one RabbitMQ. Its feature flags, its cluster, its
quorum and its management API are real; Kubernetes is played.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import urllib.request
from base64 import b64encode
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from controller.adapters.accounts.broker_cluster import ManagedBrokers
from controller.domain.region.allowed_version_steps import Version
from sandbox.openstack.servers import Programs
from sandbox.patience import patient
from sandbox.ports import find_free_port
from tests.charts.broker import servers
from tests.cluster.region import wait_until
from tests.reconcile.region.upgrade.broker_region import BrokerRegion
from tests.reconcile.region.upgrade.upgrading_region import NEW

pytestmark = [pytest.mark.openstack, pytest.mark.slow, pytest.mark.timeout(900)]

HOST = "127.0.0.1"
MESSAGES = 50


@dataclass
class RealNode:
    """One node of the cluster: its name, its environment, and its process."""

    name: str
    environment: dict[str, str]
    log: Path
    running: bool = False
    process: subprocess.Popen[Any] | None = None


@dataclass
class RealBroker:
    """The nodes by address. `fewest`: how many ran at least while one was started again."""

    programs: Programs
    nodes: dict[str, RealNode]
    management: int
    fewest: int = 99
    restarted: list[str] = field(default_factory=list)

    def start(self, address: str) -> None:
        node = self.nodes[address]
        with node.log.open("a") as output:
            node.process = subprocess.Popen(
                [str(self.programs.rabbitmq)],
                env=node.environment,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        wait_until(
            f"{node.name} runs",
            lambda: self.control(node, "await_startup").returncode == 0,
            patient(120),
            node.log.read_text,
        )
        node.running = True

    def restart(self, address: str, version: Version) -> None:
        """As Kubernetes replaces the pod."""
        node = self.nodes[address]
        assert self.control(node, "shutdown").returncode == 0, node.log.read_text()
        self.kill(node)
        node.running = False
        self.fewest = min(self.fewest, sum(one.running for one in self.nodes.values()))
        self.restarted.append(node.name)
        self.start(address)

    @staticmethod
    def kill(node: RealNode) -> None:
        """Ends the node with all its processes."""
        if node.process is not None:
            with suppress(ProcessLookupError):
                os.killpg(node.process.pid, signal.SIGKILL)
            node.process.wait()

    def control(self, node: RealNode, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [str(self.programs.rabbitmq.with_name("rabbitmqctl")), *arguments]
        return subprocess.run(
            command, env=node.environment, capture_output=True, text=True, timeout=patient(120), check=False
        )

    def call(self, method: str, path: str, body: Any = None) -> Any:
        """The management API of the first node."""
        address = next(iter(self.nodes))
        request = urllib.request.Request(
            f"http://{address}:{self.management}/api{path}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={
                "Authorization": "Basic " + b64encode(b"guest:guest").decode(),
                "Content-Type": "application/json",
            },
        )
        with urllib.request.urlopen(request, timeout=patient(30)) as answer:
            text = answer.read()
        return json.loads(text) if text else None

    def flags(self) -> dict[str, str]:
        return {one["name"]: one["state"] for one in self.call("GET", "/feature-flags")}


class RealBrokerRegion(BrokerRegion):
    """A region in memory whose broker is real."""

    network = "127.0.5"
    password = "guest"

    def __init__(self, real: RealBroker) -> None:
        self._real = real
        user = {"auth": {"user": {"username": "guest"}}, "port": {"http": {"default": real.management}}}
        values = {"endpoints": {"oslo_messaging": user}}
        super().__init__(services={"messaging": {"rabbitmq": {"values": values}}})

    def play_broker(self, version: Version) -> Any:
        self.brokers = ManagedBrokers()
        return self._real


@pytest.fixture
def real(tmp_path: Path) -> Iterator[RealBroker]:
    programs = servers()
    management, amqp, epmd = (find_free_port() for _ in range(3))
    addresses = [f"{RealBrokerRegion.network}.{number + 1}" for number in range(3)]
    names = [f"node{number}@localhost" for number in range(3)]
    (tmp_path / "enabled_plugins").write_text("[rabbitmq_management].\n")
    # As a cluster that was founded by an earlier version: none of its flags is enabled.
    flags = "{rabbit, [{forced_feature_flags_on_init, []}]}"
    interface = "{kernel, [{inet_dist_use_interface, {127,0,0,1}}]}"
    (tmp_path / "advanced.config").write_text(f"[{interface}, {flags}].\n")
    made = RealBroker(programs, {}, management)
    for address, name in zip(addresses, names, strict=True):
        peers = "".join(
            f"cluster_formation.classic_config.nodes.{number} = {one}\n"
            for number, one in enumerate(names, 1)
        )
        conf = tmp_path / f"{name}.conf"
        conf.write_text(
            f"listeners.tcp.1 = {address}:{amqp}\n"
            f"management.tcp.ip = {address}\nmanagement.tcp.port = {management}\n"
            f"loopback_users.guest = false\nlog.console = true\n"
            f"cluster_formation.peer_discovery_backend = classic_config\n{peers}"
        )
        environment = {
            "PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
            **programs.environment,
            "HOME": str(tmp_path),
            "LANG": "C.UTF-8",
            "RABBITMQ_NODENAME": name,
            "RABBITMQ_CONFIG_FILE": str(conf),
            "RABBITMQ_ADVANCED_CONFIG_FILE": f"{tmp_path}/advanced.config",
            "RABBITMQ_ENABLED_PLUGINS_FILE": f"{tmp_path}/enabled_plugins",
            "RABBITMQ_CONF_ENV_FILE": "/dev/null",
            "RABBITMQ_MNESIA_BASE": f"{tmp_path}/mnesia",
            "RABBITMQ_LOG_BASE": f"{tmp_path}/log",
            "RABBITMQ_GENERATED_CONFIG_DIR": f"{tmp_path}/generated-{name}",
            "RABBITMQ_PID_FILE": f"{tmp_path}/{name}.pid",
            "RABBITMQ_DIST_PORT": str(find_free_port()),
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "+S 1:1 +sbwt none",
            "ERL_EPMD_ADDRESS": HOST,
            "ERL_EPMD_PORT": str(epmd),
        }
        made.nodes[address] = RealNode(name, environment, tmp_path / f"{name}.log")
    command = [str(programs.epmd), "-address", HOST, "-port", str(epmd)]
    ports = subprocess.Popen(command, env=next(iter(made.nodes.values())).environment)
    try:
        for address in addresses:
            made.start(address)
        yield made
    finally:
        for node in made.nodes.values():
            made.kill(node)
        ports.kill()
        ports.wait()


def test_a_real_cluster_keeps_its_messages_while_each_node_is_replaced(real: RealBroker) -> None:
    region = RealBrokerRegion(real)
    assert "disabled" in real.flags().values()
    region.edit(openstackVersion=NEW)
    declared = False
    for _ in range(300):
        region.reconcile()
        if not declared and "disabled" not in real.flags().values():
            # Nothing has been replaced yet; a quorum queue needs its flag.
            assert real.restarted == []
            declare(real)
            declared = True
        region.deploy()
        region.clock.advance(31)
        if region.current == "identity":
            break
    assert region.current == "identity", region.upgrade
    assert real.restarted == [f"node{number}@localhost" for number in (2, 1, 0)] * 2
    assert real.fewest == 2
    assert real.call("GET", "/queues/%2F/kept")["type"] == "quorum"
    assert messages(real) == MESSAGES


def test_a_real_node_that_queues_cannot_do_without_is_named(real: RealBroker) -> None:
    region = RealBrokerRegion(real)
    for name, state in real.flags().items():
        if state == "disabled":
            real.call("PUT", f"/feature-flags/{name}/enable", {})
    declare(real)
    region.edit(openstackVersion=NEW)
    region.begin("messaging/4.2")
    lost = next(iter(real.nodes))
    real.control(real.nodes[lost], "stop_app")
    region.reconcile()
    region.deploy()
    region.reconcile()
    assert real.restarted == []
    assert "does not run" in str(region.condition("Upgrading")["message"])


def declare(real: RealBroker) -> None:
    arguments = {"x-queue-type": "quorum", "x-quorum-initial-group-size": 3}
    real.call("PUT", "/queues/%2F/kept", {"durable": True, "arguments": arguments})
    for number in range(MESSAGES):
        sent = real.call(
            "POST",
            "/exchanges/%2F/amq.default/publish",
            {
                "properties": {"delivery_mode": 2},
                "routing_key": "kept",
                "payload": str(number),
                "payload_encoding": "string",
            },
        )
        assert sent["routed"]


def messages(real: RealBroker) -> int:
    """How many are in the queue, each read once."""
    found = real.call(
        "POST",
        "/queues/%2F/kept/get",
        {"count": MESSAGES * 2, "ackmode": "ack_requeue_false", "encoding": "auto"},
    )
    return len({one["payload"] for one in found})
