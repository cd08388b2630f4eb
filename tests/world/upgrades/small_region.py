"""A region of few releases with few values, whose steps are those of a real one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from controller.domain.region.upgrade.upgrade_steps import UpgradeStep, upgrade_steps
from controller.domain.releases.bundle import BundleSpec, ChartRef, ReleaseSpec
from controller.domain.values.catalogue import ServiceEntry
from controller.domain.values.layer import Layer
from controller.domain.values.merge import merge_layers
from controller.domain.values.upgrade_parts import UpgradePart
from controller.render.region import Region, RegionBundle, RegionRelease

NAMESPACE, NAME = "openstack", "region-one"
OLD, NEW, OTHER = "2025.2", "2026.1", "2025.1"
CONTROL, NODES = "ControlPlane", "Computes"
# Images of each chart; those of LATE wait for a later step.
IMAGES: Mapping[str, tuple[str, ...]] = {
    "mariadb": ("mariadb",),
    "keystone": ("keystone_api", "keystone_db_sync"),
    "libvirt": ("libvirt",),
    "nova": ("nova_api", "nova_conductor", "nova_compute"),
    "openvswitch": ("openvswitch",),
    "neutron": ("neutron_server", "neutron_dhcp"),
    "glance": ("glance_api",),
}
LATE = {("nova", "nova_compute"), ("neutron", "neutron_dhcp")}
SERVICES = (
    ServiceEntry("database", "", "infra", {}, upgrade=(UpgradePart("", "Infrastructure", 10, ("mariadb",)),)),
    ServiceEntry("identity", "", "openstack", {}, upgrade=(UpgradePart("", CONTROL, 50, ("keystone",)),)),
    ServiceEntry("image", "", "openstack", {}, upgrade=(UpgradePart("", CONTROL, 70, ("glance",)),)),
    ServiceEntry(
        "compute",
        "",
        "openstack",
        {},
        upgrade=(
            UpgradePart("", CONTROL, 90, ("nova",)),
            UpgradePart(
                "computes", NODES, 95, ("libvirt", "nova"), {"nova": ("nova_compute",)}, by_node=True
            ),
        ),
    ),
    ServiceEntry(
        "networking",
        "",
        "openstack",
        {},
        upgrade=(
            UpgradePart("switch", "Infrastructure", 35, ("openvswitch",)),
            UpgradePart("server", CONTROL, 105, ("neutron",)),
            UpgradePart("agents", NODES, 106, ("neutron",), {"neutron": ("neutron_dhcp",)}, by_node=True),
        ),
    ),
)
CHARTS = {
    "database": ("mariadb",),
    "identity": ("keystone",),
    "image": ("glance",),
    "compute": ("libvirt", "nova"),
    "networking": ("openvswitch", "neutron"),
}
STEPS: tuple[UpgradeStep, ...] = upgrade_steps(SERVICES)


def render(osdpl: Mapping[str, Any]) -> Region:
    """The region of an osdpl: its version is in the tags, `common.values.debug` in the values of all."""
    spec = osdpl["spec"]
    version = spec["openstackVersion"]
    debug = ((spec.get("common") or {}).get("openstack") or {}).get("values", {}).get("debug", 0)
    bundles = tuple(_bundle(entry.name, version, debug) for entry in SERVICES)
    return Region(bundles, (), upgrade_steps=STEPS)


def _bundle(service: str, version: str, debug: int) -> RegionBundle:
    releases = tuple(_release(chart, version, debug) for chart in CHARTS[service])
    return RegionBundle(service, service, releases, BundleSpec(tuple(one.spec for one in releases)))


def _release(chart: str, version: str, debug: int) -> RegionRelease:
    tags = {name: f"example.org/{name}:{version}" for name in IMAGES[chart]}
    if chart == "mariadb":
        tags = {"mariadb": "example.org/mariadb:11.4"}
    values = {"images": {"tags": tags}, "debug": debug}
    merged = merge_layers({}, [Layer("template", values)])
    return RegionRelease(ReleaseSpec(chart, NAMESPACE, ChartRef(chart, path=chart), values), merged)
