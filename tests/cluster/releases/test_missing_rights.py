"""A controller that may not grant what a chart's roles grant: reported, and repaired by one command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sandbox.cluster import Sandbox
from tests.cluster.conftest import remove
from tests.cluster.region import Region, wait_until
from tests.cluster.releases.one_object import BUNDLE, write_bundle

pytestmark = pytest.mark.cluster

ROLE = """
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: granting}
rules: [{apiGroups: [coordination.k8s.io], resources: [leases], verbs: [watch]}]
"""


@pytest.mark.timeout(400)
def test_a_release_that_lacks_a_right_is_reported_and_deployed_within_a_minute_of_its_grant(
    sandbox: Sandbox, namespace: str, tmp_path: Path
) -> None:
    bundle = write_bundle(tmp_path / "charts", "granting", ROLE)
    region = Region(sandbox, namespace, tmp_path / "run", containers=("helmbundle",))
    try:
        region.install()
        region.kubectl("apply", "-f", "-", input=json.dumps(bundle))

        def reported() -> dict[str, Any]:
            entries = (region.get("hb", BUNDLE).get("status") or {}).get("releases") or [{}]
            return entries[0] if entries[0].get("reason") == "RightMissing" else {}

        entry = wait_until("the missing right is told", reported, 60)
        assert entry["message"].startswith(
            f'roles "granting" would grant what ServiceAccount {namespace}/osctl-{namespace}-charts does not '
            "hold: watch of leases.coordination.k8s.io; "
            f"to grant what the region needs: kubectl -n {namespace} get osdpl -o yaml | osctl rbac - | "
        )
        rule = {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["watch"]}
        region.install_chart("--set-json", f"rbac.extraRules={json.dumps([rule])}")

        def deployed() -> bool:
            return bool(region.get("hb", BUNDLE)["status"]["releases"][0]["state"] == "Deployed")

        wait_until("it is deployed", deployed, 90)
    finally:
        region.controllers.stop(grace=2.0)
        remove(region)
