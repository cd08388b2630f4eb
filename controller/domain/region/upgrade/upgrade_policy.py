"""`spec.upgrade`: how a region is upgraded to another version of OpenStack. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field

from controller.domain.api.region_spec import UpgradeSpec
from controller.domain.shared.durations import parse_duration
from controller.domain.shared.max_unhealthy import MaxUnhealthy, parse_max_unhealthy


@dataclass(frozen=True)
class UpgradePolicy:
    """The wishes for an upgrade, read.

    `smoke`: the service of each step is used before the next one. `healthy_for` and `backup_max_age` are
    seconds, the latter 0 for none. `batch` says how many nodes go at once, and `max_failed` how many may fail
    before no other one goes. `by_label`: the label of nodes whose values go one after the other, empty for
    none. `prepull`: nodes pull the new images before the first step.
    """

    manual: bool = False
    smoke: bool = False
    healthy_for: int = 30
    paused: bool = False
    batch: MaxUnhealthy = field(default=MaxUnhealthy(percentage=10))
    max_failed: int = 0
    by_label: str = ""
    backup_max_age: int = 0
    prepull: bool = False
    skip_checks: tuple[str, ...] = ()


def upgrade_policy(spec: UpgradeSpec) -> UpgradePolicy:
    """The policy of a spec; what the definition would refuse counts as not set."""
    return UpgradePolicy(
        manual=spec.gates == "Manual",
        smoke=spec.gates == "Smoke",
        healthy_for=_seconds(spec.healthy_for, UpgradePolicy.healthy_for),
        paused=spec.paused,
        batch=_batch(spec.batch),
        max_failed=spec.max_failed,
        by_label=spec.by_label,
        backup_max_age=_seconds(spec.backup_max_age, UpgradePolicy.backup_max_age),
        prepull=spec.prepull,
        skip_checks=spec.skip_checks,
    )


def _seconds(text: str, default: int) -> int:
    try:
        return parse_duration(text)
    except ValueError:
        return default


def _batch(given: object) -> MaxUnhealthy:
    try:
        return parse_max_unhealthy(given)
    except ValueError:
        return UpgradePolicy().batch
