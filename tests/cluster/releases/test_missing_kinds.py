"""A chart of what the cluster does not define: reported, deployed once defined, removed when it is lost."""

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

GROUP = "widgets.example.org"
WIDGET = f"{{apiVersion: {GROUP}/v1, kind: Widget, metadata: {{name: one}}}}"
DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": f"widgets.{GROUP}"},
    "spec": {
        "group": GROUP,
        "scope": "Namespaced",
        "names": {"plural": "widgets", "singular": "widget", "kind": "Widget"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object"}},
            }
        ],
    },
}


@pytest.mark.timeout(400)
def test_a_kind_is_reported_while_it_is_undefined_and_does_not_stop_a_removal_when_it_is_lost(
    sandbox: Sandbox, namespace: str, tmp_path: Path
) -> None:
    bundle = write_bundle(tmp_path / "charts", "widgets", WIDGET)
    region = Region(sandbox, namespace, tmp_path / "run", ("helmbundle",), {"RETRY_CAP_SECONDS": "10"})

    def entry() -> dict[str, Any]:
        found: dict[str, Any] = (region.get("hb", BUNDLE).get("status") or {}).get("releases", [{}])[0]
        return found

    try:
        region.install()
        rule = {"apiGroups": [GROUP], "resources": ["widgets"], "verbs": ["get", "create", "patch"]}
        region.install_chart("--set-json", f"rbac.extraRules={json.dumps([rule])}")
        region.kubectl("apply", "-f", "-", input=json.dumps(bundle))
        wait_until("it has failed", lambda: entry().get("state") == "Failed", 60)
        told = f"the cluster does not define Widget ({GROUP}/v1): install its definition in the cluster"
        assert told in entry()["message"]
        region.kubectl("apply", "-f", "-", input=json.dumps(DEFINITION))
        wait_until("it is deployed", lambda: entry()["state"] == "Deployed", 90)
        # Helm alone can neither upgrade nor remove such a release.
        region.kubectl("delete", "crd", f"widgets.{GROUP}")
        region.kubectl("delete", "hb", BUNDLE, "--wait=false")
        wait_until("it is removed", lambda: not region.get("hb")["items"], 90)
    finally:
        region.controllers.stop(grace=2.0)
        remove(region)
        sandbox.kubectl("delete", "crd", f"widgets.{GROUP}", "--ignore-not-found")
