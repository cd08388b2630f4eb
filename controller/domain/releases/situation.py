"""Everything that the next action of a release depends on, as facts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from controller.domain.releases.actions import NextAction
from controller.domain.releases.attempt import Attempt
from controller.domain.releases.bundle import DEFAULT_TIMEOUT_SECONDS, DriftMode
from controller.domain.releases.drift.difference import NO_DRIFT, Drift
from controller.domain.releases.requests import NOTHING_ASKED, Requests
from controller.domain.releases.retry_time import RETRY_PAUSES


@dataclass(frozen=True)
class RevisionRecord:
    """What Helm's record says of one revision of a release, as far as the next action depends on it.

    `status` is Helm's word (`deployed`, `failed`, `pending-install`, `superseded`, `uninstalling` …).
    `digest` comes from a label of the record, empty if it has none. `ours`: the revision label fits the
    version, so this very revision was made by the controller and not by someone's `helm upgrade` or
    `helm rollback`.

    `rolled_back_to` is the revision that this one went back to at our hands, 0 for none, and
    `desired_at_rollback` the digest that was desired then, empty if that was not known. `removing`: it is we
    who have begun to take the release apart.

    `jobs_for`: the digest of the upgrade whose Jobs alone this revision has run; its workloads are those
    of the revision before. Empty for every other one.
    """

    version: int
    status: str
    digest: str = ""
    ours: bool = False
    rolled_back_to: int = 0
    desired_at_rollback: str = ""
    removing: bool = False
    jobs_for: str = ""

    @property
    def serves(self) -> str:
        """The digest that it was made for."""
        return self.jobs_for or self.digest

    @property
    def pending(self) -> bool:
        """Whether an action on it has begun and no end is recorded."""
        return self.status.startswith("pending-")

    @property
    def half_uninstalled(self) -> bool:
        """Whether its uninstall has begun, so that its remaining objects are unknown."""
        return self.status in ("uninstalling", "uninstalled")


@dataclass(frozen=True)
class Recorded(RevisionRecord):
    """The newest revision in Helm's history, and what the others tell of it.

    `usable` are the revisions that can be gone back to; `copied_from` those that this one may be a rollback
    to, as its labels are theirs. `forced` and `asked` are the marks of the requests for an upgrade and for a
    rollback that were there when any of the revisions kept was made.
    """

    usable: frozenset[int] = frozenset()
    copied_from: frozenset[int] = frozenset()
    forced: frozenset[str] = frozenset()
    asked: frozenset[str] = frozenset()


@dataclass(frozen=True)
class OpenHook:
    """A hook's Job that an interrupted attempt has left at work, for what is desired still. It is waited for
    `until` then, in seconds since the epoch: for `timeout` seconds since it was made."""

    name: str
    until: float
    timeout: float = 0.0


def _fits() -> str:
    return ""


def _none_replaced(revision: int) -> str:
    return ""


@dataclass(frozen=True)
class ReleaseSituation:
    """Everything the decision depends on.

    `desired` is the digest of chart and resolved values, None when the release is no longer desired, empty as
    long as it is not known. `obstacle` says why chart or values are not available now, None if they are.
    `unmet` names dependencies that are not deployed, `dependents` installed releases that still need this
    one. `way_out` is what a person can do if those releases stay while this release's bundle is deleted.
    Otherwise this release would wait without end. `requests` holds the requests of the operator. `suspended`
    names what suspends the release, empty for nothing. `owner` names the owner of a release that the bundle
    may not have, empty if the bundle may have it. `planning`: the mode of the bundle is Plan. `jitter` in [0,
    1) is the same at every pass after the same failure. Otherwise the shortest draw would win.
    `foreign_grace`: seconds after which an action of another Helm counts as dead. `unchanged_for`: seconds
    for which the controller has seen the newest record unchanged. No clocks are compared. `retry_cap` is the
    longest pause between tries, in seconds. `open_hook` is a running hook that the next revision would
    interrupt. `drift` lists the differences from the deployed revision, and `drift_mode` says what to do with
    them. `replaced` names accounts of a revision that other accounts have replaced, empty for none.
    `too_large` says why no Secret could hold the record of the next revision, empty when one can. It is asked
    only when nothing else holds the action back: the answer costs a render.
    """

    desired: str | None
    recorded: Recorded | None
    attempt: Attempt | None
    now: float
    jitter: float
    suspended: str = ""
    owner: str = ""
    obstacle: NextAction | None = None
    unmet: tuple[str, ...] = ()
    dependents: tuple[str, ...] = ()
    way_out: str = ""
    requests: Requests = NOTHING_ASKED
    planning: bool = False
    foreign_grace: float = DEFAULT_TIMEOUT_SECONDS
    unchanged_for: float = 0.0
    retry_cap: float = RETRY_PAUSES.cap
    open_hook: OpenHook | None = None
    drift: Drift = NO_DRIFT
    drift_mode: DriftMode = "Correct"
    replaced: Callable[[int], str] = _none_replaced
    too_large: Callable[[], str] = _fits
