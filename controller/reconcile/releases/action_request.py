"""One action on one release: as it is asked for, while it runs, and how it ended."""

from __future__ import annotations

from dataclasses import dataclass, field

from controller.domain.api.keys import ReleaseKey
from controller.domain.api.region_spec import VolumePolicy
from controller.domain.releases.actions import Action
from controller.domain.releases.attempt import Attempt
from controller.domain.releases.bundle import ReleaseSpec
from controller.domain.releases.hooks import HookView
from controller.domain.releases.requests import NOTHING_ASKED, Requests
from controller.domain.shared.redaction import Redactor
from controller.domain.values.chart_values import Values
from controller.ports.helm import Cancellation
from controller.ports.system import Clock
from controller.reconcile.releases.action_deadline import UNINSTALL_SECONDS, seconds_given


@dataclass(frozen=True)
class ActionRequest:
    """One action on one release, complete: nothing is looked up again while it runs.

    `version` is the revision that an install, upgrade or rollback will make, or the one that others work
    on. `digest` is empty for what serves none. `resolved_values` hold secrets; `redactor` knows
    them. `failures` is the number in a row before this action, `interrupted` whether the last of them was
    none of the release's own. `requests` is what the operator asks for. `spec` is None for what is to go for
    good, which may take `uninstall_within` seconds; `skip_hooks`: without the hooks of its deletion.
    `unlocks` is how many actions were cut off before.
    """

    action: Action
    bundle: str
    release: str
    namespace: str
    version: int
    digest: str = ""
    spec_digest: str = ""
    spec: ReleaseSpec | None = None
    resolved_values: Values | None = field(default=None, repr=False)
    redactor: Redactor = field(default_factory=Redactor)
    failures: int = 0
    interrupted: bool = False
    requests: Requests = NOTHING_ASKED
    volumes: VolumePolicy = "Retain"
    skip_hooks: bool = False
    uninstall_within: int = UNINSTALL_SECONDS
    unlocks: int = 0

    @property
    def key(self) -> ReleaseKey:
        """Which release."""
        return (self.namespace, self.release)

    @property
    def timeout(self) -> int:
        """Seconds that the action may take."""
        return seconds_given(self.spec, self.uninstall_within)

    def failures_with(self, *, interrupted: bool) -> int:
        """The number of failures in a row with one more. The first own failure of the release counts from
        one: earlier lost requests do not predict the next try."""
        return 1 if self.interrupted and not interrupted else self.failures + 1


@dataclass(frozen=True)
class RunningAction:
    """An action under way since `started`, in seconds since the epoch, and `began`, by the monotonic clock of
    its process: a clock that is set ends no action.

    `shortened_to`: seconds that it may take in all by the newest spec, where that gives it less time than
    the request did.
    """

    request: ActionRequest
    started: float
    cancellation: Cancellation
    shortened_to: float | None = None
    began: float | None = None

    def age(self, clock: Clock) -> float:
        """For how many seconds it has been under way."""
        return clock.now() - self.started if self.began is None else clock.monotonic() - self.began

    @property
    def timeout(self) -> float:
        """Seconds that it may take in all."""
        return float(self.request.timeout) if self.shortened_to is None else self.shortened_to


@dataclass(frozen=True)
class Done:
    """What an action has done, in words, if its name does not say this. `half`: only the Jobs that the new
    pods of an upgrade wait for. The rest is a separate action."""

    text: str = ""
    half: bool = False


@dataclass(frozen=True)
class ActionOutcome:
    """How an action ended: the content of `status.releases[].lastAttempt`, and further reports.

    `hooks` are those of an action that failed. `superseded`: it was ended because what it served was gone.
    """

    attempt: Attempt
    hooks: tuple[HookView, ...] = ()
    superseded: bool = False
    done: Done = Done()
