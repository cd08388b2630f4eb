"""What the reconcilers need of Helm: its actions, its records, and the charts, as protocols.

Chart values and manifests are raw mappings; everything else that crosses a port is a frozen dataclass.
Every call has a deadline of its own and raises errors of `controller.errors` only.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from controller.domain.releases.drift.difference import ObjectId
from controller.domain.releases.kept_claims import VolumeId
from controller.domain.releases.situation import RevisionRecord
from controller.domain.values.chart_values import Values
from controller.ports.kubernetes import KubeObject


@dataclass(frozen=True)
class Revision(RevisionRecord):
    """One revision in a release's history.

    `spec_digest`, `chart_version` and `bundle` come from labels of the record, empty if it has none.
    `modified` and `created` are in seconds since the epoch: the first by the clock of whoever has written it,
    the second 0.0 where only the record itself would tell.
    `origin` is the number in the revision label, 0 without one. `forced` and `asked` are labels of
    `controller.domain.releases.requests`.

    `uid` is the record's: one that is deleted and put back is another one.
    `handed_over`: an operator has given the release, of which this is a record, to the bundles here.
    """

    spec_digest: str = ""
    chart_version: str = ""
    bundle: str = ""
    origin: int = 0
    forced: str = ""
    asked: str = ""
    modified: float = 0.0
    created: float = 0.0
    uid: str = ""
    handed_over: bool = False


@dataclass(frozen=True)
class HookRun:
    """The last run of one hook: `phase` is Helm's (`Succeeded`, `Failed`, `Running`, `Unknown`)."""

    name: str
    kind: str
    events: tuple[str, ...]
    weight: int
    phase: str


@dataclass(frozen=True)
class RemovalState:
    """What a release's newest record says of its removal. `status` is Helm's word.

    `runs_hooks`: it has hooks of its deletion.
    """

    status: str
    runs_hooks: bool = False


@dataclass(frozen=True)
class RenderedRelease:
    """What Helm would send to the cluster. `manifest` and `hooks` are parsed Kubernetes objects.

    `text` is all of it as the chart wrote it, hooks included; empty for what is read from a record. It may
    hold secrets.
    """

    manifest: tuple[KubeObject, ...]
    hooks: tuple[KubeObject, ...]
    text: str = field(default="", repr=False)


@dataclass(frozen=True)
class HelmRequest:
    """One install or upgrade. `values` are resolved: they may hold secrets and are never logged.

    `labels` are put on the release's record (at most 63 characters each). `timeout` in seconds. `revision`:
    the one that an upgrade makes, 0 for an install; templates may ask for it, and for which of the two it is.
    """

    release: str
    namespace: str
    chart_path: str
    values: Values
    labels: Mapping[str, str] = field(default_factory=dict)
    timeout: int = 1800
    max_history: int = 5
    description: str = ""
    revision: int = 0


@dataclass(frozen=True)
class UninstallRequest:
    """One uninstall. Without `hooks`, those of the deletion do not run.

    With `keep_history` the records stay, marked `uninstalled`, until an uninstall without it. `timeout` in
    seconds.
    """

    release: str
    namespace: str
    timeout: int = 600
    hooks: bool = True
    keep_history: bool = False


@dataclass(frozen=True)
class RollbackRequest:
    """One rollback to the revision `version`. `timeout` in seconds."""

    release: str
    namespace: str
    version: int
    timeout: int = 1800


class Cancellation(Protocol):
    """A token that ends a Helm action early, from any thread.

    `overdue` says how the action has failed where it is ended for that (`not done within 60 s`); it is empty
    where what the action serves is not asked for any more. The first call counts.
    """

    def cancel(self, overdue: str = "") -> None: ...

    @property
    def overdue(self) -> str: ...

    @property
    def cancelled(self) -> bool: ...


class HelmClient(Protocol):
    """Helm's actions on one cluster. Safe from several threads, one action per release at a time.

    Never waits for workloads; a call lasts as long as the release's hooks, and when it returns nothing of the
    action goes on. What a chart's templates take is bounded. Raises HelmFailed, HelmCancelled,
    ReleaseMissing, ChartInvalid and ObjectsTaken (then nothing was changed, not even the history), and
    ApiUnavailable.
    """

    def new_cancellation(self) -> Cancellation: ...

    def install(self, request: HelmRequest, cancellation: Cancellation | None = None) -> Revision:
        """Makes the first revision; also again where all revisions so far have failed.

        Neither this nor an upgrade takes an object that lacks Helm's marks of the release.
        """
        ...

    def upgrade(self, request: HelmRequest, cancellation: Cancellation | None = None) -> Revision:
        """Replaces all values of the release and takes over fields that others edited by hand."""
        ...

    def uninstall(self, request: UninstallRequest, cancellation: Cancellation | None = None) -> None:
        """Succeeds when the release is already gone. Objects with resource-policy keep stay.

        If a hook fails that runs after the deletion of the objects, the records are still deleted or marked.
        """
        ...

    def rollback(self, request: RollbackRequest, cancellation: Cancellation | None = None) -> None:
        """Makes a new revision of what that one was. Helm gives it the labels of that one, and leaves it
        pending when a hook fails."""
        ...

    def history(self, release: str, namespace: str) -> tuple[Revision, ...]:
        """All revisions kept, oldest first; empty when there is no such release."""
        ...

    def hooks(self, release: str, namespace: str) -> tuple[HookRun, ...]:
        """Hooks of the newest revision with their last run."""
        ...

    def render(self, request: HelmRequest, *, server: bool = False) -> RenderedRelease:
        """The objects this request would make; with `server`, with the API server's capabilities."""
        ...


class ReleaseRecords(Protocol):
    """Helm's own storage, read and repaired without Helm."""

    def observe(
        self, namespace: str, *, bundle: str = "", releases: Collection[str] = ()
    ) -> Mapping[str, tuple[Revision, ...]]:
        """History of releases in the namespace, oldest first, from metadata only.

        Of all of them, or of those that `bundle` has ever made a kept revision of and those named in
        `releases`; always whole, and more may come than was asked for.
        """
        ...

    def mark_failed(self, release: str, namespace: str, version: int, reason: str) -> bool:
        """Turns a `pending-*` or `uninstalling` record of a dead writer into `failed`.

        Conditional on the record being as it was read; False when it has moved on meanwhile.
        """
        ...

    def mark_uninstalling(self, release: str, namespace: str, version: int) -> None:
        """Notes in the record that we are taking the release apart, before anything of it is.

        One that Helm has marked `uninstalled` although a hook after that failed is to be taken apart
        again, so that the hook runs again. Raises Conflict when the record changed meanwhile,
        ReleaseMissing when it is gone.
        """
        ...

    def relabel(self, release: str, namespace: str, version: int, labels: Mapping[str, str]) -> None:
        """Sets labels of that revision's record. Raises ReleaseMissing."""
        ...

    def manifest(self, release: str, namespace: str, version: int) -> RenderedRelease:
        """What that revision put into the cluster. Raises ReleaseMissing."""
        ...

    def given_values(self, release: str, namespace: str, version: int) -> Values:
        """The values that revision was made with, beside the chart's own. They hold secrets.

        Raises ReleaseMissing.
        """
        ...

    def effective_values(self, release: str, namespace: str, version: int) -> Values:
        """All values that revision was made with: those given over the chart's own. They hold secrets.

        Raises ReleaseMissing.
        """
        ...

    def required_objects(
        self, release: str, namespace: str, version: int, *, names: Collection[str] | None = None
    ) -> tuple[KubeObject, ...]:
        """The objects that must be there as long as that revision is the deployed one, as it sends them.

        These are the objects of the manifest, and Jobs of hooks that this revision ran and should keep,
        because new pods wait for them. `names` limits the result to objects with these names, which is
        cheaper. Raises ReleaseMissing.
        """
        ...

    def claims(self, release: str, namespace: str) -> tuple[str, ...]:
        """Names of the PersistentVolumeClaims of the release that exist now, sorted.

        Those of the newest revision's manifest and hooks, and those that its StatefulSets made.
        """
        ...

    def removal(self, release: str, namespace: str) -> RemovalState:
        """How far the release's removal is. Raises ReleaseMissing."""
        ...

    def delete_hooks(
        self, release: str, namespace: str, *, of_the_uninstall: bool = False
    ) -> tuple[str, ...]:
        """Deletes what hooks have made, and gives it as `Job/name`: an uninstall of Helm leaves that.

        Call this before the uninstall, because afterwards no record names the hooks. With `of_the_uninstall`,
        only hooks of the uninstall itself are deleted. Claims and objects to keep stay. An object that no
        hook made also stays, even if a hook has its name. Idempotent.
        """
        ...

    def delete_claims(self, release: str, namespace: str) -> tuple[str, ...]:
        """Asks for the deletion of the release's claims, and gives their names.

        To be called before the uninstall, whose end forgets which they are: claims end with the pods
        that use them. StatefulSets, which would make them again, are deleted first. Idempotent. Raises
        Conflict where something was made again under a name meanwhile, and leaves that.
        """
        ...

    def leave_out(self, release: str, namespace: str, version: int, objects: Collection[ObjectId]) -> None:
        """Takes these objects out of the manifest in that revision's record: Helm does not delete them then.

        Idempotent. Does nothing where the record is gone.
        """
        ...

    def hook_objects(self, release: str, namespace: str) -> Collection[ObjectId]:
        """What the hooks of all revisions kept have made, or were about to make when they were cut off."""
        ...

    def keep_volumes(self, release: str, namespace: str, version: int, volumes: Collection[VolumeId]) -> None:
        """Notes in that revision's record that Helm is to leave these volumes. Idempotent.

        Upstream charts do not ask for that. Does nothing where the record is gone.
        """
        ...
