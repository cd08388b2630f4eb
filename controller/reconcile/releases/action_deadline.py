"""How long one action of Helm may take: by the timeout of its spec, less by a newer one, never more.

Shortly before its deadline the pods of its hooks are read once more (`hooks/progress.py`). At the deadline
its hooks are ended, then Helm's process (`controller/adapters/helm/process_bounds.py`).
"""

from __future__ import annotations

from dataclasses import dataclass

from controller.domain.releases.actions import MAKING, Action
from controller.domain.releases.bundle import ReleaseSpec

# How long the uninstall of what is in no spec any more may take with its hooks; a setting may say otherwise.
UNINSTALL_SECONDS = 600


@dataclass(frozen=True)
class ActionDeadline:
    """`seconds` since its begin that an action may take. `shortened`: that is less than it was given."""

    seconds: float
    shortened: bool = False

    @property
    def overdue(self) -> str:
        """Why an action is ended that has taken longer."""
        return f"not done within {self.seconds:g} s, the timeout in its present spec"


def seconds_given(spec: ReleaseSpec | None, uninstall_within: int) -> int:
    """What an action is given at its begin; `spec` is None for what is to go for good."""
    return spec.timeout if spec else uninstall_within


def action_deadline(
    action: Action, given: float, newest: ReleaseSpec | None, *, suspended: str
) -> ActionDeadline:
    """The deadline of a running action by the newest spec, which is None where the release is to go."""
    if suspended or newest is None or action not in MAKING:
        return ActionDeadline(given)
    seconds = min(given, float(newest.timeout))
    return ActionDeadline(seconds, seconds < given)
