"""What nova-compute refuses when it starts is refused before, for all nodes and for those with a label."""

from __future__ import annotations

from typing import Any

import pytest

from controller.errors import SpecInvalid
from tests.render.region import core_spec, render


def nova(**conf: Any) -> dict[str, Any]:
    return {"services": {"compute": {"nova": {"values": {"conf": {"nova": conf}}}}}}


def on_nodes(**conf: Any) -> dict[str, Any]:
    daemonsets = {"compute": {"values": {"conf": {"nova": conf}}}}
    return {"nodes": {"pinned::enabled": {"services": {"compute": {"nova": daemonsets}}}}}


def refused(**spec: Any) -> list[str]:
    try:
        render(core_spec(**spec), source="region.yaml")
    except SpecInvalid as error:
        return [f"{one.path}: {one.rule}" for one in error.problems]
    return []


# What each refuses, where, and the same repaired.
CASES: dict[str, tuple[dict[str, Any], str, dict[str, Any]]] = {
    "cpu-sets-overlap": (
        {"compute": {"cpu_dedicated_set": "2-9", "cpu_shared_set": "0-2"}},
        "compute.cpu_shared_set",
        {"compute": {"cpu_dedicated_set": "2-9,^2", "cpu_shared_set": "0-2"}},
    ),
    "reserved-cpus-beside-sets": (
        {"compute": {"cpu_dedicated_set": "2-9"}, "DEFAULT": {"reserved_host_cpus": 2}},
        "DEFAULT.reserved_host_cpus",
        {"compute": {"cpu_dedicated_set": "2-9"}, "DEFAULT": {"reserved_host_cpus": 0}},
    ),
    "pin-set-beside-dedicated-set": (
        {"compute": {"cpu_dedicated_set": "2-9"}, "DEFAULT": {"vcpu_pin_set": "2-9"}},
        "DEFAULT.vcpu_pin_set",
        {"compute": {"cpu_dedicated_set": "2-9"}},
    ),
    "custom-cpu-without-models": (
        {"libvirt": {"cpu_mode": "custom"}},
        "libvirt.cpu_mode",
        {"libvirt": {"cpu_mode": "custom", "cpu_models": ["Skylake-Server"]}},
    ),
    "cpu-models-without-custom": (
        {"libvirt": {"cpu_mode": "host-model", "cpu_models": "Skylake-Server"}},
        "libvirt.cpu_models",
        {"libvirt": {"cpu_mode": "host-model"}},
    ),
    "cpu-mode-of-another-hypervisor": (
        {"libvirt": {"virt_type": "lxc", "cpu_mode": "host-model"}},
        "libvirt.cpu_mode",
        {"libvirt": {"virt_type": "lxc", "cpu_mode": "none"}},
    ),
    "tunnel-beside-native-tls": (
        {"libvirt": {"live_migration_tunnelled": True, "live_migration_with_native_tls": "yes"}},
        "libvirt.live_migration_tunnelled",
        {"libvirt": {"live_migration_with_native_tls": True}},
    ),
    "rbd-without-raw-images": (
        {"libvirt": {"images_type": "rbd"}, "DEFAULT": {"force_raw_images": False}},
        "DEFAULT.force_raw_images",
        {"libvirt": {"images_type": "rbd"}, "DEFAULT": {"force_raw_images": True}},
    ),
    "no-disks-to-attach": (
        {"compute": {"max_disk_devices_to_attach": 0}},
        "compute.max_disk_devices_to_attach",
        {"compute": {"max_disk_devices_to_attach": -1}},
    ),
    "multipath-enforced-and-off": (
        {"libvirt": {"volume_enforce_multipath": True, "volume_use_multipath": False}},
        "libvirt.volume_use_multipath",
        {"libvirt": {"volume_enforce_multipath": True, "volume_use_multipath": True}},
    ),
    "memory-in-files-overcommitted": (
        {"libvirt": {"file_backed_memory": 65536}, "DEFAULT": {"ram_allocation_ratio": 1.5}},
        "libvirt.file_backed_memory",
        {"libvirt": {"file_backed_memory": 65536}, "DEFAULT": {"ram_allocation_ratio": 1}},
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_what_nova_compute_refuses_is_refused_at_its_field_on_all_nodes(name: str) -> None:
    wrong, at, right = CASES[name]
    assert refused(**nova(**wrong)) == [f"spec.services.compute.nova.values.conf.nova.{at}: compute/{name}"]
    assert refused(**nova(**right)) == []


@pytest.mark.parametrize("name", CASES)
def test_and_on_nodes_with_a_label(name: str) -> None:
    wrong, at, right = CASES[name]
    root = 'spec.nodes["pinned::enabled"].services.compute.nova.compute.values'
    assert refused(**on_nodes(**wrong)) == [f"{root}.conf.nova.{at}: compute/{name}"]
    assert refused(**on_nodes(**right)) == []


def test_what_is_right_on_all_nodes_can_be_wrong_with_what_a_label_adds() -> None:
    whole = {**nova(compute={"cpu_shared_set": "0-3"}), **on_nodes(compute={"cpu_dedicated_set": "3-9"})}
    assert refused(**whole) == [
        'spec.nodes["pinned::enabled"].services.compute.nova.compute.values: compute/cpu-sets-overlap'
    ]


def test_a_text_that_nova_cannot_read_is_refused_for_nodes_with_a_label_too() -> None:
    wrong = {
        "compute": {"cpu_dedicated_set": "4-"},
        "DEFAULT": {"reserved_huge_pages": "node:0,size:1G,count:1"},
    }
    assert len(refused(**on_nodes(**wrong))) == 2
    assert len(refused(**nova(**wrong))) == 2


@pytest.mark.parametrize(
    ("conf", "at"),
    [
        (
            {
                "libvirt": {"file_backed_memory": 9},
                "DEFAULT": {"reserved_huge_pages": "node:0,size:2MB,count:1"},
            },
            "libvirt.file_backed_memory",
        ),
        ({"libvirt": {"cpu_power_management": True}}, "libvirt.cpu_power_management"),
    ],
)
def test_what_does_nothing_good_is_reported(conf: dict[str, Any], at: str) -> None:
    conf["DEFAULT"] = {**conf.get("DEFAULT", {}), "ram_allocation_ratio": 1}
    found = render(core_spec(**nova(**conf)), source="region.yaml").warnings
    assert f"spec.services.compute.nova.values.conf.nova.{at}" in [one.path for one in found]
