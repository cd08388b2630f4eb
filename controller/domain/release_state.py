"""What to do next with one Helm release: a pure function of what is wanted and what is there."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from controller.domain import backoff
from controller.domain.conditions import timestamp
from controller.domain.reasons import Reason


class Action(StrEnum):
    """The next step for one release."""

    INSTALL = "Install"
    UPGRADE = "Upgrade"
    UNLOCK = "Unlock"
    UNINSTALL = "Uninstall"
    WAIT = "Wait"
    NOTHING = "Nothing"


@dataclass(frozen=True)
class Recorded:
    """The newest revision in Helm's history, and whether any revision is deployed.

    `status` is Helm's word. `ours`: this very revision was made by us (its record says so).
    `modified` is in seconds since the epoch.
    """

    version: int
    status: str
    digest: str
    ours: bool
    modified: float
    any_deployed: bool


@dataclass(frozen=True)
class Attempt:
    """Our last action on the release. `failures` counts those in a row that ended badly for `digest`.

    `finished` is in seconds since the epoch.
    """

    action: str
    digest: str
    finished: float
    failures: int
    force: str = ""


@dataclass(frozen=True)
class Situation:
    """Everything the decision depends on.

    `wanted` is the digest of chart and resolved values, None when the release is no longer wanted.
    `unmet` names dependencies that are not deployed, `dependents` installed releases that still need
    this one. `force` is the operator's request for an upgrade now, empty when there is none.
    `jitter` in [0, 1) is the same at every look at the same failure, else the shortest draw would win.
    `foreign_grace`: seconds after which a pending revision of someone else's Helm counts as dead.
    """

    wanted: str | None
    recorded: Recorded | None
    attempt: Attempt | None
    now: float
    jitter: float
    suspended: bool = False
    unmet: tuple[str, ...] = ()
    dependents: tuple[str, ...] = ()
    force: str = ""
    foreign_grace: float = 1800.0


@dataclass(frozen=True)
class Decision:
    """The next step, why, and in how many seconds to look again if nothing happens before."""

    action: Action
    reason: Reason
    message: str = ""
    again_after: float | None = None


def decide(situation: Situation) -> Decision:
    """The one next action. The table in docs/releases.md lists every case."""
    if situation.suspended:
        return Decision(Action.NOTHING, Reason.SUSPENDED, "suspended by its spec")
    recorded = situation.recorded
    if situation.wanted is None:
        return _unwanted(situation)
    if recorded is None:
        return _gated(situation, Decision(Action.INSTALL, Reason.NOT_INSTALLED))
    if recorded.status.startswith("pending-"):
        return _pending(situation, recorded)
    if recorded.status in ("uninstalling", "uninstalled"):
        # Killed in the middle of an uninstall that an edit has taken back since: what is half gone is
        # taken away whole, and the next step installs anew.
        return _backed_off(situation, Decision(Action.UNINSTALL, Reason.RETRYING, "left half uninstalled"))
    return _existing(situation, recorded)


def _existing(situation: Situation, recorded: Recorded) -> Decision:
    last = situation.attempt
    if situation.force and (last is None or last.force != situation.force):
        return Decision(Action.UPGRADE, Reason.FORCED, "an upgrade was asked for by annotation")
    if recorded.status != "deployed":
        return _gated(situation, Decision(Action.UPGRADE, Reason.RETRYING, "the last revision failed"))
    if not recorded.ours:
        text = f"revision {recorded.version} was not made by this controller"
        return _gated(situation, Decision(Action.UPGRADE, Reason.FOREIGN_CHANGE, text))
    if recorded.digest != situation.wanted:
        return _gated(situation, Decision(Action.UPGRADE, Reason.SPEC_CHANGED))
    return Decision(Action.NOTHING, Reason.IN_SYNC)


def _unwanted(situation: Situation) -> Decision:
    if situation.recorded is None:
        return Decision(Action.NOTHING, Reason.GONE)
    if situation.dependents:
        names = ", ".join(situation.dependents)
        return Decision(Action.WAIT, Reason.WAITING_FOR_DEPENDENTS, f"still needed by {names}")
    return _backed_off(situation, Decision(Action.UNINSTALL, Reason.NO_LONGER_WANTED))


def _pending(situation: Situation, recorded: Recorded) -> Decision:
    if recorded.ours:
        # The Lease makes us the only writer and no action of ours runs: its writer is dead.
        go = Decision(Action.UNLOCK, Reason.UNLOCKING, f"revision {recorded.version} was cut off")
        return _backed_off(situation, go)
    left = recorded.modified + situation.foreign_grace - situation.now
    if left > 0:
        text = f"another Helm is at work on revision {recorded.version} ({recorded.status})"
        return Decision(Action.WAIT, Reason.BUSY_ELSEWHERE, text, again_after=min(left, 30.0))
    text = f"revision {recorded.version} of another Helm aged out"
    return _backed_off(situation, Decision(Action.UNLOCK, Reason.UNLOCKING, text))


def _gated(situation: Situation, go: Decision) -> Decision:
    if situation.unmet:
        names = ", ".join(situation.unmet)
        return Decision(Action.WAIT, Reason.WAITING_FOR_DEPENDENCY, f"waits for {names} to be deployed")
    return _backed_off(situation, go)


def _backed_off(situation: Situation, go: Decision) -> Decision:
    last = situation.attempt
    # An edit is served at once: the backoff belongs to the digest that failed.
    digest = situation.wanted if go.action in (Action.INSTALL, Action.UPGRADE) else ""
    if last is None or last.failures == 0 or last.digest != digest:
        return go
    due = last.finished + backoff.delay(last.failures, situation.jitter)
    if due <= situation.now:
        return go
    # The moment, not the seconds left: a message that counts down would be a status write a second.
    text = f"failed {last.failures} time(s), next try at {timestamp(due + 1)}"
    return Decision(Action.WAIT, Reason.BACKING_OFF, text, again_after=due - situation.now)
