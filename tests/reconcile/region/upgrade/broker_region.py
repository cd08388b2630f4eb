"""A region of 2025.1 whose broker is played: its StatefulSet, its pods and RabbitMQ itself."""

from __future__ import annotations

from typing import Any

from controller.domain.region.allowed_version_steps import Version, image_version
from controller.domain.releases.bundle import ChartRef
from controller.ports.kubernetes import POD, SECRET, STATEFULSET, KubeObject
from tests.fakes.brokers import FakeBroker
from tests.reconcile.region.test_deployment import CHARTS, KEY
from tests.reconcile.region.upgrade.upgrading_region import UpgradingRegion

NAME = "rabbitmq-rabbitmq"


class BrokerRegion(UpgradingRegion):
    """`size` nodes run RabbitMQ 3.13. `broken` are images that no node can pull."""

    old = "2025.1"
    network = "10.0.0"
    password = "of-the-administrator"

    def __init__(self, size: int = 3, version: str = "3.13", **spec: Any) -> None:
        self.addresses = tuple(f"{self.network}.{number + 1}" for number in range(size))
        found = image_version(f"rabbitmq:{version}")
        assert found is not None
        self.broker = self.play_broker(found)
        self.broken: set[str] = set()
        self.versions: list[Version] = []
        super().__init__(**spec)
        self._create_secret()
        image = self.asked
        self._create_set(image, size)
        for number in range(size):
            self._create_pod(number, image)

    def play_broker(self, version: Version) -> Any:
        """RabbitMQ of this version; its nodes by address, and what starts one again."""
        made = FakeBroker(version, self.addresses, self.password)
        self.brokers = made
        return made

    @property
    def asked(self) -> str:
        """The image that helmbundle is to deploy: the chart's own, where the bundle names none."""
        values = self.release("messaging", "rabbitmq")["values"]
        default: str = CHARTS.defaults(ChartRef("rabbitmq", path="rabbitmq"))["images"]["tags"]["rabbitmq"]
        return values.get("images", {}).get("tags", {}).get("rabbitmq") or default

    @property
    def image(self) -> str:
        """The image of the StatefulSet."""
        container: dict[str, str] = self.stateful_set["spec"]["template"]["spec"]["containers"][0]
        return container["image"]

    @property
    def stateful_set(self) -> KubeObject:
        [found] = self.kube.objects(STATEFULSET.kind)
        return found

    @property
    def held(self) -> int:
        found: int = self.stateful_set["spec"]["updateStrategy"].get("rollingUpdate", {}).get("partition", 0)
        return found

    def deploy(self) -> None:
        """helmbundle, and Kubernetes after it: one pod at a time, from the highest number down."""
        super().deploy()
        asked = self.asked
        if asked != self.image:
            template = {"spec": {"containers": [{"name": "rabbitmq", "image": asked}]}}
            self._patch({"spec": {"template": template}})
        generation = self.stateful_set["metadata"]["generation"]
        self._patch(
            {"status": {"observedGeneration": generation, "updateRevision": self.image}}, subresource="status"
        )
        self._replace()

    def _replace(self) -> None:
        names = {f"{NAME}-{number}": number for number in range(len(self.addresses))}
        found = {pod["metadata"]["name"]: pod for pod in self.kube.objects(POD.kind)}
        pods = {number: found[name] for name, number in names.items() if name in found}
        # One that was deleted is made again; a pod that does not start holds up all others.
        for number in set(range(len(self.addresses))) - pods.keys():
            self._start(number)
            return
        if any(not _ready(pod) for pod in pods.values()):
            return
        if self.stateful_set["spec"]["updateStrategy"]["type"] == "OnDelete":
            return
        for number in sorted(pods, reverse=True):
            if number >= self.held and _hash(pods[number]) != self.image:
                self.kube.delete(POD, f"{NAME}-{number}", KEY[0])
                self._start(number)
                return

    def _start(self, number: int) -> None:
        ready = self.image not in self.broken
        if ready:
            version = image_version(self.image)
            assert version is not None
            self.broker.restart(self.addresses[number], version)
            self.versions.append(version)
            ready = self.broker.nodes[self.addresses[number]].running
        else:
            self.broker.nodes[self.addresses[number]].running = False
        self._create_pod(number, self.image, ready=ready)

    def _patch(self, patch: dict[str, Any], subresource: str = "") -> None:
        assert self.kube.merge_patch(STATEFULSET, NAME, KEY[0], patch, subresource=subresource)

    def _create_secret(self) -> None:
        self.kube.create(
            {
                "apiVersion": SECRET.api_version,
                "kind": SECRET.kind,
                "metadata": {"name": "messaging-credentials", "namespace": KEY[0]},
                "stringData": {"admin-password": self.password},
            }
        )

    def _create_set(self, image: str, size: int) -> None:
        self.kube.create(
            {
                "apiVersion": STATEFULSET.api_version,
                "kind": STATEFULSET.kind,
                "metadata": {
                    "name": NAME,
                    "namespace": KEY[0],
                    "annotations": {"meta.helm.sh/release-name": "rabbitmq"},
                },
                "spec": {
                    "replicas": size,
                    "selector": {"matchLabels": {"application": "rabbitmq"}},
                    "updateStrategy": {"type": "RollingUpdate"},
                    "template": {"spec": {"containers": [{"name": "rabbitmq", "image": image}]}},
                },
            }
        )
        self._patch({"status": {"observedGeneration": 1, "updateRevision": image}}, subresource="status")

    def _create_pod(self, number: int, image: str, *, ready: bool = True) -> None:
        made = self.kube.create(
            {
                "apiVersion": POD.api_version,
                "kind": POD.kind,
                "metadata": {
                    "name": f"{NAME}-{number}",
                    "namespace": KEY[0],
                    "labels": {"application": "rabbitmq", "controller-revision-hash": image},
                    "ownerReferences": [
                        {
                            "apiVersion": STATEFULSET.api_version,
                            "kind": STATEFULSET.kind,
                            "name": NAME,
                            "uid": self.stateful_set["metadata"]["uid"],
                            "controller": True,
                        }
                    ],
                },
                "spec": {"containers": [{"name": "rabbitmq", "image": image}]},
            }
        )
        waiting = {"state": {"waiting": {"reason": "ImagePullBackOff", "message": f"no {image}"}}}
        state = {
            "podIP": self.addresses[number],
            "conditions": [{"type": "Ready", "status": "True" if ready else "False"}],
            "containerStatuses": [] if ready else [waiting],
        }
        name = made["metadata"]["name"]
        assert self.kube.merge_patch(POD, name, KEY[0], {"status": state}, subresource="status")


def _ready(pod: KubeObject) -> bool:
    return bool(pod["status"]["conditions"][0]["status"] == "True")


def _hash(pod: KubeObject) -> str:
    return str(pod["metadata"]["labels"]["controller-revision-hash"])
