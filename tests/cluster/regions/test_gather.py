"""osctl gather against a real API server: secrets in every place, and an account that may read little."""

from __future__ import annotations

import base64
import io
import json
import os
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sandbox.patience import patient
from tests.cluster.leaks import telling
from tests.cluster.region import NAME, RELEASES, ROOT, Region

pytestmark = [pytest.mark.cluster, pytest.mark.xdist_group("shared-region"), pytest.mark.timeout(900)]

KNOWN = "Pl4nted/in+a Secret%42"
CLEAR = "clear-text-that-no-secret-has-77"


def gather(region: Region, file: Path, kubeconfig: Path, *more: str) -> subprocess.CompletedProcess[str]:
    given = ("-n", region.namespace, "--controller-namespace", region.namespace, "--to", str(file))
    return subprocess.run(
        [sys.executable, "-P", "-m", "controller.cli.main", "gather", NAME, *given, *more],
        check=False,
        capture_output=True,
        text=True,
        timeout=patient(300),
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "KUBECONFIG": str(kubeconfig)},
    )


def entries_of(file: Path) -> dict[str, str]:
    with tarfile.open(file) as tar:
        members = [(one, tar.extractfile(one)) for one in tar.getmembers()]
        return {one.name.partition("/")[2]: (found or io.BytesIO()).read().decode() for one, found in members}


def planted(namespace: str) -> Iterator[dict[str, Any]]:
    meta = {"name": "planted", "namespace": namespace, "annotations": {"note": CLEAR}}
    yield {"apiVersion": "v1", "kind": "Secret", "metadata": meta, "stringData": {"password": KNOWN}}
    yield {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"run.sh": CLEAR, "a": KNOWN}}
    container = {
        "name": "main",
        "image": "registry.example.org/none:1",
        "env": [{"name": "COLOUR", "value": CLEAR}, {"name": "SHAPE", "value": KNOWN}],
        "args": [CLEAR, KNOWN],
    }
    yield {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {"containers": [container]}}
    coded = base64.b64encode(KNOWN.encode()).decode()
    yield {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "planted", "namespace": namespace},
        "involvedObject": {"kind": "Pod", "name": "planted", "namespace": namespace},
        "reason": "Planted",
        "type": "Warning",
        "message": f"it said {KNOWN}, {coded} and postgres://a:{CLEAR}@db/x",
    }


@pytest.fixture
def secrets_planted(shared_region: Region) -> Iterator[Region]:
    objects = list(planted(shared_region.namespace))
    listed = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
    shared_region.kubectl("apply", "-f", "-", input=listed)
    yield shared_region
    shared_region.kubectl("delete", "-f", "-", "--ignore-not-found", "--now", input=listed)


def secret_values(region: Region) -> dict[str, str]:
    """What tells a value of any Secret of the namespace, except what charts and Helm made of them."""
    selector = "app.kubernetes.io/managed-by=openstack-controller"
    found = [pair for one in region.get("secrets", "-l", selector)["items"] for pair in telling(one)]
    return {value: key for key, value in found}


def test_a_region_is_gathered_and_no_secret_of_it(secrets_planted: Region, tmp_path: Path) -> None:
    region, file = secrets_planted, tmp_path / "it.tar.gz"
    found = gather(region, file, region.sandbox.kubeconfig)
    # The sandbox's nodes have no kubelet, so the API server has no logs of the controller's pods.
    assert found.returncode == 6, found.stdout + found.stderr
    entries = entries_of(file)
    everything = "\n".join(entries.values()) + found.stdout + found.stderr
    values = secret_values(region) | {KNOWN: "planted", CLEAR: "clear"}
    values[base64.b64encode(KNOWN.encode()).decode()] = "coded"
    assert len(values) > 40 and [what for value, what in values.items() if value in everything] == []
    [osdpl] = map(json.loads, entries["region/openstackdeployments.jsonl"].splitlines())
    assert osdpl["metadata"]["name"] == NAME and osdpl["status"]["conditions"]
    releases = {json.loads(line)["release"] for line in entries["region/releases.jsonl"].splitlines()}
    assert releases >= RELEASES
    pods = [json.loads(line) for line in entries[f"{region.namespace}/pods.jsonl"].splitlines()]
    assert len(pods) > 10 and "planted" in {one["metadata"]["name"] for one in pods}
    assert "it said [redacted], [redacted] and postgres://a:[redacted]@db/x" in everything
    assert '"gitVersion"' in entries["versions.json"]
    manifest = json.loads(entries["manifest.json"])
    assert {one["path"] for one in manifest["entries"]} == entries.keys() - {"manifest.json"}
    assert all(one["path"].startswith(f"{region.namespace}/logs/") for one in manifest["leftOut"])
    assert {"core.log", "node.previous.log"} <= {Path(one["path"]).name for one in manifest["leftOut"]}


def test_an_account_that_may_read_little_gets_that_and_no_secret(
    secrets_planted: Region, tmp_path: Path
) -> None:
    region, file = secrets_planted, tmp_path / "it.tar.gz"
    region.kubectl("create", "serviceaccount", "viewer")
    region.kubectl(
        *("create", "role", "viewer", "--verb=get,list"),
        "--resource=openstackdeployments.osctl.dev,helmbundles.osctl.dev,pods,configmaps",
    )
    region.kubectl(
        *("create", "rolebinding", "viewer", "--role=viewer"),
        f"--serviceaccount={region.namespace}:viewer",
    )
    try:
        kubeconfig = region.sandbox.service_account_kubeconfig(region.namespace, "viewer", tmp_path)
        found = gather(region, file, kubeconfig)
    finally:
        for kind in ("rolebinding", "role", "serviceaccount"):
            region.kubectl("delete", kind, "viewer")
    assert found.returncode == 6, found.stdout + found.stderr
    entries = entries_of(file)
    everything = "\n".join(entries.values()) + found.stdout + found.stderr
    values = secret_values(region) | {CLEAR: "clear"}
    assert [what for value, what in values.items() if value in everything] == []
    assert "region/helmbundles.jsonl" in entries and f"{region.namespace}/pods.jsonl" in entries
    missing = {one["path"]: one["why"] for one in json.loads(entries["manifest.json"])["leftOut"]}
    assert "forbidden" in missing["cluster/nodes.jsonl"]
    assert "texts cannot be searched" in missing[f"{region.namespace}/events.jsonl"]
    assert "left out: cluster/nodes.jsonl" in found.stderr
