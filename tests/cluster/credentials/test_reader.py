"""An account that may only read, in a region whose controllers have the rights that the chart grants: made in
a Keystone on loopback, copied to a namespace that asks for it, rotated through a kill, and taken away."""

from __future__ import annotations

import base64
import json
import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest
import yaml

from controller.domain.api.names import ROTATE_ANNOTATION, ROTATION_ANNOTATION
from controller.ports.kubernetes import SECRET
from sandbox import audit
from sandbox.cluster import Sandbox
from tests.cluster.conftest import installed
from tests.cluster.region import NAME, Region, wait_until
from tests.fakes.keystone_users import FakeKeystone, served

pytestmark = [pytest.mark.cluster, pytest.mark.xdist_group("reader"), pytest.mark.timeout(900)]
EXPORT, CREDENTIALS, READER = "openstack-reader", "read-only-account-credentials", "osctl-reader"
RESYNC = 5


@dataclass
class Bed:
    """The region, its Keystone, and the namespace that asks."""

    region: Region
    keystone: FakeKeystone
    monitoring: str

    def texts(self, name: str, namespace: str = "") -> dict[str, str]:
        found = self.region.kube.get(SECRET, name, namespace or self.region.namespace) or {}
        return {key: base64.b64decode(text).decode() for key, text in (found.get("data") or {}).items()}

    def copied(self) -> dict[str, str]:
        return self.texts("openstack", self.monitoring)

    def login(self) -> tuple[str, str]:
        """What monitoring has; empty where it has nothing."""
        text = self.copied().get("clouds.yaml")
        if not text:
            return "", ""
        auth = yaml.safe_load(text)["clouds"]["system"]["auth"]
        return auth["username"], auth["password"]

    def works(self, name: str) -> bool:
        """Whether monitoring is admitted as this account."""
        return self.login()[0] == name and self.keystone.lets_in(*self.login())

    def message(self) -> str:
        return str(self.region.condition("SecretsExchanged").get("message"))

    def wait(self, what: str, check: Any) -> None:
        wait_until(
            what, check, 120.0, lambda: f"{self.message()}\n{self.region.controllers.log('secrets')[-3000:]}"
        )

    def annotate(self, **notes: str) -> None:
        given = {"osctl.dev/" + name.replace("_", "-"): text for name, text in notes.items()}
        self.region.kube.merge_patch(
            SECRET, CREDENTIALS, self.region.namespace, {"metadata": {"annotations": given}}
        )

    def switch(self, **feature: Any) -> None:
        self.region.edit(features={"readOnlyAccount": feature})


def spec(region: Region, keystone: FakeKeystone, monitoring: str) -> Mapping[str, Any]:
    """The example, with its Keystone at another address."""
    identity = {
        "host_fqdn_override": {"internal": {"host": "127.0.0.1"}},
        "port": {"api": {"internal": keystone.port}},
    }
    osdpl = region.manifest()
    osdpl["spec"].setdefault("features", {})["readOnlyAccount"] = {
        "enabled": True,
        "offeredTo": [f"{monitoring}/openstack"],
    }
    values = {"values": {"endpoints": {"identity": identity}}}
    osdpl["spec"].setdefault("services", {}).setdefault("identity", {})["keystone"] = values
    return osdpl


@pytest.fixture(scope="module")
def bed(sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bed]:
    """Its Keystone does not know the administrator's password yet."""
    namespace, monitoring = f"test-{secrets.token_hex(4)}", f"monitoring-{secrets.token_hex(4)}"
    for name in (namespace, monitoring):
        sandbox.create_namespace(name, {})
    environment = {"RESYNC_SECONDS": str(RESYNC)}
    home = tmp_path_factory.mktemp("reader")
    place = f"exchange.namespaces[0].name={monitoring},exchange.namespaces[0].requests={{openstack}}"
    with served(FakeKeystone()) as keystone:
        for region in installed(
            sandbox, namespace, home, containers=("core", "secrets"), environment=environment
        ):
            region.install_chart("--set", place)
            notes = {"osctl.dev/requested-from": f"{namespace}/{EXPORT}"}
            meta = {"name": "openstack", "labels": {"osctl.dev/shared": "request"}, "annotations": notes}
            request = {"apiVersion": "v1", "kind": "Secret", "metadata": meta}
            sandbox.kubectl("-n", monitoring, "create", "-f", "-", input=json.dumps(request))
            region.apply(spec(region, keystone, monitoring))
            yield Bed(region, keystone, monitoring)
    for name in (namespace, monitoring):
        sandbox.kubectl("delete", "namespace", name, "--wait=false", "--ignore-not-found")


def test_it_lives_through_a_kill_in_its_rotation_and_goes_with_all_that_was_made_of_it(bed: Bed) -> None:
    region, keystone = bed.region, bed.keystone
    bed.wait("it is told that Keystone is away", lambda: "refuses its administrator" in bed.message())
    keystone.admin_password = bed.texts("identity-credentials")["admin-password"]
    bed.wait("monitoring reads", lambda: bed.works(READER))
    assert keystone.roles(READER) == ["reader of system"]
    before = bed.login()

    changes = list(keystone.changes)
    bed.wait("nothing is written any more", lambda: quiet(bed))
    assert keystone.changes == changes

    bed.annotate(rotate_requested_at="2026-11-22T12:00:00Z")
    bed.wait("it has begun", lambda: ROTATION_ANNOTATION in annotations(bed))
    region.controllers.kill("secrets")
    region.controllers.start("secrets")
    bed.wait("monitoring reads with the next one", lambda: bed.works(f"{READER}-2"))
    assert keystone.lets_in(*before)
    bed.wait("its end has a time", lambda: "rewritten" in annotations(bed)[ROTATION_ANNOTATION])
    bed.annotate(rotation=long_ago(annotations(bed)[ROTATION_ANNOTATION]))
    bed.wait("the one before has ended", lambda: keystone.names() == [f"{READER}-2"])
    bed.wait("it is over", lambda: ROTATION_ANNOTATION not in annotations(bed))
    assert ROTATE_ANNOTATION not in annotations(bed)

    bed.switch(enabled=False)
    bed.wait("nothing is left in Keystone", lambda: keystone.names() == [])
    bed.wait("nor in Secrets", lambda: not (bed.texts(EXPORT) or bed.texts(CREDENTIALS) or bed.copied()))

    bed.switch(enabled=True)
    bed.wait("it is there again", lambda: bed.works(READER))
    # As helmbundle does it, while it uninstalls Keystone.
    held = {"metadata": {"finalizers": ["test.osctl.dev/uninstalling"]}}
    region.kubectl("patch", "hb", "identity", "--type=merge", "-p", json.dumps(held))
    region.kubectl("delete", "osdpl", NAME, "--wait=false")
    bed.wait("it goes with the region", lambda: keystone.names() == [])
    freed: dict[str, Any] = {"metadata": {"finalizers": []}}
    region.kubectl("patch", "hb", "identity", "--type=merge", "-p", json.dumps(freed))
    bed.wait("so does what others have", lambda: not (bed.texts(EXPORT) or bed.copied()))


def annotations(bed: Bed) -> dict[str, str]:
    found = bed.region.kube.get(SECRET, CREDENTIALS, bed.region.namespace)
    return dict((found or {"metadata": {}})["metadata"].get("annotations") or {})


def long_ago(record: str) -> str:
    """The record, as if all copies had had the next account for a while."""
    return json.dumps({**json.loads(record), "rewritten": "2026-01-01T00:00:00Z"}, sort_keys=True)


def quiet(bed: Bed) -> bool:
    """Whether the last passes have written no Secret."""
    since = audit.now() - timedelta(seconds=RESYNC * 2.5)
    return not [one for one in bed.region.writes_since(since) if one.resource == "secrets"]
