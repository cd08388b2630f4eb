"""A region that another Helm made is taken over with the credentials that its servers know."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from sandbox.patience import patient
from tests.charts.lean import credentials
from tests.cluster.region import ROOT, WITHOUT_NETWORK, Region, wait_until

pytestmark = [pytest.mark.cluster, pytest.mark.exhaustive, pytest.mark.timeout(1800)]

RUNNING = ("mariadb", "rabbitmq", "memcached", "keystone")


def osctl(region: Region, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
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


def test_releases_of_another_helm_are_taken_over_with_their_credentials(
    region: Region, tmp_path: Path
) -> None:
    old = {}
    for name in RUNNING:
        old[name] = credentials(name)
        values = tmp_path / f"{name}.yaml"
        values.write_text(yaml.safe_dump(old[name]), encoding="utf-8")
        chart = str(ROOT / "charts" / name)
        region.helm("install", name, chart, "--values", str(values), "--timeout", "400s")
        values.unlink()  # a password may be in no file when the region is taken down
    # Claims keep their size and class.
    manifest = region.smaller(WITHOUT_NETWORK, storageClass="general")
    manifest["spec"].setdefault("features", {}).update(
        {"database": {"volumeSize": "5Gi"}, "messaging": {"volumeSize": "768Mi"}}
    )
    file = tmp_path / "region.yaml"
    file.write_text(yaml.safe_dump(manifest), encoding="utf-8")
    adopted = osctl(region, "credentials", "adopt", str(file), "-n", region.namespace)
    assert adopted.returncode == 0, adopted.stderr
    region.apply(manifest)

    def refused() -> bool:
        bundle = json.loads(region.kubectl("get", "hb", "identity", "-o", "json"))
        entries = (bundle.get("status") or {}).get("releases") or []
        return any(one.get("reason") == "ReleaseNameTaken" for one in entries)

    wait_until("Keystone's release is refused as another's", lambda: _exists(region) and refused())
    for name in RUNNING:
        owner = f"osctl.dev/hand-over-to={region.namespace}/{name}"
        region.kubectl("annotate", f"secret/sh.helm.release.v1.{name}.v1", owner)
    region.wait_ready()
    texts = region.secret_texts()
    auth = old["keystone"]["endpoints"]["identity"]["auth"]
    assert texts["identity-credentials/admin-password"] == auth["admin"]["password"]
    database = old["mariadb"]["endpoints"]["oslo_db"]["auth"]["admin"]["password"]
    assert texts["database-credentials/root-password"] == database
    assert texts["image-credentials/database-password"]
    revisions = region.revisions()
    assert revisions["keystone"][0] >= 2 and revisions["keystone"][1] == "deployed"


def _exists(region: Region) -> bool:
    return "identity" in region.kubectl("get", "hb", "-o", "name")
