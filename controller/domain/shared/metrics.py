"""Every metric there is: its name, what it tells and its labels. docs/metrics.md shows the same. Pure.

Names and units follow Prometheus' conventions (prometheus.io/docs/practices/naming): base units, counters
end in `_total`, moments are seconds since the epoch. A label holds what is bounded by the region's size:
releases, components, nodes, Secrets; never a message or an object's uid. `region` is the name of the
OpenStackDeployment. None is called as Prometheus itself calls a label of a target (namespace, pod,
container, job, instance …): it would be renamed.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Counter:
    """Something that happened so many times since the container started."""

    name: str
    help: str
    labels: tuple[str, ...] = ()


@dataclass(frozen=True)
class Gauge:
    """How something is now."""

    name: str
    help: str
    labels: tuple[str, ...] = ()


@dataclass(frozen=True)
class Histogram:
    """How long something took, in seconds. `buckets` are upper bounds, without the infinite one."""

    name: str
    help: str
    labels: tuple[str, ...]
    buckets: tuple[float, ...]


Metric = Counter | Gauge | Histogram

# The maximum number of series of one metric, for any names: it suffices for four states of each of 500
# components. Later series are dropped and counted, not joined into one series, whose value would be true for
# none.
SERIES_LIMIT = 3000
# Of every series, also of those of the process: the namespace of the region that the controller serves, and
# the region's name, once there is a region.
NAMESPACE_LABEL, REGION_LABEL = "region_namespace", "region"
SHARED_LABELS = (NAMESPACE_LABEL, REGION_LABEL)
# Kubernetes' own names are at most so long.
LABEL_LIMIT = 253

# A pass ends in milliseconds or waits for the API server; an action of Helm waits for its hooks.
RECONCILE_BUCKETS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 120.0)
HELM_BUCKETS = (1.0, 3.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1800.0)

# every container
BUILD_INFO = Gauge(
    "osctl_build_info", "Always 1; the labels say what runs.", ("process", "version", "python")
)
RECONCILE_DURATION = Histogram(
    "osctl_reconcile_duration_seconds",
    "Duration of one reconciliation of an object, by kind and result (success, error).",
    ("kind", "result"),
    RECONCILE_BUCKETS,
)
QUEUE_KEYS = Gauge("osctl_queue_keys", "Objects that wait for a free worker.")
QUEUE_OLDEST = Gauge(
    "osctl_queue_oldest_seconds",
    "Longest time in seconds that an object has waited in the queue, or that a reconciliation has "
    "run; 0 without the Lease.",
)
QUEUE_RETRIES = Counter(
    "osctl_queue_retries_total", "Failed reconciliations, which the controller retries.", ("kind",)
)
LEASE_HELD = Gauge("osctl_lease_held", "1 while this container holds its Lease and may write.")
WATCH_SILENCE = Gauge(
    "osctl_watch_silence_seconds",
    "Seconds since the watch of a resource last gave a sign of life: an object, a list or a new request.",
    ("resource",),
)
METRICS_DROPPED = Counter(
    "osctl_metrics_dropped_total",
    "Values of a metric that were not reported, because the metric had reached its limit of series.",
    ("name",),
)

# core
CONDITION_STATUS = Gauge(
    "osctl_condition_status",
    "1 for the status (True, False, Unknown) that a condition of the region has, 0 for the others.",
    ("region", "type", "status"),
)
CONDITION_SINCE = Gauge(
    "osctl_condition_last_transition_timestamp_seconds",
    "When a condition of the region last changed its status.",
    ("region", "type"),
)
REGION_INFO = Gauge(
    "osctl_region_info",
    "Always 1; the labels say in which state the region is and which OpenStack it runs.",
    ("region", "state", "openstack_version"),
)
REGION_RELEASES = Gauge("osctl_region_releases", "Releases that the region asks for.", ("region",))
REGION_RELEASES_DEPLOYED = Gauge(
    "osctl_region_releases_deployed", "Releases deployed as the spec describes.", ("region",)
)
UPGRADE_INFO = Gauge(
    "osctl_upgrade_info",
    "Always 1; the labels have the phase of the current upgrade, and the reason of the condition Upgrading.",
    ("region", "source", "target", "phase", "reason"),
)
UPGRADE_STEPS = Gauge("osctl_upgrade_steps", "Steps of the current upgrade.", ("region",))
UPGRADE_STEPS_DONE = Gauge(
    "osctl_upgrade_steps_done", "Steps of the current upgrade that are done.", ("region",)
)
UPGRADE_STEP_START = Gauge(
    "osctl_upgrade_step_start_timestamp_seconds",
    "Start time of the current step of an upgrade.",
    ("region", "step"),
)
BACKUP_LAST_GOOD = Gauge(
    "osctl_backup_last_good_timestamp_seconds", "When the last good backup of the region ended.", ("region",)
)
BACKUP_DUE = Gauge(
    "osctl_backup_due_timestamp_seconds",
    "Time by which the next backup of the region must succeed.",
    ("region",),
)
BACKUP_SIZE = Gauge(
    "osctl_backup_size_bytes", "Size of the last good backup of the region, before compression.", ("region",)
)
BACKUP_RESTORABLE = Gauge(
    "osctl_backup_restorable",
    "1 if the last drill has restored its backup, 0 if not; absent before the first drill.",
    ("region",),
)

# helmbundle
HELM_DURATION = Histogram(
    "osctl_helm_action_duration_seconds",
    "Duration of an action on a release (Install, Upgrade, Uninstall, Unlock, Correct …), its hooks "
    "included, by result (success, error).",
    ("release", "action", "result"),
    HELM_BUCKETS,
)
HELM_RETRIES = Counter("osctl_helm_retries_total", "Retries of failed actions on a release.", ("release",))
DIGEST_SKIPS = Counter(
    "osctl_release_digest_skips_total",
    "Reconciliations of a release that needed no action, because chart and values are already deployed.",
    ("release",),
)
DRIFT_FOUND = Counter(
    "osctl_release_drift_found_total",
    "Objects of a release found to differ from its manifest, or missing.",
    ("release",),
)
DRIFT_OBJECTS = Gauge(
    "osctl_release_drift_objects",
    "Objects of a release that differed from its manifest at the last comparison, at most 16.",
    ("bundle", "release"),
)
RELEASE_SIZE = Gauge(
    "osctl_release_size_bytes",
    "Size of the record of a release's newest revision, 0 while unknown; Kubernetes refuses more than 1 MiB.",
    ("bundle", "release"),
)
RELEASE_DEPLOYED = Gauge(
    "osctl_release_deployed",
    "1 while a release is deployed as its bundle describes.",
    ("bundle", "release"),
)
RELEASE_FAILURES = Gauge(
    "osctl_release_failures", "Attempts on a release that failed in a row.", ("bundle", "release")
)
# No counter: what it counts is the end of the very process that would count it, and a counter that is born
# with 1 in each process has never increased.
RELEASE_UNLOCKS = Gauge(
    "osctl_release_unlocks",
    "Interrupted actions on a release, with a revision marked as failed, since its first install.",
    ("bundle", "release"),
)

# health
COMPONENT_STATUS = Gauge(
    "osctl_component_status",
    "1 for the status (Ready, Progressing, Unhealthy, Unknown) that a component has, 0 for the others.",
    ("region", "application", "component", "status"),
)
COMPONENT_PODS_READY = Gauge(
    "osctl_component_pods_ready",
    "Pods of a component that are ready.",
    ("region", "application", "component"),
)
COMPONENT_PODS_DESIRED = Gauge(
    "osctl_component_pods_desired",
    "Pods that a component should have.",
    ("region", "application", "component"),
)
PROBE_SUCCESS = Gauge(
    "osctl_probe_success", "1 if the last probe of a service in the region succeeded.", ("probe",)
)
PROBE_DURATION = Gauge(
    "osctl_probe_duration_seconds", "Duration of the last probe of a service in the region.", ("probe",)
)

# secrets
CERTIFICATE_EXPIRY = Gauge(
    "osctl_certificate_expiry_timestamp_seconds",
    "When a certificate of the region expires.",
    ("region", "secret"),
)
SECRET_ROTATED = Gauge(
    "osctl_secret_rotated_timestamp_seconds",
    "When the contents of a Secret of the region were made or last changed.",
    ("region", "secret"),
)
SECRET_ROTATION_START = Gauge(
    "osctl_secret_rotation_start_timestamp_seconds",
    "Start time of the current rotation of a Secret.",
    ("region", "secret"),
)
SECRET_NEXT_ROTATION = Gauge(
    "osctl_secret_next_rotation_timestamp_seconds",
    "When a Secret of the region is rotated next by the schedule of its spec.",
    ("region", "secret"),
)

# node
NODE_READY = Gauge(
    "osctl_node_ready", "1 while a node with a role of the region is ready.", ("region", "node")
)
NODE_HOST = Gauge(
    "osctl_node_host",
    "Always 1; the labels have a node with a compute host, and the reason of its state in one word.",
    ("region", "node", "reason"),
)
NODE_DRAIN_LOCKED = Gauge(
    "osctl_node_drain_locked", "1 while a drain lock blocks the drain of a node.", ("region", "node")
)
NODES_CIRCUIT_BREAKER_OPEN = Gauge(
    "osctl_nodes_circuit_breaker_open",
    "1 while more compute hosts are unhealthy than maxUnhealthy allows: nothing is done automatically.",
    ("region",),
)
COMPUTE_MAINTENANCE = Gauge(
    "osctl_compute_maintenance",
    "Always 1; the labels have the node, mode and phase of a ComputeMaintenance. Dry runs are left out.",
    ("maintenance", "node", "mode", "phase"),
)
COMPUTE_MAINTENANCE_START = Gauge(
    "osctl_compute_maintenance_start_timestamp_seconds",
    "When the node of a ComputeMaintenance was taken out of service.",
    ("maintenance", "node"),
)
COMPUTE_MAINTENANCE_LEFT = Gauge(
    "osctl_compute_maintenance_servers_left",
    "Servers that a ComputeMaintenance must still move.",
    ("maintenance", "node"),
)

# servers
SERVER = Gauge(
    "osctl_server",
    "Always 1; the labels have an OpenStackServer as NAMESPACE/NAME, its status in Nova, and the "
    "reason of its state.",
    ("server", "state", "reason"),
)

EVERY_CONTAINER: tuple[Metric, ...] = (
    BUILD_INFO,
    RECONCILE_DURATION,
    QUEUE_KEYS,
    QUEUE_OLDEST,
    QUEUE_RETRIES,
    LEASE_HELD,
    WATCH_SILENCE,
    METRICS_DROPPED,
)
BY_CONTAINER: dict[str, tuple[Metric, ...]] = {
    "core": (
        CONDITION_STATUS,
        CONDITION_SINCE,
        REGION_INFO,
        REGION_RELEASES,
        REGION_RELEASES_DEPLOYED,
        UPGRADE_INFO,
        UPGRADE_STEPS,
        UPGRADE_STEPS_DONE,
        UPGRADE_STEP_START,
        BACKUP_LAST_GOOD,
        BACKUP_DUE,
        BACKUP_SIZE,
        BACKUP_RESTORABLE,
    ),
    "helmbundle": (
        HELM_DURATION,
        HELM_RETRIES,
        DIGEST_SKIPS,
        DRIFT_FOUND,
        DRIFT_OBJECTS,
        RELEASE_SIZE,
        RELEASE_DEPLOYED,
        RELEASE_FAILURES,
        RELEASE_UNLOCKS,
    ),
    "health": (
        COMPONENT_STATUS,
        COMPONENT_PODS_READY,
        COMPONENT_PODS_DESIRED,
        PROBE_SUCCESS,
        PROBE_DURATION,
    ),
    "secrets": (CERTIFICATE_EXPIRY, SECRET_ROTATED, SECRET_ROTATION_START, SECRET_NEXT_ROTATION),
    "node": (
        NODE_READY,
        NODE_HOST,
        NODE_DRAIN_LOCKED,
        NODES_CIRCUIT_BREAKER_OPEN,
        COMPUTE_MAINTENANCE,
        COMPUTE_MAINTENANCE_START,
        COMPUTE_MAINTENANCE_LEFT,
    ),
    "servers": (SERVER,),
}
