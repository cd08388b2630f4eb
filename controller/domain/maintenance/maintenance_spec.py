"""The spec of a ComputeMaintenance, with its defaults. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from controller.domain.hosts.fencing_confirmation import Confirmation, read_given
from controller.domain.maintenance.move_choice import Mode, Rules, Unmovable
from controller.domain.shared.durations import parse_duration


@dataclass(frozen=True, slots=True)
class MaintenanceSpec:
    """`spec`, with its defaults. Deadlines in seconds."""

    node: str
    mode: Mode
    dry_run: bool = False
    fenced: Confirmation | None = None
    per_host: int = 2
    per_region: int = 8
    most_unavailable: int = 1
    server_deadline: float = 900.0
    deadline: float = 14400.0
    retries: int = 3
    rules: Rules = field(default_factory=Rules)


def parse_spec(obj: Mapping[str, Any]) -> MaintenanceSpec:
    """The spec of a ComputeMaintenance that the API server accepted. Raises ValueError for any other."""
    spec = obj["spec"]
    budgets, deadlines = spec.get("budgets") or {}, spec.get("deadlines") or {}
    limits = spec.get("limits") or {}
    return MaintenanceSpec(
        node=str(spec["nodeName"]),
        mode=Mode(spec.get("mode") or Mode.MIGRATE),
        dry_run=bool(spec.get("dryRun")),
        fenced=read_given(given) if isinstance(given := spec.get("fenced"), dict) and given else None,
        per_host=int(budgets.get("serversPerNode") or 2),
        per_region=int(budgets.get("serversPerRegion") or 8),
        most_unavailable=int(budgets.get("nodesPerAggregate") or 1),
        server_deadline=parse_duration(deadlines.get("server") or "15m"),
        deadline=parse_duration(deadlines.get("whole") or "4h"),
        retries=int(spec["retries"]) if spec.get("retries") is not None else 3,
        rules=Rules(
            on_unmovable=Unmovable(spec.get("onUnmovable") or Unmovable.BLOCK),
            most_memory=int(limits.get("memoryMiB") or 0),
            most_local_disk=int(limits.get("localDiskGiB") or 0),
            rebuild_local=spec.get("localDisks") == "Rebuild",
        ),
    )
