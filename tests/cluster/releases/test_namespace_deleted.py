"""A namespace that is deleted with its region, and a controller that is uninstalled before it."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest

from controller.ports.kubernetes import HELMBUNDLE, OSDPL
from sandbox.cluster import Sandbox
from sandbox.controllers import Controllers
from sandbox.errors import SandboxError
from tests.charts_controller.test_chart_cluster import _helm
from tests.cluster.conftest import remove
from tests.cluster.region import Region, wait_until
from tests.cluster.releases.one_object import BUNDLE, write_bundle
from tools.chart_objects import CONTROLLER_CHART

pytestmark = pytest.mark.cluster
PAGE = "{apiVersion: v1, kind: ConfigMap, metadata: {name: page}, data: {colour: red}}"
WATCHED = ("core", "helmbundle")


class Apart:
    """A controller in a namespace of its own, and its region's namespace."""

    def __init__(self, sandbox: Sandbox, directory: Path) -> None:
        self.sandbox = sandbox
        self.own, self.region = (f"test-{secrets.token_hex(4)}-{part}" for part in ("controller", "region"))
        for name in (self.own, self.region):
            sandbox.create_namespace(name, {})
        settings = f"region.namespace={self.region},crds.install=false"
        _helm(sandbox, self.own, "install", "osctl", str(CONTROLLER_CHART), "--set", settings)
        self.controllers = Controllers(
            sandbox,
            self.own,
            directory,
            containers=WATCHED,
            region_namespace=self.region,
            service_account="osctl",
            die_with_parent=True,
        )
        self.controllers.start()
        self.controllers.wait_healthy()
        self.controllers.supervise()

    def kubectl(self, *arguments: str, input: str | None = None) -> str:
        return self.sandbox.kubectl("-n", self.region, *arguments, input=input)

    def is_gone(self) -> bool:
        try:
            self.sandbox.kubectl("get", "namespace", self.region)
        except SandboxError as error:
            return "NotFound" in str(error)
        return False

    def left(self) -> str:
        found = self.sandbox.kubectl("get", "namespace", self.region, "-o", "jsonpath={.status.conditions}")
        logs = "\n".join(self.controllers.log(name)[-2000:] for name in WATCHED)
        return f"{found}\n{logs}"

    def remove(self) -> None:
        self.controllers.stop(grace=2.0)
        _helm(self.sandbox, self.own, "uninstall", "osctl", "--ignore-not-found")
        for kind in (OSDPL.plural, HELMBUNDLE.plural):
            if not self.is_gone():
                names = self.kubectl("get", kind, "-o", "name").split()
                for name in names:
                    self.kubectl("patch", name, "--type=merge", "-p", '{"metadata":{"finalizers":null}}')
        names = [self.own, self.region]
        self.sandbox.kubectl("delete", "namespace", *names, "--wait=false", "--ignore-not-found")


@pytest.fixture
def apart(sandbox: Sandbox, tmp_path: Path) -> Iterator[Apart]:
    made = Apart(sandbox, tmp_path / "run")
    try:
        yield made
    finally:
        made.remove()


def test_a_namespace_deleted_with_its_region_goes(apart: Apart, tmp_path: Path) -> None:
    bundle = write_bundle(tmp_path / "charts", "pages", PAGE)
    region = {
        "apiVersion": "osctl.dev/v1alpha1",
        "kind": "OpenStackDeployment",
        "metadata": {"name": "region-one"},
        "spec": {
            "openstackVersion": "2026.1", "preset": "core", "size": "single", "mode": "Paused",
            "publicDomainName": "it.just.works",
        },
    }  # fmt: skip
    for obj in (bundle, region):
        apart.kubectl("apply", "-f", "-", input=json.dumps(obj))
    wait_until(
        "core holds the region",
        lambda: "core.osctl.dev" in apart.kubectl("get", "osdpl", "-o", "jsonpath={..finalizers}"),
        90,
    )
    wait_until(
        "the release is deployed",
        lambda: (
            "Deployed" in apart.kubectl("get", "hb", BUNDLE, "-o", "jsonpath={.status.releases[*].state}")
        ),
        90,
    )
    apart.sandbox.kubectl("delete", "namespace", apart.region, "--wait=false")
    wait_until("the namespace is gone", apart.is_gone, 120, apart.left)


def test_a_namespace_goes_whose_roles_went_before_its_objects(apart: Apart, tmp_path: Path) -> None:
    """Kubernetes deletes in no order: the worst one for whoever holds objects by finalizers."""
    bundle = write_bundle(tmp_path / "charts", "pages", PAGE)
    apart.kubectl("apply", "-f", "-", input=json.dumps(bundle))
    wait_until(
        "the release is deployed",
        lambda: (
            "Deployed" in apart.kubectl("get", "hb", BUNDLE, "-o", "jsonpath={.status.releases[*].state}")
        ),
        90,
    )
    apart.kubectl("delete", "rolebinding", "--all")
    apart.sandbox.kubectl("delete", "namespace", apart.region, "--wait=false")
    wait_until("the namespace is gone", apart.is_gone, 120, apart.left)


@pytest.mark.exhaustive
def test_after_an_uninstall_of_the_controller_its_objects_are_deleted_or_adopted(
    sandbox: Sandbox, namespace: str, tmp_path: Path
) -> None:
    """As its notes say: install it again and it takes them up, or take the finalizers off."""
    region = Region(sandbox, namespace, tmp_path / "run", containers=("helmbundle",))
    try:
        region.install()
        region.kubectl("apply", "-f", "-", input=json.dumps(write_bundle(tmp_path / "charts", "pages", PAGE)))
        wait_until("it is deployed", lambda: region.revisions() == {"pages": (1, "deployed")}, 90)
        region.controllers.stop(grace=2.0)
        region.helm("uninstall", f"osctl-{namespace}")
        assert region.get("configmap", "page")["data"] == {"colour": "red"}

        # It comes back: nothing is installed again, and the bundle can be deleted.
        region.install()
        region.kubectl("delete", "hb", BUNDLE, "--timeout=500s")
        assert region.revisions() == {}

        # It does not come back: by hand, and what the release has made stays.
        region.kubectl("apply", "-f", "-", input=json.dumps(write_bundle(tmp_path / "more", "pages", PAGE)))
        wait_until("it is deployed", lambda: region.revisions() == {"pages": (1, "deployed")}, 90)
        region.controllers.stop(grace=2.0)
        region.helm("uninstall", f"osctl-{namespace}")
        region.kubectl("delete", "hb", BUNDLE, "--wait=false")
        region.kubectl("patch", "hb", BUNDLE, "--type=merge", "-p", '{"metadata":{"finalizers":null}}')
        assert region.get("hb")["items"] == []
        assert region.get("configmap", "page")["data"] == {"colour": "red"}
    finally:
        region.controllers.stop(grace=2.0)
        remove(region)
