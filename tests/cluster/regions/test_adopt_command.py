"""A region that Helm's CLI installed with own values is taken over, and given back: no pod restarts."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from sandbox.patience import patient
from tests.charts.lean import credentials
from tests.cluster.region import ROOT, Region, wait_until

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(900)]

# Values that no region of the controller has by itself.
OWN: dict[str, dict[str, Any]] = {
    "memcached": {"conf": {"memcached": {"max_connections": 4096}}},
    "rabbitmq": {"pod": {"replicas": {"server": 1}}},
    "keystone": {
        "conf": {"keystone": {"token": {"expiration": 7200}, "DEFAULT": {"debug": True}}},
        "pod": {"replicas": {"api": 3}},
    },
}
RUNNING = ("mariadb", "rabbitmq", "memcached", "keystone")
KINDS = "deployments,statefulsets,daemonsets,services,configmaps,secrets,jobs,pods"


def osctl(region: Region, *arguments: str, refused: bool = False) -> str:
    done = subprocess.run(
        [sys.executable, "-P", "-m", "controller.cli.main", *arguments],
        check=False,
        capture_output=True,
        text=True,
        timeout=patient(300),
        env={
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(ROOT),
            "KUBECONFIG": str(region.sandbox.kubeconfig),
        },
    )
    assert refused or done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout


def merged(lower: dict[str, Any], upper: dict[str, Any]) -> dict[str, Any]:
    found = dict(lower)
    for key, value in upper.items():
        both = isinstance(value, dict) and isinstance(lower.get(key), dict)
        found[key] = merged(lower[key], value) if both else value
    return found


def install(region: Region, tmp_path: Path) -> None:
    for name in RUNNING:
        values = tmp_path / f"{name}.yaml"
        text = yaml.safe_dump(merged(credentials(name), OWN.get(name, {})))
        values.write_text(text, encoding="utf-8")
        chart = str(ROOT / "charts" / name)
        region.helm("install", name, chart, "--values", str(values), "--timeout", "400s")
        values.unlink()


def state(region: Region) -> dict[str, tuple[str, Any]]:
    """UID and generation of each object that the four releases have made, and of their pods."""
    found = {}
    for obj in region.get(KINDS)["items"]:
        meta = obj["metadata"]
        release = (meta.get("annotations") or {}).get("meta.helm.sh/release-name")
        # What holds back the drain of a node is the controller's own.
        if meta["name"].startswith("osctl-"):
            continue
        owners = meta.get("ownerReferences")
        if release in RUNNING or (obj["kind"] == "Pod" and owners):
            found[f"{obj['kind']}/{meta['name']}"] = (meta["uid"], meta.get("generation"))
    return found


def records(region: Region) -> list[str]:
    found = region.kubectl("get", "secrets", "-l", "owner=helm", "-o", "name").split()
    return sorted(one for one in found if one.split(".")[-2] in RUNNING)


def test_nothing_restarts_on_the_way_in_and_out(region: Region, tmp_path: Path) -> None:
    install(region, tmp_path)
    wait_until("its pods run", lambda: "keystone-api" in region.kubectl("get", "pods", "-o", "name"))
    before, helm_records = state(region), records(region)
    place = tmp_path / "adopted"
    shown = osctl(region, "adopt", "-n", region.namespace, "--write", str(place), "-o", "json")
    report = yaml.safe_load(shown)
    assert [one["name"] for one in report["releases"] if not one["equal"]] == []
    region.kubectl("create", "-f", str(place / "secrets.yaml"))
    (place / "secrets.yaml").unlink()
    region.kubectl("apply", "-f", str(place / "region.yaml"))
    for command in (place / "hand-over.sh").read_text(encoding="utf-8").splitlines()[2:]:
        region.kubectl(*command.split()[3:])

    def planned() -> bool:
        return region.condition("Planned").get("reason") == "PlanPending"

    wait_until("the plan is known", planned, show=lambda: str(region.condition("Planned")))
    plan = region.status()["plan"]
    assert {one["name"]: one["action"] for one in plan["releases"]} == dict.fromkeys(RUNNING, "TakeOver")
    assert not any({"objects", "restarts", "jobs", "hooks"} & one.keys() for one in plan["releases"])
    assert state(region) == before
    osctl(region, "approve", "region-one", "-n", region.namespace, "--plan", plan["digest"])
    region.wait_ready()
    assert state(region) == before
    assert records(region) == helm_records
    # The way back, as docs/adoption.md has it.
    region.controllers.stop(grace=2.0)
    patch = '--patch={"metadata":{"finalizers":null}}'
    for kind in ("osdpl", "hb"):
        for one in region.kubectl("get", kind, "-o", "name").split():
            region.kubectl("patch", one, "--type=merge", patch)
            region.kubectl("delete", one, "--ignore-not-found")
    assert state(region) == before
    assert records(region) == helm_records
    region.helm("upgrade", "memcached", str(ROOT / "charts" / "memcached"), "--reuse-values")
