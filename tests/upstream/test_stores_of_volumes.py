"""Stores of volumes and images: what is on one node stays with it, and what is in Ceph is cloned there."""

from __future__ import annotations

import configparser
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.render import production
from tests.render.region import ROOT
from tests.render.specs import BACKUP_IN_S3
from tests.upstream.regions import objects, region
from tests.upstream.test_production import CEPH

pytestmark = [pytest.mark.upstream, pytest.mark.timeout(600)]

VENDOR = {
    "name": "vendor",
    "type": "custom",
    "conf": {
        "volume_driver": "cinder.volume.drivers.pure.PureISCSIDriver",
        "san_ip": "192.0.2.60",
        "pure_api_token": {"$secretRef": {"name": "pure", "key": "token"}},
    },
}
FILES = {
    "name": "files",
    "type": "custom",
    "conf": {
        "volume_driver": "cinder.volume.drivers.quobyte.QuobyteDriver",
        "quobyte_volume_url": "quobyte://files.example.org/volume",
    },
}
LVM = {"backends": [{"name": "local", "type": "lvm"}, {"name": "ssd", "type": "ceph"}]}


def made(charts: Path, release: str, features: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
    found = region(charts, {"preset": "compute", "size": "medium", "features": features}).release(release)
    assert found is not None
    return objects(found)


def workload(objs: tuple[Mapping[str, Any], ...], name: str) -> Mapping[str, Any]:
    [found] = [
        obj
        for obj in objs
        if obj["metadata"]["name"] == name and obj["kind"] in ("Deployment", "StatefulSet", "DaemonSet")
    ]
    return dict(found["spec"])


def options(objs: tuple[Mapping[str, Any], ...], name: str) -> configparser.RawConfigParser:
    parser = configparser.RawConfigParser(strict=False)
    [text] = {text for obj in objs for found, text in production.files(obj) if found == name}
    parser.read_string(text)
    return parser


def host_paths(pod: Mapping[str, Any], container: str) -> dict[str, str]:
    """Where a container of the pod has directories of its node, by the node's path."""
    [mounts] = [one["volumeMounts"] for one in pod["containers"] if one["name"] == container]
    paths = {one["name"]: one["hostPath"]["path"] for one in pod["volumes"] if "hostPath" in one}
    return {paths[one["name"]]: one["mountPath"] for one in mounts if one["name"] in paths}


def programs(pod: Mapping[str, Any], container: str) -> set[str]:
    """Programs of the node that a container runs in place of those of its image."""
    [mounts] = [one["volumeMounts"] for one in pod["containers"] if one["name"] == container]
    begin = "/usr/local/sbin/"
    return {one["mountPath"].removeprefix(begin) for one in mounts if one["mountPath"].startswith(begin)}


def test_volumes_on_the_disks_of_a_node_are_served_there_and_nowhere_else(charts: Path) -> None:
    cinder = made(charts, "cinder", {"blockStorage": LVM})
    spec = workload(cinder, "cinder-volume")
    pod = spec["template"]["spec"]
    assert spec["replicas"] == 1
    assert pod["nodeSelector"] == {"openstack-volume-node": "enabled"}
    assert pod["hostNetwork"] and pod["hostIPC"]
    # The name by which volumes know their service is that from before, whatever network the pod is on.
    assert options(cinder, "cinder.conf")["DEFAULT"]["host"] == "cinder-volume-0"


def test_targets_are_those_of_the_kernel_of_the_node_and_come_back_after_it_was_off(charts: Path) -> None:
    cinder = made(charts, "cinder", {"blockStorage": LVM})
    pod = workload(cinder, "cinder-volume")["template"]["spec"]
    store = options(cinder, "backends.conf")["local"]
    assert store["target_helper"] == "lioadm"  # no container of the pod is a tgtd
    assert {one["name"] for one in pod["containers"]} == {"cinder-volume"}
    assert "target_ip_address" not in store  # the node's own: the pod is on its network
    [container] = pod["containers"]
    assert container["securityContext"]["privileged"]
    paths = host_paths(pod, "cinder-volume")
    assert (
        paths.items()
        >= {
            "/sys": "/sys",  # configfs, in which targets are made
            "/etc/target": "/etc/target",  # from which they are made again
            "/etc/lvm": "/etc/lvm",  # of the root of the pod, which is read-only, LVM could archive nothing
            "/run/udev": "/run/udev",
            "/dev": "/dev",
        }.items()
    )
    assert "modprobe" in programs(pod, "cinder-volume")  # the image has none
    [script] = {text for obj in cinder for name, text in production.files(obj) if name == "modprobe"}
    assert script.startswith("#!/bin/sh\nexec chroot /mnt/host-rootfs ")


@pytest.mark.parametrize("backends", [LVM["backends"], [VENDOR]], ids=["lvm", "vendor"])
def test_who_attaches_a_volume_over_iscsi_asks_the_iscsid_of_its_node(
    charts: Path, backends: list[dict[str, Any]]
) -> None:
    features = {"blockStorage": {"backends": backends, "backup": BACKUP_IN_S3}}
    attachers = {"cinder": ("cinder-volume", "cinder-backup"), "nova": ("nova-compute-default",)}
    for release, names in attachers.items():
        objs = made(charts, release, features)
        for name in names:
            spec = workload(objs, name)
            pod = spec["template"]["spec"]
            container = name.removesuffix("-default")
            # It listens on an abstract socket, which is one of its network.
            assert pod["hostNetwork"] and pod["hostIPC"], name
            [found] = [one for one in pod["containers"] if one["name"] == container]
            assert found["securityContext"]["privileged"], name
            assert host_paths(pod, container).items() >= {"/dev": "/dev", "/etc/iscsi": "/etc/iscsi"}.items()
            assert "iscsiadm" in programs(pod, container)
            # On the node's network a pod has the node's name: the service has one of its own, and one pod.
            assert release == "nova" or spec["replicas"] == 1
    assert programs(
        workload(made(charts, "nova", features), "nova-compute-default")["template"]["spec"], "nova-compute"
    ) >= {
        "multipath",
        "multipathd",
    }


def test_the_recipe_of_a_vendors_store_comes_to_what_it_says(charts: Path) -> None:
    text = (ROOT / "docs" / "storage.md").read_text(encoding="utf-8")
    [recipe] = re.findall(r"^## A store with a vendor's driver\n.*?^```yaml\n(.*?)^```", text, re.M | re.S)
    spec = yaml.load(recipe, yaml.CSafeLoader)["spec"]
    found = region(charts, {"preset": "compute", "size": "small", **spec})
    assert [one for one in found.warnings if "blockStorage" in one.path or "cinder" in one.path] == []
    release = found.release("cinder")
    assert release is not None
    cinder = objects(release)
    [container] = workload(cinder, "cinder-volume")["template"]["spec"]["containers"]
    assert container["image"] == "registry.example.org/cinder-pure:2026.1-1"
    assert {"name": "pure-ca", "mountPath": "/etc/pure", "readOnly": True} in container["volumeMounts"]
    store = options(cinder, "backends.conf")["vendor"]
    assert store["pure_api_token"] == "made-up-secret-pure-token"
    assert store["volume_backend_name"] == "vendor"


def test_a_store_of_files_is_given_nothing_of_its_nodes(charts: Path) -> None:
    features = {"blockStorage": {"backends": [FILES], "backup": BACKUP_IN_S3}}
    cinder = made(charts, "cinder", features)
    for name in ("cinder-volume", "cinder-backup"):
        pod = workload(cinder, name)["template"]["spec"]
        assert "hostNetwork" not in pod and not host_paths(pod, name)
    nova = workload(made(charts, "nova", features), "nova-compute-default")["template"]["spec"]
    assert "iscsiadm" not in programs(nova, "nova-compute")


def test_volumes_in_ceph_are_served_from_any_control_node(charts: Path) -> None:
    cinder = made(charts, "cinder", CEPH)
    pod = workload(cinder, "cinder-volume")["template"]["spec"]
    assert pod["nodeSelector"] == {"openstack-control-plane": "enabled"}
    assert "host" not in options(cinder, "cinder.conf")["DEFAULT"]


@pytest.mark.parametrize(("driver", "replicas"), [("posix", 1), ("s3", 3)])
def test_backups_on_a_claim_are_written_by_one_pod(charts: Path, driver: str, replicas: int) -> None:
    backup = BACKUP_IN_S3 if driver == "s3" else {"enabled": True, "driver": driver}
    spec = workload(made(charts, "cinder", {"blockStorage": {"backup": backup}}), "cinder-backup")
    assert spec["replicas"] == replicas


@pytest.mark.parametrize(("features", "shown"), [(CEPH, "true"), ({}, None)])
def test_images_in_ceph_say_where_they_are_so_that_servers_are_clones(
    charts: Path, features: Mapping[str, Any], shown: str | None
) -> None:
    found = options(made(charts, "glance", features), "glance-api.conf")["DEFAULT"]
    assert found.get("show_image_direct_url") == shown


def test_images_that_are_copied_into_ceph_at_each_start_are_warned_about(charts: Path) -> None:
    for images, warned in ([], True), ([{"name": "rbd", "type": "ceph"}], False):
        features = {**CEPH, "image": {"backends": images}}
        found = region(charts, {"preset": "compute", "size": "small", "features": features})
        paths = [warning.path for warning in found.warnings]
        assert ("spec.features.image.backends" in paths) == warned
