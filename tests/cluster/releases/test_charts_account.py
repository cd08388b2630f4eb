"""What a chart can reach: the rights of the account that it acts as, and none of the controller's."""

from __future__ import annotations

import base64
import json
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sandbox import audit
from sandbox.cluster import Sandbox
from sandbox.errors import SandboxError
from tests.cluster.conftest import remove
from tests.cluster.region import Region, wait_until
from tests.cluster.releases.one_object import BUNDLE, write_bundle
from tests.sweeps import swept

pytestmark = pytest.mark.cluster

OURS = "of-the-region"
CONFIG = """
apiVersion: v1
kind: ConfigMap
metadata: {name: found}
data: {found: {{ (lookup "v1" "Secret" "%s" "%s").data | toJson | quote }}}
"""
MAINTENANCE = """
apiVersion: osctl.dev/v1alpha1
kind: ComputeMaintenance
metadata: {name: %s}
spec:
  region: {namespace: second, name: region-two}
  nodeName: node-of-region-two
  mode: Evacuate
  fenced: {nodeUID: "", bootID: "", ready: Unknown, lastHeartbeatTime: "", givenAt: "2026-01-01T00:00:00Z"}
"""


class Places:
    """A region whose controller has Roles in namespaces of a team, of Ceph and of a directory."""

    def __init__(self, region: Region, team: str, ceph: str, directory: str) -> None:
        self.region, self.team, self.ceph, self.directory = region, team, ceph, directory

    def install(self) -> None:
        values = {
            "servers": {"enabled": True, "namespaces": [self.team]},
            "ceph": {"namespaces": [{"name": self.ceph}]},
            "exchange": {"namespaces": [{"name": self.directory, "offers": ["ldap-bind"]}]},
        }
        settings = [f"{name}={json.dumps(value)}" for name, value in values.items()]
        self.region.install_chart(*(part for one in settings for part in ("--set-json", one)))
        self.region.controllers.start()
        self.region.controllers.wait_healthy()
        self.region.controllers.supervise()

    def secret(self, namespace: str, name: str) -> None:
        content = {"apiVersion": "v1", "kind": "Secret", "stringData": {"text": f"of {namespace}"}}
        meta = {"name": name, "namespace": namespace}
        self.region.sandbox.kubectl("apply", "-f", "-", input=json.dumps({**content, "metadata": meta}))

    def apply(self, directory: Path, name: str, manifest: str) -> None:
        bundle = write_bundle(directory, name, manifest)
        self.region.kubectl("apply", "-f", "-", input=json.dumps(bundle))

    def entry(self) -> dict[str, Any]:
        entries = (self.region.get("hb", BUNDLE).get("status") or {}).get("releases") or [{}]
        found: dict[str, Any] = entries[0]
        return found

    def ends_as(self, directory: Path, name: str, manifest: str) -> dict[str, Any]:
        """The status of the one release, once it is deployed or has failed."""
        self.apply(directory, name, manifest)

        def ended() -> dict[str, Any]:
            entry = self.entry()
            done = entry.get("state") == "Deployed" or entry.get("reason") == "RightMissing"
            return entry if done and entry["name"] == name else {}

        return wait_until(name, ended, 90, lambda: json.dumps(self.entry()))  # type: ignore[no-any-return]


@pytest.fixture(scope="module")
def places(sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Places]:
    own, *others = names = [
        f"test-{secrets.token_hex(4)}-{part}" for part in ("region", "team", "ceph", "directory")
    ]
    for name in names:
        sandbox.create_namespace(name, {})
    region = Region(sandbox, own, tmp_path_factory.mktemp("charts"), containers=("helmbundle",))
    made = Places(region, *others)
    try:
        made.install()
        yield made
    finally:
        region.controllers.stop(grace=2.0)
        remove(region)
        sandbox.kubectl("delete", "namespace", *names, "--wait=false", "--ignore-not-found")


def test_a_chart_looks_up_what_is_in_its_namespace(places: Places, tmp_path: Path) -> None:
    namespace = places.region.namespace
    places.secret(namespace, OURS)
    assert places.ends_as(tmp_path, "finding", CONFIG % (namespace, OURS))["state"] == "Deployed"
    found = json.loads(places.region.get("configmap", "found")["data"]["found"])
    assert base64.b64decode(found["text"]).decode() == f"of {namespace}"


@pytest.mark.parametrize(
    ("place", "name"),
    swept(
        [("team", "anything"), ("ceph", "rook-ceph-mon"), ("directory", "ldap-bind")],
        daily=[("team", "anything")],
    ),
)
def test_a_chart_looks_up_no_secret_that_only_the_controller_may_read(
    places: Places, tmp_path: Path, place: str, name: str
) -> None:
    namespace: str = getattr(places, place)
    places.secret(namespace, name)
    own = f"--as={places.region.users[0]}"
    assert places.region.sandbox.kubectl("auth", "can-i", "get", f"secrets/{name}", "-n", namespace, own)

    entry = places.ends_as(tmp_path, f"spying-{place}", CONFIG % (namespace, name))
    assert entry["reason"] == "RightMissing"
    account = f"ServiceAccount {places.region.namespace}/osctl-{places.region.namespace}-charts"
    assert f'{account} may not get secrets "{name}" in namespace "{namespace}"' in entry["message"]


def test_a_chart_makes_no_maintenance_of_another_region(places: Places, tmp_path: Path) -> None:
    name = f"of-{places.region.namespace}"
    entry = places.ends_as(tmp_path, "confirming", MAINTENANCE % name)
    assert entry["reason"] == "RightMissing"
    assert "computemaintenances.osctl.dev" in entry["message"]
    with pytest.raises(SandboxError, match="NotFound"):
        places.region.sandbox.kubectl("get", "computemaintenance", name)


def test_what_the_container_does_with_objects_of_a_chart_it_does_as_the_charts_account(
    places: Places, tmp_path: Path
) -> None:
    """Install, comparison, correction and removal: all that names an object which the chart has chosen."""
    region, moment = places.region, audit.now()
    manifest = "{apiVersion: v1, kind: ConfigMap, metadata: {name: page}, data: {colour: red}}"
    assert places.ends_as(tmp_path, "page", manifest)["state"] == "Deployed"

    def compared() -> bool:
        asked = audit.requests(region.sandbox.audit_log, moment, region.users)
        return any(one.dry_run and one.name == "page" for one in asked)

    wait_until("its object was compared", compared, 120)
    region.kubectl("patch", "configmap", "page", "--type=merge", "-p", '{"data":{"colour":"blue"}}')
    wait_until("it is corrected", lambda: region.get("configmap", "page")["data"]["colour"] == "red", 120)
    region.kubectl("delete", "hb", BUNDLE, "--timeout=500s")
    asked = audit.requests(region.sandbox.audit_log, moment, region.users)
    by = {one.user for one in asked if one.resource == "configmaps" and one.name == "page"}
    assert by == {region.users[1]}
    records = (one for one in audit.requests(region.sandbox.audit_log, moment, region.users))
    assert {one.user for one in records if one.name.startswith("sh.helm.release")} == {region.users[1]}


def test_no_account_of_the_region_writes_our_annotations_of_nodes(places: Places) -> None:
    """Charts of OVN may patch Nodes; by these annotations a machine counts as off for any region."""
    region, node = places.region, f"node-of-{places.region.namespace}"
    obj = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": node}}
    region.sandbox.kubectl("apply", "-f", "-", input=json.dumps(obj))
    own, charts = (f"--as={user}" for user in region.users)
    try:
        region.sandbox.kubectl("annotate", "node", node, "ovn.example.org/chassis=one", charts)
        region.sandbox.kubectl("annotate", "node", node, "second.osctl.dev/host=mine", own)
        for change in ("second.osctl.dev/fenced={}", "second.osctl.dev/host-", "second.osctl.dev/host=other"):
            with pytest.raises(SandboxError, match="not for charts"):
                region.sandbox.kubectl("annotate", "--overwrite", "node", node, change, charts)
    finally:
        region.sandbox.kubectl("delete", "node", node)


def test_the_controller_writes_no_objects_of_another_region(places: Places, tmp_path: Path) -> None:
    """Its right to take finalizers off, which counts everywhere, is good for nothing else there."""
    sandbox, own = places.region.sandbox, f"--as={places.region.users[0]}"
    bundle = write_bundle(tmp_path / "other", "page", "{}")
    sandbox.kubectl("-n", places.team, "apply", "-f", "-", input=json.dumps(bundle))
    patch = ("patch", "hb", BUNDLE, "--type=merge", "-p", '{"spec":{"mode":"Paused"}}', own)
    with pytest.raises(SandboxError, match="writes nothing here"):
        sandbox.kubectl("-n", places.team, *patch)
