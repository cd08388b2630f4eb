"""A RabbitMQ cluster in memory, with the rules of its upgrades: `FakeBroker` implements `Brokers`.

A node that is started on data that it does not take, or before the flags that it requires, does not run and
is remembered in `refusals`. `fewest` is the lowest number of nodes that ran at once.
"""

from __future__ import annotations

from dataclasses import dataclass

from controller.domain.region.allowed_version_steps import Version, versions_between
from controller.errors import ServerUnavailable
from controller.ports.accounts import ServerLogin
from controller.ports.brokers import BrokerCluster, BrokerMember, FeatureFlag

VERSIONS: tuple[Version, ...] = ((3, 11), (3, 12), (3, 13), (4, 2), (4, 3))


@dataclass
class FakeNode:
    """One node: the version of its server and of its data, and whether it runs."""

    name: str
    version: Version
    running: bool = True


class FakeBroker:
    """The nodes by address. `slow`: flags that are enabled only when asked for the second time."""

    def __init__(self, version: Version, addresses: tuple[str, ...], password: str) -> None:
        self.nodes = {
            address: FakeNode(f"rabbit@{number}", version) for number, address in enumerate(addresses)
        }
        self.enabled = {_flag(one) for one in VERSIONS if one < version}
        self.password = password
        self.alarmed = False
        self.used: tuple[str, ...] = ()
        self.critical: set[str] = set()
        self.silent: set[str] = set()
        self.slow: set[str] = set()
        self.refusals: list[str] = []
        self.fewest = len(addresses)

    @property
    def versions(self) -> list[Version]:
        return sorted({node.version for node in self.nodes.values()})

    def restart(self, address: str, version: Version) -> None:
        """The node ends, and a server of this version is started on its data."""
        node = self.nodes[address]
        node.running = False
        self.fewest = min(self.fewest, sum(one.running for one in self.nodes.values()))
        if address in self.critical:
            self.refusals.append(f"{node.name}: queues lost their quorum")
        required = {_flag(one) for one in VERSIONS if one < version}
        if version != node.version and versions_between(node.version, version):
            self.refusals.append(f"{node.name}: data of {node.version} for {version}")
        elif required - self.enabled:
            self.refusals.append(f"{node.name}: {version} requires {sorted(required - self.enabled)}")
        else:
            node.version, node.running = version, True

    def cluster(self, login: ServerLogin) -> BrokerCluster:
        self._known(login)
        oldest = min(self.versions)
        flags = [one for one in VERSIONS if one <= oldest]
        return BrokerCluster(
            members=tuple(BrokerMember(node.name, node.running) for node in self.nodes.values()),
            flags=(
                *(FeatureFlag(_flag(one), _flag(one) in self.enabled) for one in flags),
                FeatureFlag("an_experiment", enabled=False, stable=False),
            ),
            alarmed=self.alarmed,
            used_features=self.used,
        )

    def loses_quorum(self, login: ServerLogin) -> bool:
        self._known(login)
        return login.place.host in self.critical

    def enable_flag(self, login: ServerLogin, name: str) -> None:
        self._known(login)
        assert name != "an_experiment"
        if name in self.slow:
            self.slow.discard(name)
            raise ServerUnavailable(f"{login.place.shown} does not answer in time")
        self.enabled.add(name)

    def _known(self, login: ServerLogin) -> FakeNode:
        node = self.nodes.get(login.place.host)
        if node is None or not node.running or login.place.host in self.silent:
            raise ServerUnavailable(f"{login.place.shown} does not answer")
        assert login.password == self.password
        return node


def _flag(version: Version) -> str:
    return f"rabbitmq_{version[0]}.{version[1]}"
