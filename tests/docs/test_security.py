"""docs/security.md tells the rights that the chart grants, and policies that an API server takes."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from sandbox.cluster import Sandbox
from sandbox.errors import SandboxError
from tests.api.definitions import CRDS, bundle, osdpl
from tests.cluster.region import wait_until
from tools.rights_table import DATA, held_rights, rights_data, rights_table, written_table

PAGE = (Path(__file__).parents[2] / "docs" / "security.md").read_text(encoding="utf-8")
CONTROLLER = "system:serviceaccount:openstack-controller:openstack-controller"
FOREIGN = "https://charts.example.org.somebody.example/"


def test_the_table_of_rights_is_what_the_chart_grants() -> None:
    held = held_rights()
    assert written_table() == rights_table(held), "make rbac writes it"
    # By which tests of reconcilers know what is refused.
    assert DATA.read_text(encoding="utf-8") == rights_data(held), "make rbac writes it"


def policies() -> list[dict[str, Any]]:
    """The examples of the page."""
    texts = re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.M | re.S)
    return [obj for text in texts for obj in yaml.safe_load_all(text)]


def test_each_example_is_a_policy_with_its_binding() -> None:
    kinds = [obj["kind"] for obj in policies()]
    assert kinds == ["ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"] * 2


class Guarded:
    """A namespace for which the examples hold on a real API server."""

    def __init__(self, sandbox: Sandbox, namespace: str) -> None:
        self.sandbox, self.namespace = sandbox, namespace
        self.made: list[dict[str, Any]] = []
        # No one who makes objects is bound by the names of the page: they are of this test, as is its place.
        for obj in policies():
            obj["metadata"]["name"] = f"{namespace}-{obj['metadata']['name']}"
            spec = obj["spec"]
            if "policyName" in spec:
                spec["policyName"] = f"{namespace}-{spec['policyName']}"
                spec["matchResources"]["namespaceSelector"]["matchLabels"] = {
                    "kubernetes.io/metadata.name": namespace
                }
            self.made.append(obj)

    def apply(self) -> None:
        self.sandbox.kubectl("apply", "-f", "-", input=yaml.safe_dump_all(self.made))

    def remove(self) -> None:
        for obj in self.made:
            self.sandbox.kubectl("delete", obj["kind"], obj["metadata"]["name"], "--ignore-not-found")

    def create(self, obj: dict[str, Any], *options: str) -> str:
        """Why the API server refuses it; empty where it does not."""
        obj = {**obj, "metadata": {**obj["metadata"], "namespace": self.namespace}}
        try:
            self.sandbox.kubectl("apply", *options, "-f", "-", input=yaml.safe_dump(obj))
        except SandboxError as error:
            return str(error)
        return ""


@pytest.fixture(scope="module")
def guarded(sandbox: Sandbox) -> Iterator[Guarded]:
    sandbox.kubectl("apply", "--server-side", "--force-conflicts", "-f", str(CRDS))
    sandbox.kubectl("wait", "--for=condition=Established", "--timeout=120s", "-f", str(CRDS))
    namespace = f"test-{secrets.token_hex(4)}"
    sandbox.create_namespace(namespace, {})
    there = Guarded(sandbox, namespace)
    there.apply()
    try:
        # A policy counts a moment after it was made.
        wait_until("the bundles are guarded", lambda: "edit that one" in there.create(bundle(), DRY), 120)
        wait_until(
            "the addresses are guarded",
            lambda: "only" in there.create(osdpl(charts={"repository": FOREIGN}), DRY),
            120,
        )
        yield there
    finally:
        there.remove()
        sandbox.kubectl("delete", "namespace", namespace, "--wait=false", "--ignore-not-found")


DRY = "--dry-run=server"


@pytest.mark.cluster
@pytest.mark.parametrize(
    "repository", [FOREIGN, "http://charts.example.org/", "oci://registry.example.org/x"]
)
def test_charts_from_elsewhere_are_refused(guarded: Guarded, repository: str) -> None:
    assert "https://charts.example.org/ only" in guarded.create(osdpl(charts={"repository": repository}), DRY)


@pytest.mark.cluster
def test_a_fencing_service_elsewhere_is_refused(guarded: Guarded) -> None:
    fencing = {"url": "https://somebody.example/"}
    said = guarded.create(osdpl(features={"nodes": {"evacuation": "Auto", "fencing": fencing}}), DRY)
    assert "the fencing service is https://fencing.example.org/" in said


@pytest.mark.cluster
def test_what_the_policy_allows_is_taken(guarded: Guarded) -> None:
    assert guarded.create(osdpl(), DRY) == ""
    assert guarded.create(osdpl(charts={"repository": "https://charts.example.org/stable"}), DRY) == ""


@pytest.mark.cluster
def test_a_bundle_is_made_by_the_controller_and_annotated_by_others(guarded: Guarded) -> None:
    as_controller = (f"--as={CONTROLLER}", "--as-group=system:masters")
    assert "edit that one" in guarded.create(bundle())
    assert guarded.create(bundle(), *as_controller) == ""
    name = bundle()["metadata"]["name"]
    place = ("--namespace", guarded.namespace)
    guarded.sandbox.kubectl("annotate", "helmbundle", name, *place, "osctl.dev/suspend=true")
    assert "edit that one" in guarded.create(bundle(timeout="7m"))
    assert guarded.create(bundle(timeout="7m"), *as_controller) == ""
