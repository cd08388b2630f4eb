"""The source of a region's charts: the image, or a repository that `spec.charts` names."""

from __future__ import annotations

from collections.abc import Callable

from containers.composition import Parts
from controller.adapters.charts.cache import ChartCache
from controller.adapters.charts.crash_guard import CrashGuard
from controller.adapters.charts.pull import PulledCharts
from controller.adapters.charts.repository_access import Proxy
from controller.adapters.charts.source import ChartStore
from controller.adapters.system.values_files import load_builds
from controller.domain.api.region_spec import parse_region_spec
from controller.operator import Reconcile
from controller.ports.kubernetes import OSDPL
from controller.reconcile.shared.managed_region import managed_region
from controller.reconcile.shared.secret_values import SecretValues
from controller.settings import shipped_files

# Seconds that a pass waits for a pull: a chart of 100 kB is there within one.
PATIENCE = 5.0


# Seconds between checks of the files of charts, which no event reports. A pass costs a few milliseconds.
CHECK_EVERY = 20.0


def check_charts(charts: ChartStore, changed: Callable[[], None]) -> Reconcile:
    """Calls `changed` when a chart in a directory was edited or replaced."""

    def check(*_: str) -> float:
        if charts.changed():
            changed()
        return CHECK_EVERY

    return check


def chart_store(parts: Parts) -> ChartStore:
    """Charts of the image, and pulled ones kept in the cache that the containers of the pod share."""
    kube, namespace = parts.kube, parts.settings.region_namespace

    def read_proxy() -> Proxy:
        name = managed_region(kube, namespace)
        osdpl = kube.get(OSDPL, name, namespace) if name else None
        proxy = parse_region_spec((osdpl or {}).get("spec")).proxy
        if not proxy.given:
            return Proxy.of_environment()
        return Proxy(proxy.http, proxy.https, proxy.no_proxy)

    cache = ChartCache(parts.settings.chart_cache)
    pulled = PulledCharts(
        cache,
        parts.clock,
        parts.randomness,
        read_secret=lambda name, key: SecretValues(kube, namespace).lookup(name, key),
        read_proxy=read_proxy,
        learn=parts.log_secrets.learn,
        pull_seconds=parts.settings.chart_pull,
        wait_seconds=PATIENCE,
    )
    return ChartStore(
        parts.settings.charts_dir,
        pulled=pulled,
        cache=cache,
        marks=CrashGuard(parts.settings.chart_cache / "reading"),
        fixed=parts.settings.charts_dir == shipped_files() / "charts",
        builds=load_builds(parts.settings.values_dir),
    )
