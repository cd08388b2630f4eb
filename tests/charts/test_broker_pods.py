"""The broker's pods with a real RabbitMQ: how a cluster comes about, what its probes say, and how it ends."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from tests.charts.broker import image
from tests.charts.lean import nest, objects, the
from tests.charts.pods import Container, Network, Pod, network, refuse_without_namespaces, wait_until
from tests.sweeps import swept

pytestmark = pytest.mark.slow

SERVICE = "rabbitmq.openstack.svc.cluster.local"
READY = ["/scripts/probe.sh"]


class Broker:
    """The pods of the StatefulSet, by their number."""

    def __init__(self, directory: Path, net: Network) -> None:
        self._directory, self._network, self._image = directory, net, image(directory)
        self._pods: dict[int, Pod] = {}
        self._running: dict[int, Container] = {}
        self.restarts = 0

    def start(self, number: int) -> Container:
        """Starts the pod of that number, with the volume that it had."""
        found = objects("rabbitmq", VALUES)
        name = f"rabbitmq-rabbitmq-{number}"
        pod = self._pods.get(number)
        if pod is None:
            workload = the(found, "StatefulSet", "rabbitmq-rabbitmq")
            pod = Pod(self._directory, name, workload, found, self._image, self._network, f"{name}.{SERVICE}")
            self._pods[number] = pod
        pod.initialize()
        self._running[number] = pod.start("rabbitmq")
        return self._running[number]

    def stop(self, number: int) -> float:
        """The seconds that it took."""
        return self._running.pop(number).terminate()

    def lose_volume(self, number: int) -> None:
        """What a node's broken disk leaves."""
        for entry in self._pods[number].volume("rabbitmq-data").iterdir():
            shutil.rmtree(entry) if entry.is_dir() else entry.unlink()

    def start_absent(self, *numbers: int) -> None:
        """Starts those that do not run."""
        for number in numbers:
            if number not in self._running:
                self.start(number)

    def wait_ready(self, *numbers: int) -> None:
        for number in numbers:
            ready, log = partial(self._is_ready, number), partial(self._log, number)
            # A probe costs more than a look: it is several processes.
            wait_until(f"node {number} is ready", ready, log, every=1.0)

    def _is_ready(self, number: int) -> bool:
        """A container that ends is started again, as a kubelet does, a few times at most.

        RabbitMQ 3.10 ends where the peer that it joins has not read its feature flags yet.
        """
        node = self._running[number]
        if node.running:
            try:
                return node.run(READY).returncode == 0
            except AssertionError:
                # It has ended just now.
                if node.running:
                    raise
        self.restarts += 1
        assert self.restarts <= MOST_RESTARTS, node.log()
        self.start(number)
        return False

    def _log(self, number: int) -> str:
        return self._running[number].log()

    def members(self, number: int) -> int:
        """Running nodes of the cluster, as this one sees them."""
        answer = self._running[number].run(["bash", "-c", COUNT])
        assert answer.returncode == 0, answer.stderr
        return int(answer.stdout)

    def close(self) -> None:
        for pod in self._pods.values():
            pod.close()


COUNT = (
    "source /scripts/http.sh; address=127.0.0.1:15672; broker GET nodes | grep -o '\"running\":true' | wc -l"
)
MOST_RESTARTS = 5
# One processor for each node: three of them shall not fill a machine.
VALUES = nest("pod.env.rabbitmq.RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS", "+S 1:1 +sbwt none")


# Their tests share one, one after the other.
of_a_pair = pytest.mark.xdist_group("broker")


@contextmanager
def pods(directory: Path) -> Iterator[Broker]:
    refuse_without_namespaces()
    with network(directory) as net:
        made = Broker(directory, net)
        yield made
        made.close()


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    with pods(tmp_path) as made:
        yield made


@pytest.fixture(scope="module")
def kept_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    with pods(tmp_path_factory.mktemp("broker")) as made:
        yield made


@pytest.fixture
def pair(kept_broker: Broker) -> Broker:
    """A cluster of two, founded by the first test that asks for it, which takes longer than most of them."""
    kept_broker.restarts = 0
    kept_broker.start_absent(0, 1)
    kept_broker.wait_ready(0, 1)
    assert [kept_broker.members(number) for number in (0, 1)] == [2, 2]
    return kept_broker


@pytest.mark.exhaustive
def test_nodes_that_start_at_once_form_one_cluster(broker: Broker) -> None:
    for number in (2, 1, 0):
        broker.start(number)
    broker.wait_ready(0, 1, 2)
    assert [broker.members(number) for number in (0, 1, 2)] == [3, 3, 3]


@pytest.mark.exhaustive
def test_a_cluster_of_one_grows(broker: Broker) -> None:
    broker.start(0)
    broker.wait_ready(0)
    broker.start(1)
    broker.wait_ready(1)
    assert [broker.members(number) for number in (0, 1)] == [2, 2]


@of_a_pair
@pytest.mark.exhaustive
def test_a_node_that_comes_back_with_its_volume_is_the_member_it_was(pair: Broker) -> None:
    assert pair.stop(1) < 20
    pair.start(1)
    pair.wait_ready(1)
    assert pair.members(0) == 2


@of_a_pair
@pytest.mark.parametrize("lost", swept([0, 1], daily=[0]))
def test_a_node_that_lost_its_volume_joins_the_cluster_again(lost: int, pair: Broker) -> None:
    """Also the first one, which would found a second cluster beside that of the others."""
    pair.stop(lost)
    pair.lose_volume(lost)
    pair.start(lost)
    pair.wait_ready(lost)
    assert [pair.members(number) for number in (0, 1)] == [2, 2]


@of_a_pair
def test_a_cluster_that_was_stopped_starts_again_in_any_order(pair: Broker) -> None:
    pair.stop(0)
    pair.stop(1)
    # The one that does not know what the other did last waits for it.
    pair.start(0)
    pair.start(1)
    pair.wait_ready(0, 1)
    assert pair.members(1) == 2


def test_a_new_node_that_waits_for_the_first_one_ends_at_once(broker: Broker) -> None:
    node = broker.start(1)
    wait_until("it waits", lambda: "waiting for" in node.log(), node.log)
    assert broker.stop(1) < 10
