"""An OpenStackDeployment that comes back as another object, on a real API server with its garbage collector.

So it is after a restore of a namespace from a backup: names and contents are the same, uids are not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from controller.adapters.charts.source import ChartStore
from controller.adapters.helm.records.release_records import SecretRecords
from controller.adapters.kubernetes.client import PykubeClient
from controller.adapters.kubernetes.connection import connect
from controller.adapters.system.clock import SystemClock
from controller.adapters.system.randomness import SystemRandomness
from controller.domain.api.conditions import is_true
from controller.domain.releases.bundle import BundleSpec, ChartRef, ReleaseSpec
from controller.domain.values.catalogue import CredentialSecret
from controller.ports.kubernetes import CONFIGMAP, HELMBUNDLE, OSDPL, SECRET, Kube, KubeObject
from controller.reconcile.credentials.region_pass import RegionNeeds, SecretsPorts
from controller.reconcile.credentials.secrets import SecretsReconciler
from controller.reconcile.credentials.step_list import credential_steps
from controller.reconcile.region.deployment import DeploymentReconciler
from controller.reconcile.region.parts import RegionPorts, RegionSettings
from controller.render.region import Region, RegionBundle
from sandbox.cluster import Sandbox
from tests.cluster.region import CHART
from tests.contract.conftest import wait_until
from tests.contract.kube_api import DEFINITION
from tests.fakes.option_files import option_files
from tests.reconcile.bundles import NoEvents

pytestmark = pytest.mark.cluster

NAME = "region-one"
CREDENTIALS = (CredentialSecret("database-credentials", "database", {"root-password": "password"}),)


@pytest.fixture
def kube(sandbox: Sandbox) -> Kube:
    client = PykubeClient(connect(sandbox.kubeconfig))
    for path in sorted((CHART / "files" / "crds").glob("*.yaml")):
        sandbox.kubectl("apply", "--server-side", "--force-conflicts", "-f", str(path))

    def established(plural: str) -> bool:
        found = client.get(DEFINITION, f"{plural}.osctl.dev") or {}
        return bool(is_true((found.get("status") or {}).get("conditions") or [], "Established"))

    for resource in (OSDPL, HELMBUNDLE):
        wait_until(lambda plural=resource.plural: established(plural), "the API server serves it")
    return client


def passes(kube: Kube, namespace: str) -> Callable[[], None]:
    """One pass of core and one of secrets, as new containers would make them."""
    release = ReleaseSpec("mariadb", namespace, ChartRef("mariadb", path="mariadb"))
    bundle = RegionBundle("database", "database", (), BundleSpec((release,), volumes="Delete"))
    region = Region((bundle,), ())
    clock, events = SystemClock(), NoEvents()

    def look() -> None:
        core = DeploymentReconciler(
            RegionPorts(kube=kube, clock=clock, events=events, charts=ChartStore(CHART.parent)),
            RegionSettings(containers=("core", "helmbundle", "secrets"), version="1", resync=300),
            render=lambda osdpl: region,
        )
        ports = SecretsPorts(
            kube=kube,
            clock=clock,
            randomness=SystemRandomness(),
            events=events,
            records=SecretRecords(kube),
            digest_key=lambda: b"k" * 32,
            option_files=option_files(),
        )
        secrets = SecretsReconciler(
            ports, lambda osdpl: RegionNeeds(CREDENTIALS), credential_steps(ports), resync=300
        )
        core.reconcile((namespace, NAME))
        secrets.reconcile((namespace, NAME))

    return look


def osdpl(namespace: str) -> dict[str, Any]:
    spec = {
        "openstackVersion": "2026.1",
        "preset": "core",
        "size": "single",
        "publicDomainName": "example.org",
        "volumes": "Delete",
    }
    meta = {"name": NAME, "namespace": namespace}
    return {"apiVersion": OSDPL.api_version, "kind": OSDPL.kind, "metadata": meta, "spec": spec}


def read(kube: Kube, namespace: str) -> tuple[KubeObject, KubeObject]:
    bundle = kube.get(HELMBUNDLE, "database", namespace)
    secret = kube.get(SECRET, "database-credentials", namespace)
    assert bundle is not None, "the bundle is gone"
    assert secret is not None, "the credentials are gone"
    return bundle, secret


def comes_back(kube: Kube, namespace: str, uid: str) -> None:
    """The osdpl is lost with its finalizer, and restored; the garbage collector has seen both."""
    owner = {"apiVersion": OSDPL.api_version, "kind": OSDPL.kind, "name": NAME, "uid": uid}
    meta: Mapping[str, Any] = {"name": "canary", "namespace": namespace, "ownerReferences": [owner]}
    kube.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta})
    kube.merge_patch(OSDPL, NAME, namespace, {"metadata": {"finalizers": None}})
    kube.delete(OSDPL, NAME, namespace)
    wait_until(lambda: kube.get(OSDPL, NAME, namespace) is None, "it is gone")
    kube.create(osdpl(namespace))
    wait_until(lambda: kube.get(CONFIGMAP, "canary", namespace) is None, "what it owned is collected")


def test_nothing_of_a_region_that_comes_back_is_deleted(kube: Kube, namespace: str) -> None:
    look = passes(kube, namespace)
    first = kube.create(osdpl(namespace))
    look()
    bundle, secret = read(kube, namespace)
    assert not {"ownerReferences"} & (bundle["metadata"].keys() | secret["metadata"].keys())
    comes_back(kube, namespace, str(first["metadata"]["uid"]))
    for _ in range(3):
        look()
        now, kept = read(kube, namespace)
        assert "deletionTimestamp" not in now["metadata"]
        assert (now["metadata"]["uid"], now["spec"]) == (bundle["metadata"]["uid"], bundle["spec"])
        assert (kept["metadata"]["uid"], kept["data"]) == (secret["metadata"]["uid"], secret["data"])
