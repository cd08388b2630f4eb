"""What a smoke check makes in OpenStack, how that is known again, and in which order it goes. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from enum import StrEnum

TAG = "osctl-smoke"
_NAME = "osctl-smoke-"
_UNTIL = "osctl-smoke-until-"

REQUIRED_SERVICES = ("identity", "image", "network", "compute")
"""Without each of them there is no server. Of block storage a region may have none."""

# What the catalogue must have for the check of one service; for all others a login is enough.
_REQUIRED_BY = {
    "": REQUIRED_SERVICES,
    "compute": REQUIRED_SERVICES,
    "networking": ("identity", "network"),
    "block-storage": ("identity", "block-storage"),
    "image": ("identity", "image"),
}
# What the steps that make a server use. A check of one service leaves out what the region does not have.
_STEP_USES = {
    "image": ("image",),
    "network": ("network",),
    "port": ("network",),
    "volume": ("block-storage",),
    "flavor": ("compute",),
    "server": REQUIRED_SERVICES,
    "attachment": (*REQUIRED_SERVICES, "block-storage"),
}

# What a check of one service has beside the login and a project. A list shows that an API reads its database.
_IMAGE_ALONE = frozenset({"image"})
LISTED_SERVICES = frozenset(
    (
        *("baremetal", "dns", "instance-ha", "key-manager", "load-balancer", "object-storage"),
        *("orchestration", "placement", "shared-file-system"),
    )
)


def steps_for(service: str) -> frozenset[str] | None:
    """The steps between the project and its removal that show that this service serves; None for all.

    A server needs the hypervisors, the network and what all services share: those have the whole check.
    """
    if service == "identity" or service in LISTED_SERVICES:
        return frozenset()
    return _IMAGE_ALONE if service == "image" else None


def required_services(service: str) -> tuple[str, ...]:
    """The services that the catalogue must have for a check of this service; empty: of the whole region."""
    return _REQUIRED_BY.get(service, ("identity",))


def step_is_wanted(step: str, service: str, there: Collection[str]) -> bool:
    """Whether a check makes this step of a server. `there`: the services of the catalogue."""
    wanted = steps_for(service) if service else None
    # A whole check never leaves out a required service: a step that cannot work is to fail.
    lacking = [one for one in _STEP_USES[step] if one not in there]
    if lacking and (service or any(one not in REQUIRED_SERVICES for one in lacking)):
        return False
    return wanted is None or step in wanted


@dataclass(frozen=True)
class SmokeProject:
    """The project of one run. `until`: when that is over, in seconds since the epoch; None if unreadable."""

    id: str
    name: str
    until: float | None

    def is_left_behind(self, now: float) -> bool:
        """Whether no run is at work in it any more, by the time that its maker gave itself."""
        return self.until is not None and now > self.until


def project_name(run: str) -> str:
    """The name of a run's project, and of all that it makes. `run`: letters and digits that no other has."""
    return _NAME + run


def project_tags(until: float) -> tuple[str, ...]:
    """The tags of a run's project; `until` in seconds since the epoch."""
    return TAG, f"{_UNTIL}{int(until)}"


def parse_project(id_: str, name: str, tags: Iterable[str]) -> SmokeProject | None:
    """The project of a run; None for any other, also for one that only has the name, or only the tag."""
    given = set(tags)
    if TAG not in given or not name.startswith(_NAME):
        return None
    times = [tag.removeprefix(_UNTIL) for tag in given if tag.startswith(_UNTIL)]
    readable = [int(one) for one in times if one.isascii() and one.isdigit() and len(one) <= 12]
    return SmokeProject(id_, name, float(max(readable)) if readable else None)


class Kind(StrEnum):
    """What a run makes in its project, in the words of its messages."""

    SERVER = "server"
    VOLUME = "volume"
    PORT = "port"
    NETWORK = "network"
    SECURITY_GROUP = "security group"
    IMAGE = "image"
    FLAVOR = "flavor"


_ORDER = tuple(Kind)
"""The order of removal: a server holds its volume and port, a port its network."""


@dataclass(frozen=True)
class Leftover:
    """One thing that is still there."""

    kind: Kind
    id: str


def next_to_remove(found: Iterable[Leftover]) -> tuple[Leftover, ...]:
    """Those that nothing else of them stands in the way of."""
    listed = tuple(found)
    first = min((_ORDER.index(one.kind) for one in listed), default=0)
    return tuple(one for one in listed if _ORDER.index(one.kind) == first)


class Outcome(StrEnum):
    """How a step ended."""

    PASSED = "passed"
    FAILED = "failed"
    NOT_TRIED = "not tried"


@dataclass(frozen=True)
class StepResult:
    """A step that is over. `detail`: what was seen, or the cause."""

    step: str
    outcome: Outcome
    seconds: float
    detail: str = ""
