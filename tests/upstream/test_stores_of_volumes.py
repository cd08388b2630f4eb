"""Stores of volumes and images: what is on one node stays with it, and what is in Ceph is cloned there."""

from __future__ import annotations

import configparser
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.render import production
from tests.upstream.regions import objects, region
from tests.upstream.test_production import CEPH

pytestmark = [pytest.mark.upstream, pytest.mark.timeout(600)]

LVM = {"backends": [{"name": "local", "type": "lvm"}, {"name": "ssd", "type": "ceph"}]}


def made(charts: Path, release: str, features: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
    found = region(charts, {"preset": "compute", "size": "medium", "features": features}).release(release)
    assert found is not None
    return objects(found)


def workload(objs: tuple[Mapping[str, Any], ...], name: str) -> Mapping[str, Any]:
    [found] = [
        obj
        for obj in objs
        if obj["metadata"]["name"] == name and obj["kind"] in ("Deployment", "StatefulSet")
    ]
    return dict(found["spec"])


def options(objs: tuple[Mapping[str, Any], ...], name: str) -> configparser.RawConfigParser:
    parser = configparser.RawConfigParser(strict=False)
    [text] = {text for obj in objs for found, text in production.files(obj) if found == name}
    parser.read_string(text)
    return parser


def test_volumes_on_the_disks_of_a_node_are_served_there_and_nowhere_else(charts: Path) -> None:
    cinder = made(charts, "cinder", {"blockStorage": LVM})
    spec = workload(cinder, "cinder-volume")
    pod = spec["template"]["spec"]
    assert spec["replicas"] == 1
    assert pod["nodeSelector"] == {"openstack-volume-node": "enabled"}
    assert pod["hostNetwork"] and pod["hostIPC"]
    # The name by which volumes know their service is that of before, whatever network the pod is on.
    assert options(cinder, "cinder.conf")["DEFAULT"]["host"] == "cinder-volume-0"


def test_volumes_in_ceph_are_served_from_any_control_node(charts: Path) -> None:
    cinder = made(charts, "cinder", CEPH)
    pod = workload(cinder, "cinder-volume")["template"]["spec"]
    assert pod["nodeSelector"] == {"openstack-control-plane": "enabled"}
    assert "host" not in options(cinder, "cinder.conf")["DEFAULT"]


@pytest.mark.parametrize(("driver", "replicas"), [("posix", 1), ("s3", 3)])
def test_backups_on_a_claim_are_written_by_one_pod(charts: Path, driver: str, replicas: int) -> None:
    backup = {"enabled": True, "driver": driver}
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
