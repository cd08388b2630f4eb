"""What the reconcilers need of a region's OpenStack, as protocols.

Every call has a deadline, retries reads within it (429, 5xx, broken connections) with jitter, and never
repeats a POST. Raises CloudUnavailable where nothing is known of the outcome or a list is not complete,
CloudRefused where OpenStack said no.
"""

from __future__ import annotations

from typing import Protocol

from controller.domain.health.probes import ServiceEndpoint
from controller.domain.shared.cloud_facts import (
    Agent,
    Aggregate,
    ComputeService,
    ControlService,
    Hypervisor,
    Migration,
    Server,
    VolumeService,
)


class Cloud(Protocol):
    """One region's OpenStack, as an administrator. Safe from several threads."""

    def until(self, deadline: float, *, grace: float = 0.0) -> Cloud:
        """The same for work that has to end: it is `late` after `deadline`, of the monotonic clock.

        What was begun by then has so many seconds of `grace` to come to its end. After those a call raises
        CloudUnavailable at once, and no read is waited for longer; a write that was sent has its own time.
        """
        ...

    def longer(self, seconds: float) -> Cloud:
        """The same with more grace: for what may not be left half done."""
        ...

    @property
    def late(self) -> bool:
        """Whether that deadline has passed, so that nothing more is to be begun."""
        ...

    def close(self) -> None:
        """Gives back its connections; a call that is under way ends as it would."""
        ...

    # -- reads: a list is complete or not given at all

    def compute_services(self) -> tuple[ComputeService, ...]: ...

    def compute_control(self) -> tuple[ControlService, ...]:
        """Nova's conductors and schedulers, also entries of those that are no more."""
        ...

    def compute_service(self, host: str) -> ComputeService | None:
        """The present service of one host, or None."""
        ...

    def endpoints(self) -> tuple[ServiceEndpoint, ...]:
        """The catalogue, of the interface that the credentials name."""
        ...

    def ask(self, url: str) -> int:
        """The HTTP status of a GET without credentials, within seconds; CloudUnavailable for none."""
        ...

    def hypervisors(self) -> tuple[Hypervisor, ...]: ...

    def network_agents(self) -> tuple[Agent, ...]: ...

    def volume_services(self) -> tuple[VolumeService, ...]:
        """Empty where the region has no block storage."""
        ...

    def aggregates(self) -> tuple[Aggregate, ...]: ...

    def servers_on(self, host: str) -> tuple[Server, ...]: ...

    def server(self, id_: str) -> Server | None:
        """None only where Nova says that there is no such server."""
        ...

    def migrations(self, server: str) -> tuple[Migration, ...]:
        """The moves of one server, oldest first."""
        ...

    def allocations(self, host: str) -> tuple[str, ...] | None:
        """The consumers that hold resources of the host's provider; None where it has no provider."""
        ...

    def routed_by(self, agent: str) -> tuple[str, ...]:
        """Routers on an L3 agent."""
        ...

    def served_by(self, agent: str) -> tuple[str, ...]:
        """Networks on a DHCP agent."""
        ...

    def agents_of_router(self, router: str) -> tuple[str, ...]:
        """The L3 agents that have a router; none where there is no such router."""
        ...

    def agents_of_network(self, network: str) -> tuple[str, ...]:
        """The DHCP agents that have a network; none where there is no such network."""
        ...

    # -- writes that may be repeated

    def set_compute_service(self, id_: str, *, enabled: bool, reason: str = "") -> None:
        """`reason` replaces the one before, also where it is empty."""
        ...

    def force_down(self, id_: str, *, down: bool) -> None: ...

    def delete_compute_service(self, id_: str) -> None: ...

    def delete_agent(self, id_: str) -> None: ...

    def delete_allocations(self, consumer: str) -> None: ...

    def delete_provider(self, host: str) -> None:
        """The host's resource provider, where it has one. Refused while it has allocations."""
        ...

    def set_agent(self, id_: str, *, enabled: bool, description: str) -> None: ...

    def set_volume_service(self, service: VolumeService, *, enabled: bool, reason: str = "") -> None: ...

    def ensure_aggregate(self, name: str, *, zone: str, begun: bool = False) -> Aggregate:
        """The aggregate of that name, made and marked as ours where there is none.

        `begun`: we had begun to make it before; then one that is bare is marked, too.
        """
        ...

    def place_host(self, aggregate: Aggregate, host: str, *, member: bool) -> None: ...

    # -- writes that are sent once

    def live_migrate(self, server: str) -> None: ...

    def cold_migrate(self, server: str) -> None: ...

    def confirm_resize(self, server: str) -> None: ...

    def evacuate(self, server: str) -> None: ...

    def abort_migration(self, server: str, migration: int) -> None: ...

    def add_to_agent(self, agent: str, *, router: str = "", network: str = "") -> None:
        """Puts a router on an L3 agent, or a network on a DHCP agent."""
        ...

    def remove_from_agent(self, agent: str, *, router: str = "", network: str = "") -> None: ...


class Clouds(Protocol):
    """Opens a region's OpenStack from a clouds.yaml."""

    def open(self, clouds: bytes, authority: bytes = b"") -> Cloud:
        """`authority`: certificates to trust, empty for what the text or the system says.

        Nothing is sent yet. Raises CloudRefused when the text is no clouds.yaml with one usable cloud.
        """
        ...
