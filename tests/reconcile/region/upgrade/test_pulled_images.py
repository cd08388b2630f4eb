"""With `spec.upgrade.prepull` the nodes have the new images before the first step begins."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from controller.domain.api.names import UPGRADE_CHECK_LABEL
from controller.domain.region.upgrade.image_pulls import CHECK, node_pulls
from controller.ports.kubernetes import KubeObject
from controller.reconcile.region.upgrade.pull_jobs import AT_ONCE
from tests.reconcile.region.test_deployment import KEY
from tests.reconcile.region.upgrade.played_checks import play_end, play_pod
from tests.reconcile.region.upgrade.upgrading_region import NEW, OLD, UpgradingRegion

NOVA = "quay.io/airshipit/nova:{}-ubuntu_noble"


def pod(name: str, node: str, *images: str) -> KubeObject:
    containers = [{"name": f"c{number}", "image": image} for number, image in enumerate(images)]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": KEY[0], "labels": {"application": "nova"}},
        "spec": {"nodeName": node, "containers": containers, "imagePullSecrets": [{"name": "pull"}]},
    }


class PullingRegion(UpgradingRegion):
    """One whose nodes pull, with a pod of Nova on each."""

    def __init__(self, nodes: int = 2, **upgrade: Any) -> None:
        super().__init__()
        for number in range(nodes):
            self.kube.create(pod(f"nova-{number}", f"node-{number:02}", NOVA.format(OLD), "nginx:1"))
        self.edit(openstackVersion=NEW, upgrade={"prepull": True, **upgrade})
        self.reconcile()
        self.reconcile()

    def pulls(self) -> list[KubeObject]:
        every = self.kube.objects("Job")
        found = [job for job in every if job["metadata"]["labels"][UPGRADE_CHECK_LABEL] == CHECK]
        return sorted(found, key=lambda job: str(job["spec"]["template"]["spec"]["nodeName"]))

    def outcome(self) -> Mapping[str, Any]:
        [found] = [one for one in self.upgrade["checks"] if one["name"] == CHECK]
        return dict(found)


def test_each_node_pulls_what_follows_on_the_images_of_its_pods() -> None:
    region = PullingRegion()
    first, second = region.pulls()
    spec = first["spec"]["template"]["spec"]
    assert (spec["nodeName"], second["spec"]["template"]["spec"]["nodeName"]) == ("node-00", "node-01")
    assert [one["image"] for one in spec["containers"]] == [NOVA.format(NEW)]
    assert spec["imagePullSecrets"] == [{"name": "pull"}]
    assert spec["automountServiceAccountToken"] is False
    assert region.outcome()["state"] == "Running"
    assert region.outcome()["message"] == "0 of 2 nodes have the new images"


def test_the_upgrade_begins_once_every_node_has_its_images() -> None:
    region = PullingRegion()
    play_end(region.kube, region.pulls()[0])
    region.reconcile()
    assert region.outcome()["message"] == "1 of 2 nodes have the new images"
    assert region.upgrade["phase"] == "Preflight"
    region.deploy()
    region.begin("identity")


def test_an_image_that_a_node_cannot_pull_holds_the_upgrade_and_is_named() -> None:
    region = PullingRegion()
    waiting = {"reason": "ImagePullBackOff", "message": 'Back-off pulling image "x": not found'}
    status = {"phase": "Pending", "containerStatuses": [{"name": "image-0", "state": {"waiting": waiting}}]}
    play_pod(region.kube, region.pulls()[0], status)
    region.reconcile()
    found = region.outcome()
    assert found["state"] == "Failed"
    assert found["message"].startswith("node-00: ")
    assert f"nova:{NEW}-ubuntu_noble cannot be pulled (not found)" in found["message"]
    region.edit(upgrade={"skipChecks": [CHECK]})
    region.reconcile()
    region.deploy()
    region.begin("identity")


def test_an_image_without_the_program_true_is_there_anyway() -> None:
    region = PullingRegion(1)
    [job] = region.pulls()
    ended = {"name": "image-0", "imageID": "sha256:1", "state": {"terminated": {"reason": "StartError"}}}
    play_pod(region.kube, job, {"phase": "Failed", "containerStatuses": [ended]})
    play_end(region.kube, job, reason="BackoffLimitExceeded")
    region.reconcile()
    assert region.outcome()["state"] == "Passed"


def test_a_bounded_number_of_nodes_pulls_at_once() -> None:
    region = PullingRegion(AT_ONCE + 5)
    assert len(region.pulls()) == AT_ONCE
    for job in region.pulls():
        play_end(region.kube, job)
    region.reconcile()
    assert len(region.pulls()) == AT_ONCE + 5


def test_without_the_option_no_node_pulls_anything() -> None:
    region = PullingRegion(prepull=False)
    assert region.pulls() == []
    assert CHECK not in [one["name"] for one in region.upgrade["checks"]]


@pytest.mark.parametrize("image", ["nginx:1", "quay.io/airshipit/mariadb:latest-ubuntu_noble"])
def test_a_node_without_an_image_that_changes_pulls_nothing(image: str) -> None:
    def bundle(version: str) -> KubeObject:
        tags = {"nova_api": NOVA.format(version), "mariadb": "quay.io/airshipit/mariadb:latest-ubuntu_noble"}
        return {"spec": {"releases": [{"name": "nova", "values": {"images": {"tags": tags}}}]}}

    assert node_pulls([pod("a", "node-0", image)], [bundle(OLD)], [bundle(NEW)]) == ()
    [pull] = node_pulls([pod("a", "node-0", NOVA.format(OLD))], [bundle(OLD)], [bundle(NEW)])
    assert pull.images == (NOVA.format(NEW),)
