"""helmbundle behind a faulty network: driven, killed and looked at by tests."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from controller.adapters.helm.records.record_texts import decode_record
from controller.adapters.helm.records.release_records import SecretRecords
from controller.adapters.kubernetes.client import PykubeClient
from controller.adapters.kubernetes.connection import connect
from controller.domain.api.names import REVISION_LABEL
from controller.ports.kubernetes import CONFIGMAP, HELMBUNDLE, JOB, PVC, SECRET
from sandbox.cluster import Sandbox
from sandbox.controllers import Controllers
from sandbox.fault_proxy import FaultProxy
from sandbox.patience import Patience
from tests.cluster.conftest import installed
from tests.cluster.region import NeverHappened, Region

CHARTS = Path(__file__).parent / "charts"
BUNDLE = "chaos"
CONTAINER = "helmbundle"
# Both have hooks, before and after; the first has what must not be changed and what must not be lost.
FIRST = {"hook": "pre-install,pre-upgrade", "stateful": True}
SECOND = {"hook": "post-install,post-upgrade", "farewell": True}
FINISHED = {"deployed", "superseded", "failed"}


def wait_for(what: str, check: Callable[[], Any], timeout: float, show: Callable[[], str]) -> Any:
    """The first true answer, asked for often, for a sweep waits thousands of times; later more seldom."""
    began, patience = time.monotonic(), Patience(timeout)
    while not (answer := check()):
        waited = time.monotonic() - began
        if patience.is_over():
            raise NeverHappened(f"{what}: not within {waited:.0f} s\n{show()}")
        time.sleep(min(0.5, 0.05 + waited / 40))
    return answer


@dataclass
class World:
    """One namespace, one container behind the proxy, one HelmBundle of two releases."""

    region: Region
    proxy: FaultProxy
    controllers: Controllers
    kube: PykubeClient
    kills: int = 0
    claims: dict[str, str] = field(default_factory=dict)

    @property
    def namespace(self) -> str:
        return self.region.namespace

    # -- what a person does -------------------------------------------------------------------------

    def apply(self, colour: str, name: str = BUNDLE, **more: Any) -> None:
        """The bundle with every release in this colour."""
        releases = [self.release("first", colour, FIRST), self.release("second", colour, SECOND, "first")]
        self.apply_releases(releases, name, **more)

    def apply_releases(self, releases: list[dict[str, Any]], name: str = BUNDLE, **more: Any) -> None:
        body = {
            "apiVersion": "osctl.dev/v1alpha1",
            "kind": "HelmBundle",
            "metadata": {"name": name, "namespace": self.namespace},
            "spec": {"releases": releases, **more},
        }
        self.kube.apply(body, manager="test")

    def release(self, name: str, colour: str, values: Mapping[str, Any], *needs: str) -> dict[str, Any]:
        return {
            "name": name,
            "chart": {"name": "worker", "path": "worker"},
            "values": {"colour": colour, **values},
            "dependsOn": list(needs),
            "timeout": "2m",
        }

    def delete(self, name: str = BUNDLE) -> None:
        self.kube.delete(HELMBUNDLE, name, self.namespace)

    # -- what happens to the container --------------------------------------------------------------

    def kill(self) -> None:
        """SIGKILL; whatever of it still hangs in the proxy goes with it, and a new one starts."""
        self.controllers.kill(CONTAINER)
        self.kills += 1
        self.proxy.resume()
        self.controllers.start()

    @contextlib.contextmanager
    def another_pod(self, proxy: FaultProxy, directory: Path) -> Iterator[Controllers]:
        """The same container once more, as in a pod that replaces another one which still runs."""
        with _container(proxy, self.namespace, directory, "openstack-controller-1") as controllers:
            yield controllers

    def revive(self) -> None:
        """Starts the container again if it has ended by itself, as the kubelet would."""
        if not self.controllers.running():
            self.controllers.start()

    # -- what is seen -------------------------------------------------------------------------------

    def bundle(self, name: str = BUNDLE) -> dict[str, Any] | None:
        return self.kube.get(HELMBUNDLE, name, self.namespace)

    def ready(self, name: str = BUNDLE) -> bool:
        obj = self.bundle(name)
        if obj is None:
            return False
        conditions = (obj.get("status") or {}).get("conditions") or []
        one = next((one for one in conditions if one["type"] == "Ready"), {})
        current = one.get("observedGeneration") == obj["metadata"]["generation"]
        return bool(current and one.get("status") == "True")

    def wait_ready(self, name: str = BUNDLE, timeout: float = 240.0) -> None:
        self.wait(f"{name} is Ready", lambda: self.ready(name), timeout)

    def wait_gone(self, name: str = BUNDLE, timeout: float = 240.0) -> None:
        self.wait(f"{name} is gone", lambda: self.bundle(name) is None, timeout)

    def wait(self, what: str, check: Callable[[], Any], timeout: float = 240.0) -> None:
        """Until it comes true; a container that ends by itself meanwhile is started again."""

        def revived() -> Any:
            done = check()
            if not done:
                self.revive()
            return done

        wait_for(what, revived, timeout, self.show)

    def show(self) -> str:
        bundle = self.bundle() or {}
        bundle.get("metadata", {}).pop("managedFields", None)
        log = self.controllers.log(CONTAINER)[-6000:]
        return f"{json.dumps(bundle)}\n{self.histories()}\n{log}"

    def histories(self) -> dict[str, list[tuple[int, str]]]:
        found = SecretRecords(self.kube).observe(self.namespace)
        return {
            name: [(one.version, one.status) for one in revisions]
            for name, revisions in found.items()
            if not name.startswith("osctl-")
        }

    def names(self, resource: Any) -> set[str]:
        found = {obj["metadata"]["name"] for obj in self.kube.list_metadata(resource, self.namespace)}
        return found - {"kube-root-ca.crt"}

    def claim_uids(self) -> dict[str, str]:
        claims = self.kube.list_metadata(PVC, self.namespace)
        return {claim["metadata"]["name"]: claim["metadata"]["uid"] for claim in claims}

    # -- what must hold -----------------------------------------------------------------------------

    def assert_whole(self, colour: str) -> None:
        """Both releases are deployed as wanted: one record each says so, and the cluster agrees."""
        histories = self.histories()
        assert set(histories) == {"first", "second"}, histories
        for name, revisions in histories.items():
            self._assert_history(name, revisions)
            config = self.kube.get(CONFIGMAP, name, self.namespace)
            assert config is not None
            assert config["data"] == {"colour": colour}, name
        assert self.names(CONFIGMAP) == {"first", "second"}
        assert self.names(JOB) == {"first-hook", "first-migrate", "second-hook"}
        for job in self.kube.list(JOB, self.namespace):
            [container] = job["spec"]["template"]["spec"]["containers"]
            assert container["env"][0]["value"] == colour, job["metadata"]["name"]
            assert "deletionTimestamp" not in job["metadata"], job["metadata"]["name"]
        self._assert_claims_kept()

    def assert_gone(self) -> None:
        """Nothing is left but the claim."""
        assert self.histories() == {}
        wait_for(
            "background deletion ends",
            lambda: not self.names(JOB) and not self.names(CONFIGMAP),
            120,
            lambda: f"{self.names(JOB)} {self.names(CONFIGMAP)}",
        )
        self._assert_claims_kept()

    # Helm notes that an older revision is superseded after it has noted the new one, and forgets it when
    # that request is lost: two may say "deployed", of which Helm and we take the newest.
    def _assert_history(self, name: str, revisions: list[tuple[int, str]]) -> None:
        numbers, statuses = [number for number, _ in revisions], [status for _, status in revisions]
        assert set(statuses) <= FINISHED, (name, revisions)
        assert statuses[-1] == "deployed", (name, revisions)
        assert numbers == sorted(set(numbers)), (name, revisions)
        assert len(numbers) <= 5, (name, revisions)
        secret = self.kube.get(SECRET, f"sh.helm.release.v1.{name}.v{numbers[-1]}", self.namespace)
        assert secret is not None
        assert secret["metadata"]["labels"][REVISION_LABEL] == str(numbers[-1])
        record = decode_record(secret["data"]["release"], name)
        first_time = numbers[-1] == 1
        event = "install" if first_time else "upgrade"
        phases = [
            hook["last_run"].get("phase")
            for hook in record["hooks"]
            if any(one.endswith(event) for one in hook["events"])
        ]
        assert phases == ["Succeeded"], (name, phases)

    def _assert_claims_kept(self) -> None:
        """The claim is there, and it is the one that was there before."""
        uids = self.claim_uids()
        self.claims = self.claims or uids
        assert uids == self.claims
        assert set(uids) == {"first-data"}


class _OneKubeconfig:
    """The proxy as a cluster whose kubeconfig is written once: a token lasts longer than a test."""

    def __init__(self, proxy: FaultProxy) -> None:
        self._proxy = proxy
        self._path: Path | None = None

    def service_account_kubeconfig(self, namespace: str, name: str, directory: Path) -> Path:
        if self._path is None:
            self._path = self._proxy.service_account_kubeconfig(namespace, name, directory)
        return self._path


@contextlib.contextmanager
def _container(
    proxy: FaultProxy,
    namespace: str,
    directory: Path,
    pod: str = "openstack-controller-0",
    settings: Mapping[str, str] | None = None,
) -> Iterator[Controllers]:
    controllers = Controllers(
        _OneKubeconfig(proxy),
        namespace,
        directory,
        containers=(CONTAINER,),
        environment={"CHARTS_DIR": str(CHARTS), **(settings or {})},
        die_with_parent=True,
        service_account=f"osctl-{namespace}",
        pod_name=pod,
    )
    try:
        controllers.start()
        yield controllers
    finally:
        controllers.stop(grace=2.0)


@contextlib.contextmanager
def chaos(
    sandbox: Sandbox, namespace: str, directory: Path, settings: Mapping[str, str] | None = None
) -> Iterator[World]:
    """A world whose container runs."""
    if not isinstance(sandbox, Sandbox):
        pytest.skip("the test puts a proxy before the API server: not on an existing cluster")
    connection = connect(sandbox.kubeconfig)
    # The test itself is patient: it is not what is tested.
    kube = PykubeClient(connection, user_agent="test", read_timeout=120.0, retries_within=120.0)
    for region in installed(sandbox, namespace, directory, ()):
        with (
            FaultProxy(sandbox) as proxy,
            _container(proxy, namespace, directory / "container", settings=settings) as controllers,
        ):
            yield World(region, proxy, controllers, kube)
