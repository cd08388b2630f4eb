"""What the reconciler of a region's health is made of."""

from __future__ import annotations

from dataclasses import dataclass

from controller.domain.health.workload_health import PROGRESS_DEADLINE
from controller.ports.helm import ReleaseRecords
from controller.ports.kubernetes import Events, Kube
from controller.ports.system import Clock


@dataclass(frozen=True)
class HealthPorts:
    """The world as health needs it. `records` tell what deployed releases consist of, so that what is gone is
    missed."""

    kube: Kube
    clock: Clock
    events: Events
    records: ReleaseRecords


@dataclass(frozen=True)
class HealthSettings:
    """`namespace` is the regions'. `resync`: seconds after which what watches report is compared with the API
    server again. `progress_deadline`: seconds after which pods without progress are a failure."""

    namespace: str
    resync: float
    progress_deadline: float = PROGRESS_DEADLINE
