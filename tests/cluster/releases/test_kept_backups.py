"""Backups outlive the change that stops them: dumps of the database, backups of volumes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from controller.domain.api.names import KEPT_LABEL
from sandbox.cluster import Sandbox
from tests.chart_repositories.packing import packed
from tests.chart_repositories.servers import archives, http_repository, serve
from tests.chart_repositories.upstream import upstream_charts, upstream_values, version_of
from tests.cluster.region import RELEASES, Region, wait_until
from tests.cluster.releases.test_upstream_charts import region_of, wait_for

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.exhaustive,
    pytest.mark.xdist_group("shared-region"),
    pytest.mark.timeout(1800),
]

# As in OpenStack-Helm, where it stands below a switch of `manifests` too.
CLAIM = """
{{{{- if .Values.manifests.pvc_backup }}}}
apiVersion: v1
kind: PersistentVolumeClaim
metadata:
  name: {name}
spec:
  accessModes: [ReadWriteOnce]
  resources:
    requests:
      storage: 5Gi
{{{{- end }}}}
"""
CLAIMS = {"mariadb": "mariadb-backup-data", "cinder": "cinder-backup"}
ENABLED = ["identity", "block-storage"]


def charts() -> dict[tuple[str, str], bytes]:
    """Of the shape of upstream's; mariadb and cinder with nothing but the claim for backups."""
    found = upstream_charts(*RELEASES)
    for name, claim in CLAIMS.items():
        files = {
            "Chart.yaml": f"apiVersion: v2\nname: {name}\nversion: {version_of(name)}\n",
            "values.yaml": yaml.safe_dump(upstream_values(name)),
            "templates/claim.yaml": CLAIM.format(name=claim),
        }
        found[name, version_of(name)] = packed(name, files)
    return found


def features(*, dumps: bool, driver: str) -> dict[str, Any]:
    backends = [{"name": "lvm", "type": "lvm"}]
    return {
        "services": {"enabled": ENABLED},
        "database": {"backup": {"enabled": dumps}},
        "blockStorage": {
            "backends": backends,
            "backup": {"enabled": bool(driver), "driver": driver or "posix"},
        },
    }


def claims(region: Region, selector: str = "") -> dict[str, str]:
    found = region.get("pvc", *(("-l", selector) if selector else ()))["items"]
    return {one["metadata"]["name"]: one["metadata"]["uid"] for one in found}


def test_backups_outlive_the_change_that_stops_them(sandbox: Sandbox, namespace: str, tmp_path: Path) -> None:
    with (
        serve(http_repository(archives(charts()), login=True)) as server,
        region_of(
            sandbox, namespace, tmp_path, server, features=features(dumps=True, driver="posix")
        ) as region,
    ):
        wait_for(region, "both claims", lambda: set(CLAIMS.values()) <= set(claims(region)))
        before = claims(region)
        region.edit(mode="Plan", features=features(dumps=False, driver="s3"))
        wait_until(
            "the plan",
            lambda: kept_by_plan(region) == set(CLAIMS.values()),
            120,
            lambda: str(region.status()),
        )
        assert "keeps the data in 2 volumes" in region.status()["plan"]["message"]
        assert "DELETES" not in region.status()["plan"]["message"]
        region.edit(mode="Apply")
        wait_until(
            "both are kept",
            lambda: set(claims(region, KEPT_LABEL)) == set(CLAIMS.values()),
            120,
            lambda: region.kubectl("get", "hb,pvc", "-o", "yaml"),
        )
        wait_for(region, "both are upgraded", lambda: revisions(region) == {2})
        assert claims(region) == before
        region.edit(features=features(dumps=True, driver="posix"))
        wait_for(region, "both are taken up", lambda: revisions(region) == {3})
        assert (claims(region, KEPT_LABEL), claims(region)) == ({}, before)


def revisions(region: Region) -> set[int]:
    found = region.revisions()
    return {found[name][0] for name in CLAIMS if found[name][1] == "deployed"}


def kept_by_plan(region: Region) -> set[str]:
    entries = (region.status().get("plan") or {}).get("releases") or []
    objects = [text for one in entries for text in one.get("objects") or []]
    prefix = "keep PersistentVolumeClaim/"
    return {text.removeprefix(prefix) for text in objects if text.startswith(prefix)}
