"""Where a host keeps disks, as real DaemonSets of the chart tell it on a real API server."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from sandbox.cluster import Sandbox
from tests.charts.lean import objects
from tests.cli.objects import osctl
from tests.cluster.installation import Installation

pytestmark = [pytest.mark.cluster, pytest.mark.xdist_group("hosts")]

LABEL = "disks"
RBD = {"conf": {"nova": {"libvirt": {"images_type": "rbd", "images_rbd_pool": "vms"}}}}
LOCAL = {
    "label": {"key": LABEL, "values": ["local"]},
    "conf": {"nova": {"libvirt": {"images_type": "qcow2"}}},
}


@pytest.fixture
def installation(hosts_sandbox: Sandbox, tmp_path: Path) -> Iterator[Installation]:
    (node,) = json.loads(hosts_sandbox.kubectl("get", "nodes", "-o", "json"))["items"]
    with ExitStack() as stack:
        yield Installation(hosts_sandbox, tmp_path / "one", stack, node["metadata"]["name"])


def deploy_compute(installation: Installation) -> None:
    """The chart's DaemonSets of nova-compute: on Ceph, and on local disks where a node has the label."""
    values = {"conf": {**RBD["conf"], "overrides": {"nova_compute": {"labels": [LOCAL]}}}}
    for obj in copy.deepcopy(objects("nova", values, installation.region.namespace)):
        if obj["kind"] not in ("Secret", "DaemonSet") or "nova-compute" not in obj["metadata"]["name"]:
            continue
        if obj["kind"] == "DaemonSet":
            obj["spec"]["template"]["spec"].pop("serviceAccountName", None)
        installation.region.kubectl("apply", "--server-side", "-f", "-", input=json.dumps(obj))


def record(installation: Installation) -> dict[str, Any]:
    """What is remembered of the only host."""
    text = installation.region.kubectl("get", "cm", "osctl-host-disks", "-o", "json", "--ignore-not-found")
    kept: dict[str, str] = (json.loads(text).get("data") or {}) if text.strip() else {}
    found: dict[str, Any] = json.loads(kept[installation.node]) if installation.node in kept else {}
    return found


def planned(installation: Installation, name: str) -> dict[str, Any]:
    """What an evacuation would do with the only server."""
    installation.maintain(name, mode="Evacuate", dryRun=True)
    installation.wait(f"{name} is there", lambda: installation.status(name).get("phase") == "Planned")
    [server] = installation.status(name)["servers"]
    assert isinstance(server, dict)
    return server


def test_a_host_is_judged_by_its_own_daemonset_and_by_what_it_was_before(installation: Installation) -> None:
    one, kubectl = installation, installation.region.sandbox.kubectl
    one.wait_serving()
    deploy_compute(one)
    one.wait("it is known to be on Ceph", lambda: record(one).get("sure") is True)
    assert record(one)["backend"].startswith("rbd:vms:")
    one.cloud.boot(1, one.node, local_disk=True)
    assert planned(one, "on-ceph")["action"] == "Evacuate"

    kubectl("label", "node", one.node, f"{LABEL}=local")
    one.wait("it keeps disks locally", lambda: record(one).get("backend", "").startswith("qcow2:"))
    server = planned(one, "on-local-disks")
    assert server["action"] == "Blocked" and "keeps disks in qcow2:" in server["message"]

    # Otherwise the pod on Ceph would outlive both edits, and be taken for one of the configuration before.
    one.wait("its pod on local disks runs", lambda: record(one).get("old") is False)
    kubectl("label", "node", one.node, f"{LABEL}-")
    one.wait("it is on Ceph again", lambda: record(one).get("backend", "").startswith("rbd:"))
    one.wait("its own pod runs", lambda: record(one).get("old") is False)
    server = planned(one, "changed")
    assert server["action"] == "Blocked" and "before" in server["message"]

    token = re.search(r"osctl node disks-shared \S+ (\w+)$", server["message"])
    assert token is not None
    given = ("--kubeconfig", str(one.region.sandbox.kubeconfig))
    done = osctl("node", "disks-shared", one.node, token[1], *given)
    assert done.exit_code == 0, done.output
    assert planned(one, "confirmed")["action"] == "Evacuate"
