"""What each container, composed as it runs, exports on its port: everything that is promised, and true."""

from __future__ import annotations

import threading
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from types import SimpleNamespace
from typing import Any, cast

import pytest
from prometheus_client.parser import text_string_to_metric_families

from containers.composition import Parts, naming_its_region
from controller import operator
from controller.adapters.http.health_endpoint import serve_endpoint
from controller.adapters.kubernetes.watches import Key, SignsOfLife
from controller.adapters.system.logs import LogSecrets
from controller.adapters.system.metrics import PrometheusMetrics
from controller.domain.api.names import CONTAINERS
from controller.domain.credentials.certificates import ISSUED, TLS_TYPE
from controller.ports.kubernetes import COMPUTE_MAINTENANCE, HELMBUNDLE, NODE, OSDPL, SECRET, SERVER
from controller.reconcile.credentials.certificates.certificate_ends import CHECK_SECONDS
from controller.reconcile.shared.leases.board import BOARD_SIZE, LeaseBoard
from controller.reconcile.shared.leases.lease import LeaseTimes
from controller.reconcile.shared.work_queue import WorkQueue
from controller.settings import read_settings
from tests.api.definitions import server
from tests.domain.health_objects import deployment
from tests.domain.hosts.test_nodes import node
from tests.fakes.helm import FakeHelm
from tests.fakes.release import FakeWatch
from tests.fakes.world import FakeClock, FakeRandomness
from tests.reconcile.bundles import Charts
from tests.reconcile.credentials.test_certificates import certificate
from tests.reconcile.health.test_health import SilentEvents
from tests.reconcile.watched import NAME, WatchedCluster

# Composing node loads openstacksdk.
pytestmark = pytest.mark.slow

DEADLINE = 60.0
NS, REGION = "openstack", NAME
START = 1_780_000_000.0


class _Drained(WorkQueue[Key]):
    """Hands out what is due, and then says that it is closed: a worker ends there."""

    def take(self) -> Key | None:
        return super().take() if self.overdue() else None


class Composed:
    """One container on a cluster in memory. `restart` is what a kill is: it forgets everything."""

    def __init__(self, name: str, cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
        self.name, self.cluster, self._patch = name, cluster, monkeypatch
        self.restart()

    def restart(self) -> None:
        module = import_module(f"containers.{self.name}")
        cluster, clock = self.cluster, self.cluster.clock
        if self.name == "helmbundle":
            self._patch.setattr(module, "helm_client", lambda *_: cluster.helm)
            self._patch.setattr(module, "SecretRecords", lambda *_: cluster.helm)
            self._patch.setattr(module, "PykubeClient", lambda *_, **__: cluster.kube)
            self._patch.setattr(module, "MetadataWatches", lambda *_, **__: FakeWatch(cluster.kube))
            self._patch.setattr(module, "chart_store", lambda *_: Charts())
        self.measures = PrometheusMetrics(self.name, region_namespace=NS)
        self._patch.setattr(time, "monotonic", clock.monotonic)
        queue = _Drained(clock, FakeRandomness())
        environment = {
            "REGION_NAMESPACE": NS,
            "POD_NAMESPACE": NS,
            "DEPLOYED_CONTAINERS": ",".join(CONTAINERS),
        }
        self.settings = read_settings(environment)
        parts = Parts(
            settings=self.settings,
            connection=cast(Any, SimpleNamespace(kubeconfig=None)),
            kube=cluster.kube,
            clock=clock,
            randomness=FakeRandomness(),
            events=SilentEvents(),
            log_secrets=LogSecrets(),
            metrics=self.measures,
            queue=queue,
        )
        self.container = naming_its_region(module.compose(parts), self.measures)
        self.tenure = operator._Tenure()
        self.signs = SignsOfLife((watch.resource for watch in self.container.watches), clock)
        operator._measure(self.container, self.settings, self.tenure, self.signs, self.measures)

    def work(self, rounds: int = 6) -> None:
        """So many rounds of what the watches show, and of the looks that follow from it."""
        self.tenure.begin()
        for _ in range(rounds):
            self.cluster.clock.advance(3.0)
            for watch in self.container.watches:
                self.signs.heard(watch.resource.plural)
                for obj in self.cluster.kube.list(watch.resource):
                    if watch.seen is not None:
                        watch.seen("MODIFIED", obj)
                    for key in watch.keys(obj):
                        self.container.queue.add(key)
            operator._work(self.container, self.measures)
            for thread in threading.enumerate():
                if thread.name.startswith("helm "):
                    thread.join(DEADLINE)

    def scrape(self) -> dict[str, list[tuple[dict[str, str], float]]]:
        """Over HTTP, from the container's one port: values with their labels, by name."""
        board = LeaseBoard(memoryview(bytearray(BOARD_SIZE)), LeaseTimes(), self.cluster.clock.monotonic)
        endpoint = operator._endpoint(self.container, self.tenure, self.signs, board, self.measures)
        server = serve_endpoint(endpoint, 0, address="127.0.0.1")
        try:
            with urllib.request.urlopen(
                f"http://127.0.0.1:{server.server_address[1]}/metrics", timeout=DEADLINE
            ) as got:
                text = got.read().decode()
        finally:
            server.shutdown()
            server.server_close()
        found: dict[str, list[tuple[dict[str, str], float]]] = {}
        for family in text_string_to_metric_families(text):
            for sample in family.samples:
                found.setdefault(sample.name, []).append((dict(sample.labels), sample.value))
        return found


class Cluster:
    """A region, and what else a test puts there."""

    def __init__(self) -> None:
        self.clock = FakeClock(start=START)
        self.watched = WatchedCluster(self.clock)
        self.kube = self.watched.kube
        self.helm = FakeHelm(self.kube, self.clock)
        self.watched.region()

    def bundle(self, *releases: str) -> None:
        items = [{"name": one, "chart": {"name": one, "path": one}} for one in releases]
        owner = {"apiVersion": OSDPL.api_version, "kind": OSDPL.kind, "name": REGION, "uid": "1"}
        meta = {"name": "compute", "namespace": NS, "ownerReferences": [{**owner, "controller": True}]}
        head = {"apiVersion": HELMBUNDLE.api_version, "kind": HELMBUNDLE.kind, "metadata": meta}
        self.kube.create({**head, "spec": {"releases": items}})

    def release(self, name: str) -> dict[str, Any]:
        bundle = self.kube.get(HELMBUNDLE, "compute", NS)
        assert bundle is not None
        [entry] = [one for one in bundle["status"]["releases"] if one["name"] == name]
        return cast(dict[str, Any], entry)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str, Cluster], Composed]]:
    with monkeypatch.context() as patch:
        yield lambda name, cluster: Composed(name, cluster, patch)


Run = Callable[[str, Cluster], Composed]


def only(found: Mapping[str, list[tuple[dict[str, str], float]]], metric: str, **labels: str) -> float:
    [value] = [value for names, value in found[metric] if labels.items() <= names.items()]
    return value


@pytest.mark.parametrize("name", CONTAINERS)
def test_every_container_reports_itself(name: str, run: Run) -> None:
    container = run(name, Cluster())
    for kind in container.container.reconcilers:
        container.container.queue.add((kind, NS, "late"))
    container.cluster.clock.advance(90)
    before = container.scrape()
    assert before["osctl_lease_held"] == [({"region_namespace": NS}, 0)]
    # No work is late that could not be done.
    assert only(before, "osctl_queue_oldest_seconds") == 0
    assert before["osctl_queue_keys"][0][1] >= len(container.container.reconcilers)
    assert {value for _, value in before["osctl_watch_silence_seconds"]} == {90}
    container.tenure.begin()
    container.cluster.clock.advance(30)
    assert only(container.scrape(), "osctl_queue_oldest_seconds") == 30
    container.work(1)
    found = container.scrape()
    assert only(found, "osctl_build_info", process=name, version=container.settings.version) == 1
    assert found["osctl_lease_held"] == [({"region": REGION, "region_namespace": NS}, 1)]
    kinds = {labels["kind"] for labels, _ in found["osctl_reconcile_duration_seconds_count"]}
    assert kinds == set(container.container.reconcilers)
    assert {labels["kind"] for labels, _ in found["osctl_queue_retries_total"]} == kinds
    assert {value for _, value in found["osctl_watch_silence_seconds"]} == {0}
    assert found["process_resident_memory_bytes"][0][1] > 1e6


@pytest.mark.parametrize("name", CONTAINERS)
def test_every_series_of_a_container_bears_the_region(name: str, run: Run) -> None:
    cluster = Cluster()
    cluster.bundle("nova")
    container = run(name, cluster)
    container.work(2)
    series = [labels for samples in container.scrape().values() for labels, _ in samples]
    assert len(series) > 20
    assert {(labels.get("region"), labels.get("region_namespace")) for labels in series} == {(REGION, NS)}


def test_core_reports_conditions_and_releases(run: Run) -> None:
    core = run("core", Cluster())
    core.work(3)
    found = core.scrape()
    assert only(found, "osctl_condition_status", region=REGION, type="Ready", status="True") == 0
    assert only(found, "osctl_condition_status", region=REGION, type="SpecValid", status="True") == 1
    assert only(found, "osctl_condition_last_transition_timestamp_seconds", type="SpecValid") >= START
    assert only(found, "osctl_region_releases", region=REGION) > 5
    assert only(found, "osctl_region_releases_deployed", region=REGION) == 0
    assert [labels["region"] for labels, _ in found["osctl_region_info"]] == [REGION]


def test_helmbundle_reports_actions_retries_skips_unlocks_and_sizes(run: Run) -> None:
    cluster = Cluster()
    cluster.bundle("nova", "libvirt")
    cluster.helm.fails["libvirt"] = "no such image"
    helmbundle = run("helmbundle", cluster)
    helmbundle.work(12)
    found = helmbundle.scrape()
    count = "osctl_helm_action_duration_seconds_count"
    assert only(found, count, release="nova", action="Install", result="success") == 1
    failures = only(found, "osctl_release_failures", bundle="compute", release="libvirt")
    assert failures >= 2
    assert only(found, "osctl_helm_retries_total", release="libvirt") == failures - 1
    assert only(found, "osctl_helm_retries_total", release="nova") == 0
    assert only(found, "osctl_release_digest_skips_total", release="nova") > 3
    assert only(found, "osctl_release_deployed", release="nova") == 1
    assert only(found, "osctl_release_deployed", release="libvirt") == 0
    assert only(found, "osctl_release_drift_found_total", release="nova") == 0
    assert only(found, "osctl_release_size_bytes", release="nova") == cluster.release("nova")["bytes"] > 0
    assert only(found, "osctl_release_unlocks", bundle="compute", release="nova") == 0
    for times in (1, 2):
        version = cluster.helm.observe(NS)["nova"][-1].version + 1
        labels = {**cluster.helm.labels("nova"), "osctl.dev/revision": str(version)}
        cluster.helm.record("nova", version, "pending-upgrade", **labels)
        helmbundle.restart()
        helmbundle.work(12)
        assert only(helmbundle.scrape(), "osctl_release_unlocks", bundle="compute", release="nova") == times


def test_health_reports_components(run: Run) -> None:
    cluster = Cluster()
    cluster.watched.bundle("nova")
    cluster.watched.put(deployment())
    health = run("health", cluster)
    health.work()
    found = health.scrape()
    [(labels, ready)] = found["osctl_component_pods_ready"]
    [(_, desired)] = found["osctl_component_pods_desired"]
    said = {names["status"]: value for names, value in found["osctl_component_status"]}
    osdpl_ = cluster.kube.get(OSDPL, REGION, NS)
    assert osdpl_ is not None
    entry = osdpl_["status"]["health"][labels["application"]][labels["component"]]
    assert (ready, desired) == (entry["ready"], entry["desired"])
    assert said == {word: float(word == entry["status"]) for word in said}
    assert sum(said.values()) == 1


def test_secrets_reports_ages_and_ends(run: Run) -> None:
    cluster = Cluster()
    meta = {"name": "keystone-tls-api", "namespace": NS, "annotations": {ISSUED: "keystone-tls-api"}}
    texts = {"tls.crt": certificate("2027-01-01"), "tls.key": "private"}
    head = {"apiVersion": "v1", "kind": SECRET.kind, "metadata": meta, "type": TLS_TYPE}
    cluster.kube.create({**head, "stringData": texts})
    secrets = run("secrets", cluster)
    secrets.work(2)
    cluster.clock.advance(CHECK_SECONDS)
    secrets.work(2)
    found = secrets.scrape()
    moments = [value for _, value in found["osctl_secret_rotated_timestamp_seconds"]]
    assert moments
    assert all(START <= moment <= cluster.clock.now() for moment in moments)
    ends = only(found, "osctl_certificate_expiry_timestamp_seconds", region=REGION, secret="keystone-tls-api")
    assert ends == 1798761600.0


def test_node_names_nodes_and_maintenances(run: Run) -> None:
    cluster = Cluster()
    for name, ready in (("cmp1", "True"), ("cmp2", "Unknown")):
        cluster.watched.put({"apiVersion": "v1", "kind": NODE.kind, **node(name, ready)})
    head = {"apiVersion": COMPUTE_MAINTENANCE.api_version, "kind": COMPUTE_MAINTENANCE.kind}
    for name, namespace in (("m1", NS), ("of-another", "elsewhere")):
        spec = {"region": {"namespace": namespace, "name": REGION}, "nodeName": "cmp1", "mode": "Cordon"}
        cluster.kube.create({**head, "metadata": {"name": name}, "spec": spec})
    container = run("node", cluster)
    container.work(10)
    found = container.scrape()
    assert {labels["node"]: value for labels, value in found["osctl_node_ready"]} == {"cmp1": 1, "cmp2": 0}
    assert only(found, "osctl_nodes_circuit_breaker_open", region=REGION) in (0, 1)
    [(labels, value)] = found["osctl_compute_maintenance"]
    there = cluster.kube.get(COMPUTE_MAINTENANCE, "m1", None)
    assert there is not None
    assert (labels["phase"], value) == (there["status"]["phase"], 1)
    assert (labels["maintenance"], labels["node"], labels["mode"]) == ("m1", "cmp1", "Cordon")


def test_servers_reports_each_server_why_it_is_as_it_is(run: Run) -> None:
    cluster = Cluster()
    cluster.kube.create(server("bastion"))
    container = run("servers", cluster)
    container.work(4)
    [(labels, value)] = container.scrape()["osctl_server"]
    assert (labels["server"], labels["reason"], value) == ("openstack/bastion", "CredentialsMissing", 1)
    cluster.kube.delete(SERVER, "bastion", NS)
    container.container.watches[0].seen("DELETED", server("bastion"))
    assert "osctl_server" not in container.scrape()
