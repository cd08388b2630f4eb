"""helmbundle: keeps the Helm releases of every HelmBundle as its spec says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from containers.charts import CHECK_EVERY, chart_store, check_charts
from containers.composition import Parts, run
from containers.helm import helm_client
from containers.keys import owner_key, region_key
from containers.region_events import RegionEvents
from controller.adapters.charts.source import ChartStore
from controller.adapters.helm.impersonation import service_account_user
from controller.adapters.helm.records.release_records import SecretRecords
from controller.adapters.kubernetes.client import PykubeClient
from controller.adapters.kubernetes.connection import Connection
from controller.adapters.kubernetes.metadata_watch import MetadataWatches
from controller.adapters.kubernetes.watches import Watch
from controller.adapters.system.service_folders import read_entries
from controller.domain.releases.hooks import parse_hook_job
from controller.operator import Container
from controller.ports.kubernetes import HELMBUNDLE, JOB, OSDPL, Kube
from controller.reconcile.releases.action_slots import ActionSlots
from controller.reconcile.releases.bundle import BundleReconciler
from controller.reconcile.releases.children_status import ChildrenReporter
from controller.reconcile.releases.drift.watch import DriftWatch
from controller.reconcile.releases.events.bundle_event_filter import BundleEventFilter
from controller.reconcile.releases.events.secret_event_filter import SecretEventFilter
from controller.reconcile.releases.hooks.progress import HookEventFilter, HookFollower
from controller.reconcile.releases.parts import BundleListeners, BundleSettings, DriftRates, ReleasePorts
from controller.reconcile.shared.installation_key import InstallationKey
from controller.reconcile.shared.object_store import ObjectStore
from controller.reconcile.shared.status_metrics import measured_bundle
from controller.settings import reserved_release

USER_AGENT = "openstack-controller/helmbundle"


def main() -> None:
    """Entry point of the `osctl-helmbundle` command."""
    run("helmbundle", compose)


def compose(parts: Parts) -> Container:
    """Wires the reconciler of bundles to Helm, its records and the charts of the image."""
    settings, queue = parts.settings, parts.queue
    connection = _connection_as_charts(parts)
    as_charts = PykubeClient(connection, user_agent=USER_AGENT)
    records = SecretRecords(as_charts)
    jobs = ObjectStore(parts.kube, parts.clock, settings.region_namespace, {JOB: parse_hook_job})
    slots = ActionSlots(settings.concurrency, parts.metrics, waiters=settings.hook_waiters)
    hook_events = HookEventFilter(
        jobs, slots, lambda bundle, after: queue.add(("bundle", *bundle), after=after)
    )

    charts = chart_store(parts)
    events = _Events(parts)
    drift = _drift_watch(parts, connection, as_charts, records)
    bundles = BundleReconciler(
        _release_ports(parts, as_charts, records, charts),
        BundleSettings(
            settings.resync,
            settings.history,
            settings.retry_cap,
            settings.uninstall_within,
            reserved=reserved_release(settings),
        ),
        _listeners(parts),
        slots=slots,
        hooks=HookFollower(parts.kube, records, parts.clock, jobs),
        drift=drift,
    )

    queue.add(("charts", settings.region_namespace, "directories"), after=CHECK_EVERY)
    children = ChildrenReporter(parts.kube, parts.clock)
    return Container(
        name="helmbundle",
        watches=(
            Watch(HELMBUNDLE, owner_key, events.bundle),
            Watch(OSDPL, seen=events.region),
            Watch(JOB, seen=hook_events.seen),
        ),
        reconcilers={
            "bundle": lambda namespace, name: bundles.reconcile((namespace, name)),
            "charts": check_charts(charts, events.requeue_bundles),
            "drift": lambda *_: drift.reconcile(),
            "region": lambda namespace, name: children.reconcile((namespace, name)),
        },
        queue=queue,
        workers=4,
        background=(slots,),
    )


class _Events:
    """What the watches of bundles and regions bring, and which bundles get a pass for it."""

    def __init__(self, parts: Parts) -> None:
        self._queue = parts.queue
        self._measured = measured_bundle(parts.metrics)
        self._changes = BundleEventFilter()
        self._secrets = SecretEventFilter()
        self._regions = RegionEvents(parts.queue, region_key)

    def bundle(self, event: str | None, obj: Mapping[str, Any]) -> None:
        self._measured(event, obj)
        self._secrets.feed_bundle(event, obj)
        if self._changes.concerns_reconcile(event, obj):
            self._queue.add(("bundle", str(obj["metadata"]["namespace"]), str(obj["metadata"]["name"])))

    def region(self, event: str | None, obj: Mapping[str, Any]) -> None:
        self._regions.seen(event, obj)
        for bundle in self._secrets.changed_bundles(event, obj):
            self._queue.add(("bundle", *bundle))

    def requeue_bundles(self) -> None:
        for bundle in self._changes.known():
            self._queue.add(("bundle", *bundle))


def _connection_as_charts(parts: Parts) -> Connection:
    """A client that acts as the charts' account in the region's namespace, as Helm does."""
    settings = parts.settings
    if not settings.charts_service_account:
        return parts.connection
    user = service_account_user(settings.region_namespace, settings.charts_service_account)
    return replace(parts.connection, acts_as=user)


def _release_ports(parts: Parts, as_charts: Kube, records: SecretRecords, charts: ChartStore) -> ReleasePorts:
    key = InstallationKey(parts.kube, parts.randomness, parts.settings.region_namespace)
    return ReleasePorts(
        kube=parts.kube,
        as_charts=as_charts,
        helm=helm_client(parts.settings, as_charts, parts.connection.kubeconfig),
        records=records,
        charts=charts,
        clock=parts.clock,
        events=parts.events,
        digest_key=key.read,
        option_files=read_entries(parts.settings.values_dir).option_files,
        measures=parts.metrics,
    )


def _drift_watch(parts: Parts, connection: Connection, as_charts: Kube, records: SecretRecords) -> DriftWatch:
    """Follows the objects of deployed releases by watches of their metadata alone."""
    settings, queue = parts.settings, parts.queue
    return DriftWatch(
        kube=as_charts,
        records=records,
        watch=MetadataWatches(connection, parts.randomness, user_agent=USER_AGENT),
        clock=parts.clock,
        measures=parts.metrics,
        reconcile_after=lambda after: queue.add(("drift", settings.region_namespace, "objects"), after),
        changed_bundle=lambda bundle: queue.add(("bundle", *bundle)),
        pace=DriftRates(settings.drift_qps, settings.drift_resync, settings.drift_settle),
    )


def _listeners(parts: Parts) -> BundleListeners:
    queue = parts.queue
    return BundleListeners(
        requeue=lambda bundle: queue.add(("bundle", *bundle)),
        note_end=lambda bundle: queue.add(("bundle", *bundle), last=True),
        learn=parts.log_secrets.learn,
    )


if __name__ == "__main__":
    main()
