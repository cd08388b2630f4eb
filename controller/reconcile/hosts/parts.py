"""What the reconciler of compute hosts is made of."""

from __future__ import annotations

from dataclasses import dataclass

from controller.ports.fencing import Fencing
from controller.ports.kubernetes import Events, Kube
from controller.ports.system import Clock
from controller.reconcile.shared.cloud_access import CloudAccess

# Between two passes; OpenStack has no watches. A pass is about six requests, whatever the number of hosts.
EVERY = 10.0


@dataclass(frozen=True)
class HostPorts:
    """The world as compute hosts need it."""

    kube: Kube
    clock: Clock
    events: Events
    access: CloudAccess
    fencing: Fencing


@dataclass(frozen=True)
class HostSettings:
    """`namespace` is the region's. `resync`: seconds after which what watches report is compared with the API
    server again; `every`: seconds between two looks at OpenStack."""

    namespace: str
    resync: float
    every: float = EVERY
