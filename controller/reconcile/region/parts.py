"""What the reconciler of a region is made of."""

from __future__ import annotations

from dataclasses import dataclass, field

from controller.ports.brokers import Brokers, NoBrokers
from controller.ports.charts import ChartSource
from controller.ports.kubernetes import Events, Kube
from controller.ports.system import Clock


@dataclass(frozen=True)
class OwnPods:
    """Pods of our own in the region's namespace run the controller's `image`, which they pull with these."""

    image: str = "openstack-controller"
    pull_secrets: tuple[str, ...] = ()


@dataclass(frozen=True)
class RegionPorts:
    """The world as a region needs it."""

    kube: Kube
    clock: Clock
    events: Events
    charts: ChartSource
    brokers: Brokers = field(default_factory=NoBrokers)


@dataclass(frozen=True)
class RegionSettings:
    """`containers` are those that are deployed, `version` the controller's own. `resync`: seconds until a
    region is looked at again though nothing was announced."""

    containers: tuple[str, ...]
    version: str
    resync: float
    own_pods: OwnPods = field(default=OwnPods())
