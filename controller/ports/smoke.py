"""What a smoke check needs of a region's OpenStack, as protocols.

Calls raise CloudUnavailable where nothing is known of the outcome, CloudRefused where OpenStack said no.
No write is repeated.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from controller.domain.region.smoke import Leftover, SmokeProject


@dataclass(frozen=True)
class Progress:
    """How far something is that takes a while. `fault`: OpenStack's own words on why it failed."""

    status: str
    fault: str = ""


class SmokeTenant(Protocol):
    """An ordinary member of one project."""

    def make_image(self, name: str, content: bytes) -> str: ...

    def image(self, id_: str) -> Progress: ...

    def image_content(self, id_: str) -> bytes: ...

    def make_network(self, name: str, cidr: str) -> str:
        """A network with one subnet."""
        ...

    def make_port(self, name: str, network: str) -> tuple[str, str]:
        """Its id and its first address, which is empty where it has none."""
        ...

    def make_volume(self, name: str) -> str:
        """One of a GiB, the least there is."""
        ...

    def volume(self, id_: str) -> Progress: ...

    def make_server(self, name: str, *, image: str, flavor: str, port: str) -> str: ...

    def server(self, id_: str) -> Progress: ...

    def attach(self, server: str, volume: str) -> None: ...

    def close(self) -> None: ...


class SmokeCloud(Protocol):
    """The same OpenStack for its administrator. `auth_url`: where Keystone is."""

    @property
    def auth_url(self) -> str: ...

    def services(self) -> frozenset[str]:
        """The types of the services in the catalogue, by a login."""
        ...

    def listed(self, service: str) -> int:
        """How many objects the first page of a list of one of LISTED_SERVICES has."""
        ...

    def projects(self) -> tuple[SmokeProject, ...]:
        """Those of all runs that are still there."""
        ...

    def make_project(self, name: str, tags: tuple[str, ...]) -> SmokeProject: ...

    def enter(self, project: SmokeProject) -> SmokeTenant:
        """Makes the administrator an ordinary member of the project."""
        ...

    def make_flavor(self, name: str, project: SmokeProject) -> str:
        """The smallest, which no other project sees."""
        ...

    def leftovers(self, project: SmokeProject) -> tuple[Leftover, ...]:
        """All that there is in the project, and what there is for it alone: complete, or not given at all."""
        ...

    def remove(self, thing: Leftover) -> None:
        """Asks for it; some are there for a while yet. One that is gone already is none to speak of."""
        ...

    def remove_project(self, project: SmokeProject) -> None: ...

    def close(self) -> None: ...
