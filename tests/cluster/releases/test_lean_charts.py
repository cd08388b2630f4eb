"""The lean charts on a real API server, by the helm command alone."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import yaml

from sandbox.cluster import Sandbox
from sandbox.patience import patient
from tests.charts.lean import CHARTS, LEAN, credentials, manifests, objects
from tests.cluster.region import within
from tests.contract.conftest import wait_until
from tests.sweeps import swept

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(1200)]


class Releases:
    """The helm command in one namespace."""

    def __init__(self, sandbox: Sandbox, namespace: str, directory: Path) -> None:
        self.sandbox = sandbox
        self.namespace = namespace
        self.directory = directory

    def helm(self, *arguments: str) -> str:
        command = [str(self.sandbox.helm), "--kubeconfig", str(self.sandbox.kubeconfig)]
        command += ["--namespace", self.namespace, *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=patient(420), check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def values(self, name: str) -> str:
        file = self.directory / f"{name}.yaml"
        file.write_text(yaml.safe_dump(credentials(name)))
        return str(file)

    def install(self, name: str) -> None:
        self.helm(
            "install", name, str(CHARTS / name), "--values", self.values(name), "--timeout", within(400)
        )

    def get(self, kinds: str) -> list[dict[str, Any]]:
        found = json.loads(self.sandbox.kubectl("-n", self.namespace, "get", kinds, "-o", "json"))["items"]
        assert isinstance(found, list)
        return found


@pytest.fixture
def releases(sandbox: Sandbox, namespace: str, tmp_path: Path) -> Releases:
    return Releases(sandbox, namespace, tmp_path)


def settled(item: Mapping[str, Any]) -> bool:
    """Whether a workload has all its pods ready, or a Job has completed."""
    status = item.get("status", {})
    if item["kind"] == "Job":
        return bool(status.get("succeeded"))
    if item["kind"] == "DaemonSet":
        return int(status.get("desiredNumberScheduled", 0)) == int(status.get("numberReady", -1))
    return int(item["spec"]["replicas"]) == int(status.get("readyReplicas", 0))


@pytest.mark.parametrize("name", LEAN)
def test_the_api_server_takes_every_object_under_strict_validation(
    name: str, sandbox: Sandbox, namespace: str
) -> None:
    given = "\n---\n".join(manifests(name, namespace=namespace).values())
    said = sandbox.kubectl(
        *("-n", namespace, "apply", "--server-side", "--dry-run=server", "--validate=strict", "-f", "-"),
        input=given,
    )
    assert said.count("serverside-applied (server dry run)") == len(objects(name, namespace=namespace))


@pytest.mark.exhaustive
def test_all_charts_installed_at_once_converge(releases: Releases) -> None:
    with ThreadPoolExecutor(5) as pool:
        list(pool.map(releases.install, LEAN))
    kinds = "deployments,statefulsets,daemonsets,jobs"
    wait_until(lambda: all(map(settled, releases.get(kinds))), "all workloads ready, all Jobs done", 240)
    names = {item["metadata"]["name"] for item in releases.get(kinds)}
    assert {"keystone-api", "mariadb-server", "nova-compute-default", "neutron-ovs-agent-default"} <= names
    assert {json.loads(releases.helm("status", name, "-o", "json"))["info"]["status"] for name in LEAN} == {
        "deployed"
    }


@pytest.mark.exhaustive
def test_keystone_takes_up_its_keys_when_it_is_installed_again(releases: Releases) -> None:
    releases.install("keystone")
    patch = json.dumps({"data": {"0": "a2V5"}})
    releases.sandbox.kubectl(
        *("-n", releases.namespace, "patch", "secret", "keystone-fernet-keys", "--type=merge", "-p", patch)
    )
    releases.helm("uninstall", "keystone")
    releases.install("keystone")
    (kept,) = [item for item in releases.get("secrets") if item["metadata"]["name"] == "keystone-fernet-keys"]
    assert kept["data"] == {"0": "a2V5"}


@pytest.mark.exhaustive
def test_the_volume_with_images_outlives_its_release_and_is_taken_up_again(releases: Releases) -> None:
    releases.install("glance")
    (before,) = releases.get("persistentvolumeclaims")
    releases.helm("uninstall", "glance")
    releases.install("glance")
    (after,) = releases.get("persistentvolumeclaims")
    assert (after["metadata"]["name"], after["metadata"]["uid"]) == (
        "glance-images",
        before["metadata"]["uid"],
    )


@pytest.mark.parametrize("name", swept(["keystone", "nova"], daily=["keystone"]))
def test_the_helm_command_renders_what_a_worker_renders(name: str, releases: Releases) -> None:
    text = releases.helm("template", name, str(CHARTS / name), "--values", releases.values(name))
    by_command = [item for item in yaml.safe_load_all(text) if item]

    def by_name(item: Mapping[str, Any]) -> tuple[str, str]:
        return item["kind"], item["metadata"]["name"]

    by_worker = objects(name, namespace=releases.namespace)
    assert sorted(by_command, key=by_name) == sorted(by_worker, key=by_name)
