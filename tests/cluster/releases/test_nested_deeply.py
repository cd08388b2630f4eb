"""Values nested so deeply that Python's JSON gives up: their bundle says so, and others go on."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator
from functools import partial

import pytest

from sandbox.cluster import Sandbox
from tests.cluster.conftest import installed
from tests.cluster.region import Region, wait_until
from tests.cluster.releases.test_bundle_hooks import show
from tests.cluster.releases.test_bundles import bundle, wait_ready
from tests.cluster.releases.test_hostile_charts import GOOD, release
from tests.sweeps import swept

pytestmark = [pytest.mark.cluster, pytest.mark.xdist_group("nested-deeply"), pytest.mark.timeout(1800)]

NAME = "deep"


@pytest.fixture(scope="module")
def bench(sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Region]:
    root = tmp_path_factory.mktemp("charts")
    (root / "good" / "templates").mkdir(parents=True)
    (root / "good" / "Chart.yaml").write_text("apiVersion: v2\nname: good\nversion: 1.0.0\n")
    (root / "good" / "templates" / "all.yaml").write_text(GOOD)
    namespace = f"test-{secrets.token_hex(4)}"
    sandbox.create_namespace(namespace, {})
    directory = tmp_path_factory.mktemp("nested")
    yield from installed(sandbox, namespace, directory, ("helmbundle",), {"CHARTS_DIR": str(root)})
    sandbox.kubectl("delete", "namespace", namespace, "--wait=false", "--ignore-not-found")


@pytest.mark.parametrize("levels", swept([900, 2000, 9000], daily=[900]))
def test_it_says_so_and_others_are_served(bench: Region, levels: int) -> None:
    pid = bench.controllers.pid("helmbundle")
    wanted = {"releases": [{**release(NAME), "chart": {"name": "good", "path": "good"}, "values": 0}]}
    meta = {"name": f"{NAME}-{levels}", "namespace": bench.namespace}
    document = {"apiVersion": "osctl.dev/v1alpha1", "kind": "HelmBundle", "metadata": meta, "spec": wanted}
    # Python could not write it either.
    values = '{"a":' * levels + "1" + "}" * levels
    path = bench.directory / f"{levels}.json"
    path.write_text(json.dumps(document).replace('"values": 0', f'"values": {values}'))
    where = f"/apis/osctl.dev/v1alpha1/namespaces/{bench.namespace}/helmbundles"
    bench.kubectl("create", "--raw", where, "-f", str(path))
    bundle(bench, "good", release("good", levels))
    wait_ready(bench, "good")

    def says_so() -> bool:
        columns = "jsonpath={.status.conditions[*].message}"
        return "nested more than" in bench.kubectl("get", "hb", meta["name"], "-o", columns)

    wait_until("its status", says_so, show=partial(show, bench, meta["name"]))
    assert bench.controllers.pid("helmbundle") == pid
    bench.kubectl("delete", "hb", meta["name"], "--wait=false")
