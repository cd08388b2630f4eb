"""Keys that outlive their release are taken up by a chart of another source, under the same name."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox.cluster import Sandbox
from tests.cluster.conftest import installed
from tests.cluster.region import Region
from tests.cluster.releases.test_bundles import bundle, wait_ready

pytestmark = [pytest.mark.cluster, pytest.mark.xdist_group("kept-keys"), pytest.mark.timeout(1800)]

# Both make it before everything else and keep it; one describes it by labels, the other has data in it.
SECRET = """
apiVersion: v1
kind: Secret
metadata:
  name: {name}
  annotations:
    helm.sh/hook: pre-install
    helm.sh/hook-delete-policy: hook-failed
    helm.sh/resource-policy: keep
"""
LABELS = "  labels: {application: keys, release_group: keys}\n"
PLAIN = "type: Opaque\ndata: {}\n"
NAMES = ("fernet-keys", "credential-keys")
FILLED = '{"data": {"0": "c3RhZ2Vk", "1": "cHJpbWFyeQ=="}}'


@pytest.fixture
def bench(sandbox: Sandbox, tmp_path: Path) -> Iterator[Region]:
    charts = tmp_path / "charts"
    for source, text in {"labelled": SECRET + LABELS, "plain": SECRET + PLAIN}.items():
        templates = charts / source / "templates"
        templates.mkdir(parents=True)
        (charts / source / "Chart.yaml").write_text(f"apiVersion: v2\nname: {source}\nversion: 1.0.0\n")
        (templates / "keys.yaml").write_text("---".join(text.replace("{name}", name) for name in NAMES))
    namespace = f"test-{secrets.token_hex(4)}"
    sandbox.create_namespace(namespace, {})
    yield from installed(sandbox, namespace, tmp_path, ("helmbundle",), {"CHARTS_DIR": str(charts)})
    sandbox.kubectl("delete", "namespace", namespace, "--wait=false", "--ignore-not-found")


def install(bench: Region, source: str) -> None:
    bundle(bench, "identity", {"name": "keys", "chart": {"name": source, "path": source}})
    wait_ready(bench, "identity")


def keys(bench: Region) -> dict[str, tuple[str, object]]:
    found = (bench.get("secret", name) for name in NAMES)
    return {one["metadata"]["name"]: (one["metadata"]["uid"], one.get("data")) for one in found}


@pytest.mark.exhaustive
def test_keys_go_from_one_source_of_charts_to_another_and_back(bench: Region) -> None:
    """One of the two Secrets has keys, the other is empty."""
    install(bench, "labelled")
    bench.kubectl("patch", "secret", NAMES[0], "--type=merge", "-p", FILLED)
    before = keys(bench)
    assert [bool(data) for _, data in before.values()] == [True, False]
    for source in ("plain", "labelled"):
        bench.kubectl("delete", "hb", "identity", "--timeout=500s")
        assert keys(bench) == before
        install(bench, source)
        assert keys(bench) == before
