"""What an upgrade needs of a RabbitMQ, as a protocol."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from controller.errors import ServerUnavailable
from controller.ports.accounts import ServerLogin


@dataclass(frozen=True)
class BrokerMember:
    """A node of a cluster, as the node that was asked sees it. `partitioned`: some nodes do not see it."""

    name: str
    running: bool
    partitioned: bool = False


@dataclass(frozen=True)
class FeatureFlag:
    """A feature flag of a cluster. `stable`: it can be enabled, and every later version may require it."""

    name: str
    enabled: bool
    stable: bool = True
    changing: bool = False


@dataclass(frozen=True)
class BrokerCluster:
    """A cluster, as one of its nodes sees it. `alarmed`: memory or disk of a node run out. `used_features`
    are deprecated ones that it has in use, as far as it knows."""

    members: tuple[BrokerMember, ...]
    flags: tuple[FeatureFlag, ...]
    alarmed: bool = False
    used_features: tuple[str, ...] = ()


class Brokers(Protocol):
    """RabbitMQ nodes, each at the address of its login. Every call has a deadline and may be repeated.

    Raises ServerUnavailable if the node does not answer, or refuses its administrator.
    """

    def cluster(self, login: ServerLogin) -> BrokerCluster:
        """The cluster of this node."""
        ...

    def loses_quorum(self, login: ServerLogin) -> bool:
        """Whether queues lose their quorum if this node stops."""
        ...

    def enable_flag(self, login: ServerLogin, name: str) -> None:
        """The flag is enabled in the cluster of this node; this may last longer than the call."""
        ...


class NoBrokers:
    """`Brokers` where none can be reached."""

    def cluster(self, login: ServerLogin) -> BrokerCluster:
        raise ServerUnavailable(f"{login.place.shown} cannot be reached")

    def loses_quorum(self, login: ServerLogin) -> bool:
        raise ServerUnavailable(f"{login.place.shown} cannot be reached")

    def enable_flag(self, login: ServerLogin, name: str) -> None:
        raise ServerUnavailable(f"{login.place.shown} cannot be reached")
