"""The controller's namespace and the region's, on a real API server."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from sandbox.cluster import Sandbox
from sandbox.errors import SandboxError
from tests.charts_controller.test_chart_cluster import _helm
from tools.chart_objects import CONTROLLER_CHART

pytestmark = pytest.mark.cluster
Install = Callable[..., None]


class Places:
    """A namespace for the chart, and the name of one for its region that is not there yet."""

    def __init__(self, sandbox: Sandbox) -> None:
        self.sandbox = sandbox
        self.own, self.region = (f"test-{secrets.token_hex(4)}-{part}" for part in ("controller", "region"))
        sandbox.create_namespace(self.own, {})

    def install(self, *settings: str) -> None:
        given = f"region.namespace={self.region},crds.install=false"
        place = ("upgrade", "--install", "osctl", str(CONTROLLER_CHART))
        _helm(self.sandbox, self.own, *place, "--set", given, *settings)

    def uninstall(self) -> None:
        _helm(self.sandbox, self.own, "uninstall", "osctl", "--ignore-not-found")

    def namespace(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(
            self.sandbox.kubectl("get", "namespace", self.region, "-o", "json")
        )
        return found


@pytest.fixture
def places(sandbox: Sandbox) -> Iterator[Places]:
    made = Places(sandbox)
    try:
        yield made
    finally:
        made.uninstall()
        names = (made.own, made.region)
        sandbox.kubectl("delete", "namespace", *names, "--wait=false", "--ignore-not-found")


def test_the_regions_namespace_is_made_where_it_is_missing_and_outlives_the_chart(places: Places) -> None:
    places.install()
    uid = places.namespace()["metadata"]["uid"]
    places.install("--set", "settings.logLevel=DEBUG")
    places.uninstall()
    places.install()
    assert places.namespace()["metadata"]["uid"] == uid
    assert "deletionTimestamp" not in places.namespace()["metadata"]


def test_a_namespace_of_others_stays_as_it_is(places: Places) -> None:
    places.sandbox.create_namespace(places.region, {"somebody": "else"})
    before = places.namespace()["metadata"]
    places.install()
    places.install()
    after = places.namespace()["metadata"]
    assert (after["labels"], after.get("annotations")) == (before["labels"], before.get("annotations"))


def test_a_pod_of_the_region_cannot_have_the_controllers_account(places: Places) -> None:
    places.install()
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "thief", "namespace": places.region},
        "spec": {"serviceAccountName": "osctl", "containers": [{"name": "a", "image": "a"}]},
    }
    with pytest.raises(SandboxError, match='serviceaccount "osctl" not found'):
        places.sandbox.kubectl("apply", "--dry-run=server", "-f", "-", input=json.dumps(pod))
