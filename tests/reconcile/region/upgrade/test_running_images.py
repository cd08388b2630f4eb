"""The status says which images ran before an upgrade, by their digests."""

from __future__ import annotations

from typing import Any

import pytest

from controller.ports.kubernetes import KubeObject
from controller.reconcile.region.upgrade.running_images import MOST_IMAGES, observe_images
from tests.fakes.kube import FakeKube
from tests.reconcile.region.test_deployment import KEY
from tests.reconcile.region.upgrade.upgrading_region import NEW, OLD, UpgradingRegion

IMAGE, DIGEST = "quay.io/airshipit/mariadb:latest-ubuntu_noble", f"sha256:{'a' * 64}"


def pod(name: str, image: str, id_: str, *, init: bool = False, **labels: str) -> KubeObject:
    containers, statuses = (
        ("initContainers", "initContainerStatuses") if init else ("containers", "containerStatuses")
    )
    found: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": KEY[0], "labels": labels or {"application": "mariadb"}},
        "spec": {containers: [{"name": "main", "image": image}]},
        "status": {statuses: [{"name": "main", "image": "another-name", "imageID": id_}]},
    }
    return found


def put(kube: FakeKube, one: KubeObject) -> None:
    live = kube.create(one)
    kube.replace({**live, "status": one["status"]}, subresource="status")


def seen(*pods: KubeObject) -> list[tuple[str, str]]:
    kube = FakeKube()
    for one in pods:
        put(kube, one)
    return [(one.image, one.digest) for one in observe_images(kube, KEY[0])]


@pytest.mark.parametrize("id_", [DIGEST, f"quay.io/airshipit/mariadb@{DIGEST}"])
@pytest.mark.parametrize("init", [True, False])
def test_an_image_is_seen_once_by_its_name_in_the_pods(id_: str, init: bool) -> None:
    pods = (pod("a", IMAGE, id_, init=init), pod("b", IMAGE, id_, init=init))
    assert seen(*pods) == [(IMAGE, DIGEST)]


def test_a_tag_that_nodes_have_pulled_at_different_times_is_seen_twice() -> None:
    other = f"sha256:{'b' * 64}"
    assert seen(pod("a", IMAGE, DIGEST), pod("b", IMAGE, other)) == [(IMAGE, DIGEST), (IMAGE, other)]


def test_pods_of_others_and_containers_that_have_not_begun_are_left_out() -> None:
    assert seen(pod("a", IMAGE, DIGEST, app="x"), pod("b", IMAGE, "")) == []


def test_there_are_no_more_than_the_status_holds() -> None:
    pods = [pod(f"p{number}", f"image:{number}", DIGEST) for number in range(MOST_IMAGES + 5)]
    assert len(seen(*pods)) == MOST_IMAGES


def test_an_upgrade_remembers_what_ran_when_it_began() -> None:
    region = UpgradingRegion()
    before = pod("mariadb-server-0", IMAGE, DIGEST)
    put(region.kube, before)
    region.edit(openstackVersion=NEW)
    region.reconcile()
    assert region.upgrade["images"] == [{"image": IMAGE, "digest": DIGEST}]
    region.begin("identity")
    assert (region.upgrade["from"], region.upgrade["images"][0]["digest"]) == (OLD, DIGEST)
