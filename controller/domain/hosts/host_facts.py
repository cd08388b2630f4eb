"""The facts of one compute host from Kubernetes and OpenStack, and its possible steps. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from controller.domain.api.conditions import find
from controller.domain.api.names import AUTOMATIC_LABEL
from controller.domain.api.reasons import Reason
from controller.domain.shared.cloud_facts import (
    MARK,
    Agent,
    ComputeService,
    forced_by_us,
    forced_reason,
)


class Step(StrEnum):
    """The next step for a host."""

    NOTHING = "Nothing"
    WAIT = "Wait"
    BLOCKED = "Blocked"
    DISABLE = "Disable"
    ENABLE = "Enable"
    UNFORCE = "Unforce"
    EVACUATE = "Evacuate"
    REMOVE = "Remove"
    FORGET = "Forget"
    MAP_CELL = "MapCell"


# These change nothing.
PASSIVE = (Step.NOTHING, Step.WAIT, Step.BLOCKED, Step.FORGET)


@dataclass(frozen=True, slots=True)
class ComputeNode:
    """The Kubernetes side of a host.

    Times in seconds since the epoch, 0.0 for never or not known. `since`: when it became ready, or not ready.
    `fenced`: it is not ready, and a confirmation that it is off is valid. `losses`: the remembered times of
    lost readiness.
    """

    name: str
    uid: str
    ready: bool
    since: float
    created: float = 0.0
    cordoned: bool = False
    fenced: bool = False
    losses: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class HostFacts:
    """All facts for a decision.

    `node` is None if the Node is gone or no longer a compute node. `was_compute`: the Node is, or was, a
    compute node. `missing_since`, `missing_observations`: when its service was first missing, and the number
    of passes since then. `unmapped_since`: when its service was first observed without a cell. `agents` and
    `servers` are None if unknown. `known_uid`: of the Node of the present compute service. `unready_pods`:
    those of the region on this node. `maintenance`: the active ComputeMaintenance. `agents_expected`: other
    compute hosts have network agents. `automatic`: the maintenance is our own, for a lost node. `host`: its
    name in OpenStack. `taken_over`: the Node that has the host now, if this one is gone or a second one.
    `doubt`: why it is not certain which host the Node is. `strangers`: the text on compute hosts without a
    Node, if this one has none. `unmapped_stranger`: one of those is not mapped to a cell yet.
    `forced_down_by_us`: the id of the compute service of this host that we forced down. `node_known_for`:
    seconds for which we observe its Node. `reports`: its compute service has reported recently.
    `own_compute`: a nova-compute of this Node has run for long enough to be the one that reports.
    """

    name: str
    node: ComputeNode | None
    service: ComputeService | None
    was_compute: bool = True
    missing_since: float = 0.0
    missing_observations: int = 0
    unmapped_since: float = 0.0
    mapped: bool = True
    agents: tuple[Agent, ...] | None = ()
    agents_expected: bool = False
    automatic: bool = False
    servers: int | None = None
    unready_pods: tuple[str, ...] = ()
    maintenance: str = ""
    known_uid: str = ""
    host: str = ""
    taken_over: str = ""
    forced_down_by_us: str = ""
    doubt: str = ""
    strangers: str = ""
    unmapped_stranger: bool = False
    node_known_for: float = 0.0
    reports: bool = False
    own_compute: bool = True

    @property
    def is_settled(self) -> bool:
        """Whether the compute of the host reports."""
        return self.service is not None and (self.service.up or self.reports)

    @property
    def is_forced_down_by_us(self) -> bool:
        """Whether we forced the compute service down, whatever its present reason."""
        service = self.service
        if service is None or not service.forced_down:
            return False
        return forced_by_us(service.reason) or service.id == self.forced_down_by_us

    def mark(self, why: str) -> str:
        """The disabled_reason to leave in an enabled service."""
        return forced_reason(None) if self.is_forced_down_by_us else MARK + why


@dataclass(frozen=True, slots=True)
class NextStep:
    """`mark` is the disabled_reason, with Step.DISABLE. `after`: seconds until the next pass."""

    step: Step
    reason: Reason
    message: str = ""
    mark: str = ""
    after: float | None = None


def is_plan(maintenance: Mapping[str, Any]) -> bool:
    """Whether a ComputeMaintenance only plans. A running one cannot become a dry run."""
    return bool(maintenance["spec"].get("dryRun")) and not has_begun(maintenance)


def has_begun(maintenance: Mapping[str, Any]) -> bool:
    """Whether a ComputeMaintenance manages its host, or did: a queued one does not yet."""
    return bool((maintenance.get("status") or {}).get("startedAt"))


def is_put_back(maintenance: Mapping[str, Any]) -> bool:
    """Whether a ComputeMaintenance only waits for moves to confirm: its host is managed as usual again."""
    reason = find((maintenance.get("status") or {}).get("conditions") or (), "Ready").get("reason")
    return bool(maintenance["metadata"].get("deletionTimestamp")) and reason == Reason.MOVES_UNCONFIRMED


def is_automatic(maintenance: Mapping[str, Any]) -> bool:
    """Whether the controller made this ComputeMaintenance by itself."""
    return AUTOMATIC_LABEL in (maintenance["metadata"].get("labels") or {})
