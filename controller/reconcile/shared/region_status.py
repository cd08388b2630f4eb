"""How every container writes its own part of an osdpl's status."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from controller.domain.api.conditions import find
from controller.ports.kubernetes import OSDPL, Kube
from controller.reconcile.shared.preconditioned_writes import apply_to_seen

# At most one write of a part of the status in so many seconds, however fast its objects change.
WRITE_EVERY = 1.0


def apply_region_status(
    kube: Kube,
    osdpl: Mapping[str, Any],
    status: Mapping[str, Any],
    *,
    manager: str,
    own_conditions: Iterable[str] = (),
    own_fields: Iterable[str] = (),
) -> bool:
    """Server-side apply of `status` under `manager`, if it differs from what the object says now.

    `status` is all that the manager owns: what it wrote before and leaves out now is removed, and
    entries of others are not touched. `own_conditions` and `own_fields` name condition types and fields
    that count as a difference when they are there and `status` leaves them out. Says whether something
    was written.

    Raises ObjectReplaced when the osdpl that was read is gone, KubeError.
    """
    before = osdpl.get("status") or {}
    known = before.get("conditions") or []
    desired = status.get("conditions") or []
    same_conditions = all(find(known, entry["type"]) == entry for entry in desired)
    left_over = any(find(known, type_) and not find(desired, type_) for type_ in own_conditions)
    left_over = left_over or any(name in before and name not in status for name in own_fields)
    same_fields = all(before.get(name) == value for name, value in status.items() if name != "conditions")
    if same_conditions and same_fields and not left_over:
        return False
    apply_to_seen(kube, OSDPL, osdpl, manager=manager, status=status)
    return True
