"""What the reconciler of bundles is given: its ports, its settings, and whom it notifies."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from controller.domain.api.keys import BundleKey, ReleaseKey
from controller.domain.releases.retry_time import RETRY_PAUSES
from controller.domain.values.option_files import OptionFiles
from controller.ports.charts import ChartSource
from controller.ports.helm import HelmClient, ReleaseRecords
from controller.ports.kubernetes import Events, Kube
from controller.ports.metrics import Metrics, NoMetrics
from controller.ports.system import Clock
from controller.reconcile.releases.action_deadline import UNINSTALL_SECONDS


@dataclass(frozen=True)
class ReleasePorts:
    """The world as releases need it. `digest_key` gives the installation's key for published digests,
    and `option_files` are those that charts write.

    `kube` has the controller's own rights, `as_charts` those of the account that Helm acts as. What a chart
    has chosen, by its objects or by Helm's records of them, is read, sent and deleted by the latter alone: a
    chart would have our rights otherwise.
    """

    kube: Kube
    as_charts: Kube
    helm: HelmClient
    records: ReleaseRecords
    charts: ChartSource
    clock: Clock
    events: Events
    digest_key: Callable[[], bytes]
    option_files: OptionFiles
    measures: Metrics = field(default_factory=NoMetrics)


@dataclass(frozen=True)
class BundleSettings:
    """`resync`: seconds until a bundle is looked at again though nothing was announced. `history`: revisions
    that Helm keeps of a release. `retry_cap`: the longest pause between tries of what fails, in seconds.
    `uninstall_within`: how long the uninstall of a release that is in no spec any more may take, in seconds.
    `reserved` is the release that the controller itself was installed as, None where that is not known."""

    resync: float
    history: int = 5
    retry_cap: float = RETRY_PAUSES.cap
    uninstall_within: int = UNINSTALL_SECONDS
    reserved: ReleaseKey | None = None


@dataclass(frozen=True)
class DriftRates:
    """`qps`: objects compared per second, `resync`: seconds from one round over a release to the next,
    `settle`: seconds that a release has been deployed before its objects are looked at."""

    qps: float = 20.0
    resync: float = 3600.0
    settle: float = 10.0


@dataclass(frozen=True)
class BundleListeners:
    """Whom the reconciler of bundles notifies of what.

    `requeue(key)` requests a pass over another bundle, which may wait for an ended action. `note_end(key)`
    requests a pass over a bundle whose action has ended, also in a container that stops: no status has the
    result yet. `learn(texts)` gives the log which secrets must not be in it.
    """

    requeue: Callable[[BundleKey], None]
    note_end: Callable[[BundleKey], None]
    learn: Callable[[Iterable[str]], None]
