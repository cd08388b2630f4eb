"""What can be done to a release, and the step that was decided on."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from controller.domain.api.reasons import Reason


class Action(StrEnum):
    """The next step for one release."""

    INSTALL = "Install"
    UPGRADE = "Upgrade"
    UNLOCK = "Unlock"
    CORRECT = "Correct"
    ROLLBACK = "Rollback"
    UNINSTALL = "Uninstall"
    WAIT = "Wait"
    NOTHING = "Nothing"


# Actions that make a revision, for the sake of a digest.
MAKING = (Action.INSTALL, Action.UPGRADE, Action.ROLLBACK)

# Actions that serve the spec, and so need its chart and values.
SERVING = (Action.INSTALL, Action.UPGRADE)


@dataclass(frozen=True)
class NextAction:
    """The next step, why, and in how many seconds to look again if nothing happens before.

    `waits_for` names the releases whose next change may change the decision.
    """

    action: Action
    reason: Reason
    message: str = ""
    again_after: float | None = None
    waits_for: tuple[str, ...] = ()
