"""Settings of a container: read once from the environment that the chart sets, never at import."""

from __future__ import annotations

import os
import re
import sysconfig
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from controller.domain.api.keys import ReleaseKey
from controller.domain.api.names import CONTAINERS, OPTIONAL_CONTAINERS
from controller.domain.health.workload_health import PROGRESS_DEADLINE
from controller.domain.releases.retry_time import RETRY_PAUSES
from controller.errors import ControllerError
from controller.reconcile.releases.parts import BundleSettings, DriftRates
from controller.reconcile.shared.leases.lease import LeaseTimes

MIB = 1024 * 1024
# The most memory of helmbundle itself, and the least memory for Helm beside it.
OWN_MEMORY, OWN_LEAST = 384 * MIB, 256 * MIB
# The place of these directories in a wheel (setup.py).
SHARE = Path("share") / "openstack-controller"


class SettingInvalid(ControllerError):
    """An environment variable holds something that cannot be used."""


@dataclass(frozen=True)
class MachineSettings:
    """MachineSets in `namespace` get mirrors in `cluster_namespace`, that of the Cluster `cluster`."""

    cluster: str
    namespace: str
    cluster_namespace: str
    template_owner: str
    virtual_addresses: tuple[str, ...]


@dataclass(frozen=True)
class Settings:
    """What a container needs to know beyond the cluster.

    `region_namespace`: where the osdpl, its bundles and releases live, and our Leases, which make us the only
    ones to write there. `pod_namespace` and `pod_name`: the holder in the Lease. `containers`: those that the
    chart deploys. `server_namespaces`: those beside the region's in which OpenStackServers are served;
    `machines`: which MachineSets are mirrored, None for none. `concurrency`: Helm actions at a time;
    `hook_waiters`: those that only wait for their hooks, beside these. `helm_binary`: the program of Helm
    that was built with us, None for the one beside Python. `helm_memory`: octets that one process of Helm may
    take, `helm_memory_together`: all of them, 0 for no limit. `charts_service_account`: the ServiceAccount in
    a release's namespace that Helm acts as, empty for our own. `qps`: requests per second to the API server
    of all processes of Helm together. `history`: revisions kept of a release. `retry_cap`: the longest pause
    between tries of an action that fails, in seconds. `uninstall_within`: how long the uninstall of a release
    that is in no spec any more may take with its hooks, in seconds. `chart_cache`: the directory for charts
    pulled from repositories. `resync`: seconds between two passes without an event. `own_release`: the
    release that the controller itself was installed as, in `pod_namespace`; empty where it is none.
    `pod_image`: the image that we run, for pods of our own, `pod_pull_secrets`: the Secrets of the region's
    namespace that it is pulled with there. `health_port`: liveness, readiness and metrics on this port, 0 for
    none, of `health_address`, empty for all addresses of the pod. `probe_seconds`: how often the region's own
    services are asked how they do, 0 for never. `progress_deadline`: seconds after which pods that do not get
    on are a failure, where the workload has no such deadline of its own. `stop_within`: how long what is
    under way may take to end after a signal, in seconds.

    `lease_duration`: seconds that a container's Lease keeps others out after its last renewal. `standby`:
    whether other pods of the same Deployment may hold it. `chart_pull`: seconds that one pull from a
    repository may take. `observe_every`: seconds between two observations of the hosts in OpenStack without
    an event.

    `drift_resync`: seconds between comparisons of all objects of a release with its manifest, `drift_qps`:
    objects compared per second, `drift_settle`: seconds after a release was deployed before that begins.
    """

    region_namespace: str
    pod_namespace: str
    pod_name: str
    containers: tuple[str, ...]
    charts_dir: Path
    values_dir: Path
    crds_dir: Path
    chart_cache: Path
    server_namespaces: tuple[str, ...]
    machines: MachineSettings | None
    pod_image: str
    pod_pull_secrets: tuple[str, ...]
    own_release: str
    health_port: int
    health_address: str
    probe_seconds: float
    progress_deadline: float
    stop_within: float
    log_level: str
    helm_binary: Path | None
    charts_service_account: str
    helm_memory: int
    helm_memory_together: int
    concurrency: int
    hook_waiters: int
    history: int
    retry_cap: float
    uninstall_within: int
    qps: float
    resync: float
    drift_resync: float
    drift_qps: float
    drift_settle: float
    lease_duration: int
    standby: bool
    chart_pull: float
    observe_every: float
    version: str


def read_settings(environment: Mapping[str, str] | None = None) -> Settings:
    """The settings; every variable has a default that suits a checkout.

    Raises SettingInvalid naming the variable.
    """
    env = os.environ if environment is None else environment
    namespace = env.get("REGION_NAMESPACE") or "openstack"
    shipped = shipped_files()
    return Settings(
        region_namespace=namespace,
        pod_namespace=env.get("POD_NAMESPACE") or namespace,
        pod_name=env.get("POD_NAME") or env.get("HOSTNAME") or "openstack-controller",
        containers=_containers(env.get("DEPLOYED_CONTAINERS", "")),
        charts_dir=Path(env.get("CHARTS_DIR") or shipped / "charts"),
        values_dir=Path(env.get("VALUES_DIR") or shipped / "values"),
        crds_dir=Path(env.get("CRDS_DIR") or shipped / "charts" / "openstack-controller" / "files" / "crds"),
        chart_cache=Path(env.get("CHART_CACHE_DIR") or Path(tempfile.gettempdir()) / "osctl-charts"),
        server_namespaces=_words(env.get("SERVER_NAMESPACES", "")),
        machines=_machines(env),
        pod_image=env.get("POD_IMAGE") or "openstack-controller",
        pod_pull_secrets=_words(env.get("POD_PULL_SECRETS", "")),
        own_release=env.get("OWN_RELEASE") or "",
        health_port=int(_number(env, "HEALTH_PORT", 0, 0, 65535)),
        health_address=env.get("HEALTH_ADDRESS") or "",
        probe_seconds=_number(env, "PROBE_SECONDS", 0, 0, 3600),
        progress_deadline=_number(env, "PROGRESS_DEADLINE_SECONDS", PROGRESS_DEADLINE, 60, 86400),
        stop_within=_number(env, "STOP_WITHIN_SECONDS", 20, 0, 86400),
        log_level=env.get("LOG_LEVEL") or "INFO",
        helm_binary=_absolute(env, "HELM_BINARY"),
        charts_service_account=_object_name(env, "CHARTS_SERVICE_ACCOUNT"),
        helm_memory=int(_number(env, "HELM_MEMORY_MIB", 512, 128, 65536)) * MIB,
        helm_memory_together=_together(env),
        concurrency=int(_number(env, "HELM_CONCURRENCY", 16, 1, 64)),
        hook_waiters=int(_number(env, "HELM_HOOK_WAITERS", 56, 0, 512)),
        history=int(_number(env, "HELM_HISTORY", BundleSettings.history, 2, 100)),
        retry_cap=_number(env, "RETRY_CAP_SECONDS", BundleSettings.retry_cap, RETRY_PAUSES.first, 86400),
        uninstall_within=int(_number(env, "UNINSTALL_SECONDS", BundleSettings.uninstall_within, 10, 86400)),
        qps=_number(env, "HELM_QPS", 200, 1, 10000),
        resync=_number(env, "RESYNC_SECONDS", 300, 5, 86400),
        drift_resync=_number(env, "DRIFT_RESYNC_SECONDS", DriftRates.resync, 60, 7 * 86400),
        drift_qps=_number(env, "DRIFT_QPS", DriftRates.qps, 1, 1000),
        drift_settle=_number(env, "DRIFT_SETTLE_SECONDS", DriftRates.settle, 0, 3600),
        lease_duration=int(_number(env, "LEASE_DURATION_SECONDS", LeaseTimes().duration, 15, 300)),
        standby=_number(env, "CONTROLLER_REPLICAS", 1, 1, 9) > 1,
        chart_pull=_number(env, "CHART_PULL_SECONDS", 120, 10, 3600),
        observe_every=_number(env, "OPENSTACK_OBSERVE_SECONDS", 10, 2, 600),
        version=env.get("CONTROLLER_VERSION") or version("openstack-controller"),
    )


def reserved_release(settings: Settings) -> ReleaseKey | None:
    """The controller's own installation, which none of its bundles may have; None where it is no release."""
    return (settings.pod_namespace, settings.own_release) if settings.own_release else None


def shipped_files() -> Path:
    """The directory that holds `charts` and `values`: the checkout, or where they were installed."""
    checkout = Path(__file__).resolve().parent.parent
    if (checkout / "charts" / "openstack-controller").is_dir():
        return checkout
    schemes = (sysconfig.get_default_scheme(), sysconfig.get_preferred_scheme("user"))
    places = [Path(sysconfig.get_path("data", scheme)) / SHARE for scheme in schemes]
    return next((place for place in places if place.is_dir()), places[0])


def _machines(env: Mapping[str, str]) -> MachineSettings | None:
    cluster = env.get("MACHINES_CLUSTER", "")
    if not cluster:
        return None
    owner = env.get("MACHINES_TEMPLATE_OWNER") or "MachineSet"
    if owner not in ("MachineSet", "Cluster"):
        raise SettingInvalid(f"MACHINES_TEMPLATE_OWNER must be MachineSet or Cluster, and is {owner!r}")
    return MachineSettings(
        cluster=cluster,
        namespace=env.get("MACHINES_NAMESPACE") or "openshift-machine-api",
        cluster_namespace=env.get("MACHINES_CLUSTER_NAMESPACE") or "openshift-cluster-api",
        template_owner=owner,
        virtual_addresses=_words(env.get("MACHINES_VIRTUAL_ADDRESSES", "")),
    )


def _words(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _containers(text: str) -> tuple[str, ...]:
    named = _words(text)
    for name in named:
        if name not in (known := (*CONTAINERS, *OPTIONAL_CONTAINERS)):
            raise SettingInvalid(f'DEPLOYED_CONTAINERS: "{name}" is not one of {", ".join(known)}')
    return named or CONTAINERS


def _together(env: Mapping[str, str]) -> int:
    """What the container may hold, without what we need ourselves."""
    container = int(_number(env, "MEMORY_LIMIT", 0, 0, 2**50))
    return max(OWN_LEAST, container - OWN_MEMORY) if container else 0


def _object_name(env: Mapping[str, str], name: str) -> str:
    text = env.get(name) or ""
    if text and not re.fullmatch(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?", text):
        raise SettingInvalid(f'{name}: "{text}" is not a name of a Kubernetes object')
    return text


def _absolute(env: Mapping[str, str], name: str) -> Path | None:
    text = env.get(name) or ""
    if text and not Path(text).is_absolute():
        raise SettingInvalid(f'{name}: "{text}" is not an absolute path')
    return Path(text) if text else None


def _number(env: Mapping[str, str], name: str, default: float, lowest: float, highest: float) -> float:
    text = env.get(name) or str(default)
    try:
        value = float(text)
    except ValueError:
        raise SettingInvalid(f'{name}: "{text}" is not a number') from None
    if not lowest <= value <= highest:
        raise SettingInvalid(f"{name}: {text} is not between {lowest:g} and {highest:g}")
    return value
