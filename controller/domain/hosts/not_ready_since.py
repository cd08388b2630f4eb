"""The begin of a node's absence, if all of it was observed.

Pure. The note of an absence on the Node (`NAMESPACE.osctl.dev/not-ready-since`) is "BEGAN CHANGED STATUS
BOOT": when the controller first saw it, the Ready condition that was seen last, and the boot of the machine.
A node that was ready in between while the controller did not run shows another condition: then a confirmation
that the machine was off in the old absence does not count for this one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from controller.domain.api.conditions import timestamp
from controller.domain.shared.times import seconds_of

# Kubernetes calls a node Unknown 40 s and more after its kubelet's last heartbeat
# (node-monitor-grace-period). Within less of having seen it not ready, it cannot have been ready in between.
UNSEEN = 30.0


def words_of(ready: Mapping[str, Any]) -> str:
    """A Ready condition in two words: its time and its status; `-` for a missing one."""
    changed = seconds_of(ready.get("lastTransitionTime"))
    return f"{timestamp(changed) if changed else '-'} {ready.get('status') or '-'}"


def noted_absence(since: float, condition: str, boot: str) -> str:
    """The note on a node that is not ready; `condition` is from `words_of`."""
    return f"{timestamp(since)} {condition} {boot}".strip()


def began(ready: Mapping[str, Any], boot: str, noted: str) -> float:
    """When a node entered its state (seconds since the epoch), 0.0 if unknown.

    For a node that is not ready, only the note counts, while its condition and the boot of its machine match.
    If its kubelet reported not ready, `lastTransitionTime` is by the kubelet's clock: if that is behind, the
    hold-down would be over at once.
    """
    if ready.get("status") == "True":
        return seconds_of(ready.get("lastTransitionTime"))
    start = seconds_of(noted.partition(" ")[0])
    return start if start and noted == noted_absence(start, words_of(ready), boot) else 0.0


def went_on(noted: str, condition: str, boot: str, last_seen: float) -> float:
    """The begin of the noted absence, if it changed from False to Unknown and is still the same; otherwise
    0.0. `last_seen`: the last observation of the noted condition, 0.0 for never by this process.
    """
    start = seconds_of(noted.partition(" ")[0])
    before = noted.split()[1:3]
    changed, _, status = condition.partition(" ")
    same_boot = bool(start) and noted == noted_absence(start, " ".join(before), boot)
    silent = before[1:] == ["False"] and status == "Unknown"
    seen = last_seen > 0.0 and seconds_of(changed) - last_seen < UNSEEN
    return start if same_boot and silent and seen else 0.0
