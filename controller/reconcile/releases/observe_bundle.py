"""What one pass over one HelmBundle reads, and its results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from controller.domain.api.keys import ReleaseKey
from controller.domain.api.names import SUSPEND_RELEASE_PREFIX
from controller.domain.releases.bundle_object import Bundle
from controller.domain.releases.bundle_status import ReleaseView
from controller.domain.releases.drift.difference import Drift
from controller.domain.releases.requests import Requests, is_suspended, requests_of, skips_hooks, suspended_by
from controller.ports.helm import Revision
from controller.reconcile.releases.action_request import RunningAction
from controller.reconcile.shared.secret_values import SecretValues

Histories = Mapping[str, tuple[Revision, ...]]


@dataclass(frozen=True)
class ObservedBundle:
    """What one pass has read, once and at its beginning.

    `histories` are those of its own releases and of what they depend on, `busy` the actions under way.
    """

    bundle: Bundle
    obj: Mapping[str, Any]
    histories: Histories
    busy: Mapping[ReleaseKey, RunningAction]
    secrets: SecretValues

    def requests(self, release: str) -> Requests:
        """What the operator asks of the release by annotations of its bundle."""
        return requests_of(self.obj["metadata"].get("annotations") or {}, release)

    def skips_hooks(self, release: str) -> bool:
        """Whether the release is to be uninstalled without the hooks of its deletion."""
        return skips_hooks(self.obj["metadata"].get("annotations") or {}, release)

    def secrets_of(self, release: str) -> frozenset[str]:
        """What errors may quote of a release without values: secrets of ours, and those of its spec."""
        specs = (one for one in self.bundle.spec.releases if one.name == release)
        return self.secrets.generated().union(*(self.secrets.referenced(one.values) for one in specs))

    @property
    def paused(self) -> str:
        """What suspends the whole bundle, empty when nothing does. One that is removed is not suspended."""
        if self.bundle.deleting:
            return ""
        return suspended_by(self.bundle.spec.mode, self.obj["metadata"].get("annotations") or {})

    def suspended(self, release: str) -> str:
        """What suspends the release, empty when nothing does."""
        if self.bundle.deleting or self.paused:
            return self.paused
        if is_suspended(self.obj["metadata"].get("annotations") or {}, release):
            return f"the bundle's annotation {SUSPEND_RELEASE_PREFIX}/{release}"
        specs = (one for one in self.bundle.spec.releases if one.name == release)
        return "its spec" if any(one.suspend for one in specs) else ""

    def key(self, release: str) -> ReleaseKey:
        """Under which an action on the release is known to the slots."""
        return (self.bundle.namespace, release)

    def is_ours(self, running: RunningAction, key: ReleaseKey) -> bool:
        """Whether the action under way was asked for by this bundle."""
        return key[0] == self.bundle.namespace and running.request.bundle == self.bundle.name

    def names(self) -> list[str]:
        """Desired releases in the spec's order, then installed ones of ours that it no longer names."""
        desired = [release.name for release in self.bundle.spec.releases]
        mine = self.bundle.name
        rest = [
            name for name, revisions in self.histories.items() if revisions and revisions[-1].bundle == mine
        ]
        # An install that has no record yet is known by its slot alone.
        rest += [key[1] for key, running in self.busy.items() if self.is_ours(running, key)]
        return desired + sorted(set(rest) - set(desired))


@dataclass
class PassResults:
    """The results of one pass over a bundle, which grow release by release.

    `again` holds the seconds after which a release is to be reconciled again, `waits_for` the releases of any
    bundle that something here waits for, `remaining` says that something of the bundle is still installed or
    being worked on. `drifts` says by release what others have changed, `kept` which claims it has left
    behind. `put_off` are those that something was to be begun with, which the next run does, as this one
    stops.
    """

    views: list[ReleaseView] = field(default_factory=list)
    again: list[float] = field(default_factory=list)
    waits_for: set[str] = field(default_factory=set)
    remaining: bool = False
    drifts: dict[str, Drift] = field(default_factory=dict)
    kept: dict[str, tuple[str, ...]] = field(default_factory=dict)
    put_off: set[str] = field(default_factory=set)
