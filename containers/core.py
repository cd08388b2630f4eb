"""core: from the OpenStackDeployment to HelmBundles, and the summary of their state."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from containers.charts import CHECK_EVERY, chart_store, check_charts
from containers.composition import Parts, run
from containers.keys import owner_key, restore_keys
from controller.adapters.accounts.broker_cluster import ManagedBrokers
from controller.adapters.kubernetes.watches import Watch
from controller.adapters.system.crd_files import load_schema
from controller.adapters.system.randomness import SystemRandomness
from controller.adapters.system.values_files import load_library
from controller.domain.region.facts import ANSWERED_BY
from controller.domain.region.spec_changes import pending_changes
from controller.domain.region.upgrade.upgrade_state import is_between_versions
from controller.operator import Container
from controller.ports.kubernetes import HELMBUNDLE, OSDPL, RESTORE, KubeObject
from controller.reconcile.backups.region_backups import BackupImage, BackupReport, RegionBackups
from controller.reconcile.region.deployment import DeploymentReconciler
from controller.reconcile.region.observation import RegionObservation
from controller.reconcile.region.other_containers import OtherContainers, SilenceTimes
from controller.reconcile.region.parts import OwnPods, RegionPorts, RegionSettings
from controller.reconcile.restores.region_restores import RegionRestores
from controller.reconcile.shared.known_regions import KnownRegions
from controller.reconcile.shared.status_metrics import measured_region, region_series
from controller.render.chart_builds import ChartDefaults
from controller.render.parsed_deployment import ParsedDeployment
from controller.render.region import Region, render_region
from controller.render.rendered_region import RenderedRegion
from controller.render.reserved_release import refuse_reserved
from controller.settings import Settings, reserved_release


def main() -> None:
    """Entry point of the `osctl-core` command."""
    run("core", compose)


def compose(parts: Parts) -> Container:
    """Wires the reconciler of the region to the API server and to the files of the image."""
    settings = parts.settings
    schema = load_schema(settings.crds_dir, OSDPL.plural)
    library = load_library(settings.values_dir)
    charts, parsed = chart_store(parts), ParsedDeployment(schema)

    def render(osdpl: Mapping[str, Any], charts: ChartDefaults) -> Region:
        region = render_region(parsed.of(osdpl), library, charts, partial=True)
        refuse_reserved(region, reserved_release(settings))
        return region

    rendered = RenderedRegion(render, charts=charts, clock=parts.clock)
    regions, measure = KnownRegions(), measured_region(parts.metrics, region_series)

    def requeue_regions() -> None:
        for key in regions.served():
            parts.queue.add(("region", *key))

    def region_seen(event: str | None, obj: Mapping[str, Any]) -> None:
        measure(event, obj)
        for key in regions.feed(event, obj):
            parts.queue.add(("region", *key))

    others = OtherContainers(
        parts.kube,
        parts.clock,
        containers=(name for name in settings.containers if name in ANSWERED_BY),
        namespace=settings.region_namespace,
        changed=requeue_regions,
        times=SilenceTimes(settings.lease_duration),
    )
    reconciler = DeploymentReconciler(
        RegionPorts(parts.kube, parts.clock, parts.events, charts, ManagedBrokers()),
        _region_settings(settings),
        render=rendered.of,
        silence=others.silence,
        pending=lambda osdpl: pending_changes(osdpl, schema, parsed.of),
        backups=_backups(parts),
    )

    parts.queue.add(("charts", settings.region_namespace, "directories"), after=CHECK_EVERY)
    parts.queue.add(("containers", settings.region_namespace, "leases"))
    return Container(
        name="core",
        watches=(
            Watch(OSDPL, seen=region_seen),
            Watch(HELMBUNDLE, owner_key),
            # It holds the region, or lets it go.
            Watch(RESTORE, restore_keys, seen=lambda event, obj: requeue_regions()),
        ),
        reconcilers={
            "region": lambda namespace, name: reconciler.reconcile((namespace, name)),
            "restore": _restores(parts),
            "charts": check_charts(charts, requeue_regions),
            "containers": lambda namespace, name: others.observe(),
        },
        queue=parts.queue,
    )


def _region_settings(settings: Settings) -> RegionSettings:
    return RegionSettings(
        containers=settings.containers,
        version=settings.version,
        resync=settings.resync,
        own_pods=OwnPods(settings.pod_image, settings.pod_pull_secrets),
    )


def _backups(parts: Parts) -> Callable[[KubeObject, RegionObservation], BackupReport]:
    image = BackupImage(parts.settings.pod_image, parts.settings.pod_pull_secrets)
    octets = SystemRandomness().octets
    backups = RegionBackups(parts.kube, parts.clock, parts.events, image=image, octets=octets)
    return lambda osdpl, found: backups.follow(
        osdpl,
        paused=found.spec.paused,
        held=found.restore is not None or is_between_versions(osdpl.get("status") or {}),
    )


def _restores(parts: Parts) -> Callable[[str, str], float | None]:
    restores = RegionRestores(parts.kube, parts.clock, parts.events)
    return lambda namespace, name: restores.reconcile((namespace, name))


if __name__ == "__main__":
    main()
