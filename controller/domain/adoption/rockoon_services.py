"""Words of rockoon and their counterparts. Pure data."""

from __future__ import annotations

from collections.abc import Mapping

VERSIONS: Mapping[str, str] = {
    "antelope": "2023.1",
    "bobcat": "2023.2",
    "caracal": "2024.1",
    "dalmatian": "2024.2",
    "epoxy": "2025.1",
    "flamingo": "2025.2",
    "gazpacho": "2026.1",
}
PRESETS: Mapping[str, str] = {
    "compute": "compute",
    "compute-ovn": "compute",
    "core": "core",
    "core-ceph": "core",
    "compute-baremetal": "compute-baremetal",
}
_METERING = ("metering", "")
# The service here, or an empty word and what to do; both empty for what comes with another service.
OF_SERVICES: Mapping[str, tuple[str, str]] = {
    **{
        name: (name, "")
        for name in (
            *("baremetal", "block-storage", "compute", "dashboard", "database", "dns", "identity", "image"),
            *("instance-ha", "key-manager", "load-balancer", "messaging", "networking", "object-storage"),
            *("optimization", "orchestration", "placement", "shared-file-system"),
        )
    },
    "memcached": ("cache", ""),
    "app-gateway": ("gateway", ""),
    "ingress": ("gateway", ""),
    "metering": _METERING,
    "metric": _METERING,
    "alarming": _METERING,
    "metric-storage": _METERING,
    "event": _METERING,
    "coordination": ("", "services that need a coordinator use the cache or the database"),
    "redis": ("", "services that need a coordinator use the cache or the database"),
    "descheduler": ("", "run it as a HelmBundle of its own"),
    "cloudprober": ("", "probes of the controller ask the services"),
    "dynamic-resource-balancer": ("", "the service optimization has Watcher"),
}
