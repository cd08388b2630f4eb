"""Conditions as Kubernetes means them (metav1.Condition; kstatus for Reconciling and Stalled)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Literal

from controller.domain.api.reasons import Reason
from controller.domain.api.shortened_text import shorten

Status = Literal["True", "False", "Unknown"]

# To kstatus the first two are true if present, so they are removed, not set to False.
WHILE_TRUE = ("Reconciling", "Stalled", "Upgrading")

# Bounds of metav1.Condition (k8s.io/apimachinery/pkg/apis/meta/v1/types.go).
MESSAGE_LIMIT = 32768


@dataclass(frozen=True)
class Condition:
    """One observation. `generation` is the metadata.generation that it describes."""

    type: str
    status: Status
    reason: Reason
    message: str
    generation: int


def timestamp(seconds: float) -> str:
    """RFC 3339 in UTC with whole seconds, as metav1.Time is written."""
    return _written(int(seconds))


@lru_cache(maxsize=4096)  # each pass parses the same few times for the nodes of a region
def _written(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def find(conditions: Iterable[Mapping[str, Any]], type_: str) -> Mapping[str, Any]:
    """The entry of that type, or empty."""
    return next((entry for entry in conditions if entry.get("type") == type_), {})


def is_true(conditions: Iterable[Mapping[str, Any]], type_: str, generation: int | None = None) -> bool:
    """Whether the entry is True, and describes `generation` if one is given."""
    entry = find(conditions, type_)
    current = generation is None or entry.get("observedGeneration") == generation
    return current and entry.get("status") == "True"


def entries(
    desired: Iterable[Condition], existing: Iterable[Mapping[str, Any]], now: float
) -> list[dict[str, Any]]:
    """The desired conditions for a status, sorted by type.

    `lastTransitionTime` is kept while `status` does not change, and is `now` (seconds since the epoch)
    otherwise. Conditions that exist only while true are omitted unless they are true.
    """
    known = list(existing)
    result = []
    for condition in sorted(desired, key=lambda item: item.type):
        if condition.type in WHILE_TRUE and condition.status != "True":
            continue
        before = find(known, condition.type)
        kept = before.get("lastTransitionTime") if before.get("status") == condition.status else None
        result.append(
            {
                "type": condition.type,
                "status": condition.status,
                "reason": str(condition.reason),
                "message": shorten(condition.message, MESSAGE_LIMIT),
                "observedGeneration": condition.generation,
                "lastTransitionTime": kept or timestamp(now),
            }
        )
    return result
