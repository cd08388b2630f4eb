"""The steps of an upgrade, in the order in which they are made. Pure.

OpenStack's services are upgraded after those that they ask: keystone first, nova before its computes, and
neutron's server before its agents (docs.openstack.org: nova, admin/upgrades; neutron, contributor upgrades).
The places are `upgrade[].place`, else `order`, in `values/services/<service>/service.yaml`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from controller.domain.region.allowed_version_steps import ImageStep
from controller.domain.values.catalogue import ServiceEntry
from controller.domain.values.upgrade_parts import UpgradePart


class Phase(StrEnum):
    """What an upgrade is doing: the word in `status.upgrade.phase`."""

    PREFLIGHT = "Preflight"
    INFRASTRUCTURE = "Infrastructure"
    CONTROL_PLANE = "ControlPlane"
    COMPUTES = "Computes"
    FINISH = "Finish"
    FINISHED = "Finished"
    ABORTED = "Aborted"


ENDED = (Phase.FINISHED, Phase.ABORTED)


@dataclass(frozen=True)
class UpgradeStep:
    """One part of a service that is upgraded in one step.

    `version`: its server only passes through this version; the step after it is the upgrade itself. `images`
    are then those of the servers, as they run and as they are asked for.
    """

    service: str
    about: UpgradePart
    version: str = ""
    images: tuple[ImageStep, ...] = ()

    @property
    def name(self) -> str:
        """`identity`, `compute/computes` for a part, or `messaging/4.2` for a version between."""
        part = self.version or self.about.part
        return f"{self.service}/{part}" if part else self.service

    @property
    def phase(self) -> Phase:
        """The phase that the step is part of."""
        return Phase(self.about.phase)


def upgrade_steps(services: Iterable[ServiceEntry]) -> tuple[UpgradeStep, ...]:
    """The steps of these services in their order."""
    steps = [UpgradeStep(entry.name, part) for entry in services for part in entry.upgrade]
    return tuple(sorted(steps, key=lambda step: (step.about.place, step.name)))
