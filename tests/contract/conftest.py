"""What the contract suites of the Helm adapter share."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from containers.helm import helm_client
from controller.adapters.helm.records.release_records import SecretRecords
from controller.adapters.kubernetes.client import PykubeClient
from controller.adapters.kubernetes.connection import connect
from controller.adapters.system.clock import SystemClock
from controller.domain.api.names import BUNDLE_LABEL, DIGEST_LABEL, REVISION_LABEL
from controller.domain.api.region_spec import VolumePolicy
from controller.domain.releases.actions import Action
from controller.domain.releases.bundle import ReleaseSpec
from controller.ports.helm import Cancellation, HelmClient, HelmRequest
from controller.ports.kubernetes import Kube
from controller.reconcile.releases.action_request import ActionRequest
from controller.reconcile.releases.actions.uninstall import uninstall
from controller.reconcile.releases.parts import ReleasePorts
from controller.settings import read_settings
from sandbox.cluster import Sandbox
from sandbox.patience import Patience
from tests.fakes.option_files import option_files
from tests.reconcile.bundles import Charts, NoEvents

CHARTS = Path(__file__).parent / "charts"


def wait_until(condition: Callable[[], Any], what: str, timeout: float = 120.0) -> Any:
    """The first true answer of `condition`; fails the test when there is none in time."""
    patience = Patience(timeout)
    while not (answer := condition()):
        if patience.is_over():
            pytest.fail(f"not within {timeout:g} s: {what}")
        time.sleep(0.05)
    return answer


def make_client(sandbox: Sandbox, kube: Kube, more: Mapping[str, str] | None = None) -> HelmClient:
    """The adapter as helmbundle gets it from its settings."""
    settings = read_settings({"HELM_BINARY": str(sandbox.helm), **(more or {})})
    return helm_client(settings, kube, sandbox.kubeconfig)


@dataclass(frozen=True)
class Bench:
    """One namespace, the Helm adapter, and short ways to say what a test asks of them."""

    helm: HelmClient
    kube: Kube
    records: SecretRecords
    namespace: str
    sandbox: Sandbox

    def uninstall(
        self,
        release: str,
        cancellation: Cancellation | None = None,
        *,
        spec: ReleaseSpec | None = None,
        skip_hooks: bool = False,
        volumes: VolumePolicy = "Retain",
    ) -> str:
        """As ours does; with a spec to make room for a new install."""
        history = self.helm.history(release, self.namespace)
        request = ActionRequest(
            Action.UNINSTALL,
            "identity",
            release,
            self.namespace,
            version=history[-1].version if history else 1,
            spec=spec,
            skip_hooks=skip_hooks,
            volumes=volumes,
        )
        return uninstall(self.ports(), request, cancellation or self.helm.new_cancellation())

    def ports(self) -> ReleasePorts:
        """As actions of ours are given them."""
        return ReleasePorts(
            kube=self.kube,
            as_charts=self.kube,
            helm=self.helm,
            records=self.records,
            charts=Charts(),
            clock=SystemClock(),
            events=NoEvents(),
            digest_key=lambda: b"key",
            option_files=option_files(),
        )

    def beside(self, namespace: str) -> Bench:
        """The same in another namespace."""
        return replace(self, namespace=namespace)

    def request(
        self, release: str, values: Mapping[str, Any] | None = None, *, chart: str = "small", **more: Any
    ) -> HelmRequest:
        more.setdefault("timeout", 300)
        return HelmRequest(release, self.namespace, str(CHARTS / chart), values or {}, **more)

    def labelled(self, version: int, digest: str = "0" * 40) -> dict[str, str]:
        return {BUNDLE_LABEL: "identity", DIGEST_LABEL: digest, REVISION_LABEL: str(version)}

    def statuses(self, release: str) -> list[str]:
        return [one.status for one in self.helm.history(release, self.namespace)]

    def config(self, release: str) -> dict[str, str]:
        found = self.object("configmap", release)
        return {} if found is None else dict(found.get("data") or {})

    def object(self, kind: str, name: str) -> dict[str, Any] | None:
        return self.kube.get(KINDS[kind], name, self.namespace)


def kinds() -> dict[str, Any]:
    from controller.ports import kubernetes as ports

    return {
        "configmap": ports.CONFIGMAP,
        "secret": ports.SECRET,
        "claim": ports.PVC,
        "job": ports.JOB,
        "statefulset": ports.STATEFULSET,
    }


KINDS = kinds()


@pytest.fixture
def kube(sandbox: Sandbox) -> Kube:
    return PykubeClient(connect(sandbox.kubeconfig))


@pytest.fixture
def bench(sandbox: Sandbox, namespace: str, kube: Kube) -> Bench:
    return Bench(make_client(sandbox, kube), kube, SecretRecords(kube), namespace, sandbox)
