"""Hooks that are pods by themselves, without a Job: how far each is, and why it does not get on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from controller.domain.health.pods import CauseKind, parse_pod
from controller.domain.releases.hooks import HookPhase, HookView
from controller.domain.shared.times import seconds_of
from controller.errors import Forbidden
from controller.ports.kubernetes import POD, Kube

_PHASES = {
    "Running": HookPhase.RUNNING,
    "Succeeded": HookPhase.SUCCEEDED,
    "Failed": HookPhase.FAILED,
}
# The pod has begun or will begin, and nothing needs it to be ready.
_IS_AT_WORK = (CauseKind.STARTING, CauseKind.UNREADY)


@dataclass(frozen=True)
class HookPod:
    """One pod of a hook. `cause` is why it does not end well, as the cluster says it: not redacted."""

    view: HookView
    cause: str = ""

    @property
    def open(self) -> bool:
        """Whether it has yet to end."""
        return self.view.phase in (HookPhase.PENDING, HookPhase.RUNNING)


def read_hook_pod(kube: Kube, namespace: str, name: str, *, not_before: float = 0.0) -> HookPod | None:
    """The pod, None when it is not there, was made before that time (seconds since the epoch), or may not
    be seen. Raises KubeError."""
    try:
        obj = kube.get(POD, name, namespace)
    except Forbidden:
        # An installation may withhold that right: nothing is reported then.
        return None
    if obj is None or seconds_of(obj["metadata"].get("creationTimestamp")) < not_before:
        return None
    status = obj.get("status") or {}
    since = status.get("startTime") or obj["metadata"].get("creationTimestamp")
    phase = _PHASES.get(str(status.get("phase")), HookPhase.PENDING)
    return HookPod(HookView(name, phase, seconds_of(since)), _cause(obj))


def _cause(obj: Mapping[str, Any]) -> str:
    # It stands for itself, as that of a Job would.
    owner = {"kind": "Job", "name": obj["metadata"]["name"], "controller": True}
    facts = parse_pod({**obj, "metadata": {**obj["metadata"], "ownerReferences": [owner]}})
    if facts is None or facts.cause is None or facts.cause.kind in _IS_AT_WORK:
        return ""
    return f'{facts.cause.text}: "{facts.cause.output}"' if facts.cause.output else facts.cause.text
