"""Probes of the region that fail during an upgrade: the alerts that a step may have caused. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from controller.domain.health.probes import APPLICATION
from controller.domain.health.workload_health import Health
from controller.domain.region.upgrade.upgrade_state import CheckState, Upgrade

# Of nodes: those that `maxFailed` allows to fail do not come back by waiting.
_OF_NODES = ("compute-services", "network-agents")
# The check that finds a failing probe before the first step.
_READY = "region-ready"
_SHOWN = 3


def failing_probes(status: Mapping[str, Any], upgrade: Upgrade, max_failed: int) -> str:
    """What the probes say that fail now, and did not before the upgrade; empty if none does.

    An operator who skipped a check has seen that its probe fails.
    """
    skipped = {check.name for check in upgrade.checks if check.state == CheckState.SKIPPED}
    if _READY in skipped:
        return ""
    found = [
        f"probe {name}: {entry.get('message') or entry.get('status')}"
        for name, entry in sorted(((status.get("health") or {}).get(APPLICATION) or {}).items())
        if entry.get("status") == Health.UNHEALTHY
        and name not in skipped
        and not (max_failed and name in _OF_NODES)
    ]
    return "; ".join(found[:_SHOWN])
