"""Charts whose templates take memory or do not end: their releases say so, and others go on."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from sandbox.cluster import Sandbox
from tests.cluster.conftest import installed
from tests.cluster.region import Region, wait_until
from tests.cluster.releases.test_bundle_hooks import edit, show
from tests.cluster.releases.test_bundles import bundle, entry, state, wait_ready
from tests.sweeps import swept

pytestmark = [pytest.mark.cluster, pytest.mark.xdist_group("hostile-charts"), pytest.mark.timeout(1800)]

GOOD = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: good}\ndata: {edit: "{{ .Values.edit }}"}\n'
BOMBS = {
    "memory": ("{{ range $i := until 400000000 }}{{ end }}\n", "needed more than 512 MiB of memory"),
    "endless": (
        "{{ range until 100000 }}{{ range until 1000000 }}{{ end }}{{ end }}\n",
        "took more than 20 s of processor time",
    ),
    # What is rendered without a cluster, for its size and to prepare an install, does not set it off.
    "asking": (
        '{{ if lookup "v1" "ConfigMap" .Release.Namespace "good" }}'
        "{{ range $i := until 400000000 }}{{ end }}{{ end }}\n",
        "needed more than 512 MiB of memory",
    ),
}


@pytest.fixture(scope="module")
def charts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("charts")
    for name, template in {"good": GOOD, **{name: bomb for name, (bomb, _) in BOMBS.items()}}.items():
        (root / name / "templates").mkdir(parents=True)
        (root / name / "Chart.yaml").write_text(f"apiVersion: v2\nname: {name}\nversion: 1.0.0\n")
        (root / name / "templates" / "all.yaml").write_text(template)
    return root


@pytest.fixture(scope="module")
def bench(sandbox: Sandbox, charts: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Region]:
    namespace = f"test-{secrets.token_hex(4)}"
    sandbox.create_namespace(namespace, {})
    directory = tmp_path_factory.mktemp("hostile")
    yield from installed(sandbox, namespace, directory, ("helmbundle",), {"CHARTS_DIR": str(charts)})
    sandbox.kubectl("delete", "namespace", namespace, "--wait=false", "--ignore-not-found")


def release(name: str, number: int = 0) -> dict[str, object]:
    return {"name": name, "chart": {"name": name, "path": name}, "values": {"edit": str(number)}}


@pytest.mark.parametrize("bombs", swept(["memory asking", "endless"], daily=["memory asking"]))
def test_each_is_charged_to_its_release_and_others_are_served(
    bench: Region, charts: Path, bombs: str
) -> None:
    first, *_ = names = bombs.split()
    pid = bench.controllers.pid("helmbundle")
    bundle(bench, "good", release("good"))
    wait_ready(bench, "good")
    for name in names:
        bundle(bench, name, release(name))

    for number in range(1, 6):
        edit(bench, "good", release("good", number))
        wait_ready(bench, "good")
    assert bench.get("configmap", "good")["data"]["edit"] == "5"

    for name in names:
        _, reason = BOMBS[name]
        wait_until(reason, partial(_says, bench, name, reason), show=partial(show, bench, name))
    assert bench.controllers.pid("helmbundle") == pid

    (charts / first / "templates" / "all.yaml").write_text(GOOD.replace("good", f"mended-{first}"))
    wait_until("it is mended", lambda: state(bench, first, first) == "Deployed")


def _says(bench: Region, name: str, reason: str) -> bool:
    found = entry(bench, name, name)
    return reason in str((found.get("lastAttempt") or {}).get("error")) + str(found.get("message"))
