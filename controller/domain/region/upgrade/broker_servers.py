"""The servers of a broker while they are replaced one by one. Pure.

The StatefulSet replaces only pods whose number is not below its `partition`. That number is lowered by one
at a time, so that the cluster is looked at before each pod.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from controller.domain.region.allowed_version_steps import Version
from controller.domain.region.upgrade.node_choice import NodePods
from controller.domain.shared.plurals import count

# Fewer nodes than this keep no quorum without one of them.
_FEWEST = 3
# What a version refuses to start with, by the names of RabbitMQ's deprecated features.
_REFUSED: Mapping[Version, tuple[str, ...]] = {
    (4, 0): ("classic_queue_mirroring",),
    (4, 3): (
        "amqp_address_v1",
        "global_qos",
        "queue_master_locator",
        "ram_node_type",
        "transient_nonexcl_queues",
    ),
}


@dataclass(frozen=True)
class BrokerPod:
    """A pod of a broker. `address` is empty while it has none; `broken` says why it does not start."""

    name: str
    number: int
    address: str = ""
    outdated: bool = False
    moving: bool = False
    broken: str = ""
    uid: str = ""

    @classmethod
    def of(cls, pod: Mapping[str, Any], revision: str, now: float) -> BrokerPod:
        """From a pod of a StatefulSet whose newest template is `revision`."""
        meta, status = pod["metadata"], pod.get("status") or {}
        name = str(meta["name"])
        outdated = (meta.get("labels") or {}).get("controller-revision-hash") != revision
        seen = NodePods.of(name, [(pod, False)], now)
        return cls(
            name=name,
            number=int(name.rpartition("-")[2]),
            address=str(status.get("podIP") or ""),
            outdated=outdated,
            moving=seen.moving,
            broken=seen.broken,
            uid=str(meta.get("uid") or ""),
        )


@dataclass(frozen=True)
class BrokerServers:
    """The pods of a broker's StatefulSet.

    `held`: pods with a lower number keep their template. `by_hand`: Kubernetes replaces none, and the next
    pod after one that is deleted is of the newest template. `observed`: what is known of them is of the
    present template.
    """

    release: str
    name: str
    replicas: int
    held: int
    version: str
    pods: tuple[BrokerPod, ...] = ()
    by_hand: bool = False
    observed: bool = True

    @property
    def stuck(self) -> BrokerPod | None:
        """A pod of an earlier template that does not start: Kubernetes would wait for it without end."""
        stuck = (pod for pod in self.pods if pod.broken and pod.outdated)
        return next((pod for pod in stuck if self.by_hand or self._is_let(pod)), None)

    @property
    def failing(self) -> str:
        """Why a pod does not start; empty if none has failed."""
        return next((pod.broken for pod in self.pods if pod.broken), "")

    @property
    def waiting(self) -> str:
        """Which pods are being replaced; empty if all that run are to stay for now."""
        if not self.observed:
            return f"StatefulSet {self.name} is not observed yet"
        moving = [pod.name for pod in self.pods if pod.moving]
        moving += [pod.name for pod in self.pods if pod.outdated and not pod.moving and self._is_let(pod)]
        missing = self.replicas - len(self.pods)
        if moving or missing > 0:
            shown = moving[0] if moving else count(missing, "pod")
            return f"{shown} starts: {self.progress}"
        return ""

    def _is_let(self, pod: BrokerPod) -> bool:
        return not self.by_hand and pod.number >= self.held

    @property
    def progress(self) -> str:
        """How many of the pods have the newest template."""
        done = sum(not pod.outdated and not pod.moving for pod in self.pods)
        return f"{done} of {count(self.replicas, 'node')} replaced"

    @property
    def next(self) -> BrokerPod | None:
        """The pod that is replaced next; None if all have the newest template."""
        outdated = [pod for pod in self.pods if pod.outdated]
        return max(outdated, key=lambda pod: pod.number, default=None)

    @property
    def keeps_quorum(self) -> bool:
        """Whether a cluster of so many nodes can do without one."""
        return self.replicas >= _FEWEST


def refused_features(used: Collection[str], before: Version, after: Version) -> list[str]:
    """What is in use of a broker, and a version up to `after` does not start with."""
    return sorted(
        name
        for version, names in _REFUSED.items()
        if before < version <= after
        for name in names
        if name in used
    )


def permits(values: Mapping[str, Any], feature: str) -> bool:
    """Whether values of a broker allow this deprecated feature."""
    conf = (values.get("conf") or {}).get("rabbitmq") or {}
    nested: Any = conf
    for key in ("deprecated_features", "permit", feature):
        nested = nested.get(key) if isinstance(nested, Mapping) else None
    flat = conf.get(f"deprecated_features.permit.{feature}")
    return "true" in (str(flat).lower(), str(nested).lower())
