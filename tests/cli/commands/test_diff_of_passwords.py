"""osctl diff and validate: an own database password, and the name that its account has to have."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from controller.cli.cluster import Cluster
from tests.chart_repositories.upstream import upstream_charts
from tests.cli.commands.test_apply import CRDS
from tests.cli.objects import example_text, osctl
from tests.fakes.kube import FakeKube

pytestmark = pytest.mark.slow

OWN = {"credentials": {"compute": {"database-password": {"name": "nova-db", "key": "password"}}}}
WARNING = "warning  spec.features.credentials: release nova: the database password now comes from"


@pytest.fixture(scope="module")
def charts(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A repository of charts of upstream's shape."""
    directory = tmp_path_factory.mktemp("charts")
    for (name, version), archive in upstream_charts().items():
        (directory / f"{name}-{version}.tgz").write_bytes(archive)
    return f"file://{directory}"


def written(directory: Path, charts: str, suffix: str | None = None, **features: Any) -> str:
    """A directory with the region, and with a Secret whose `account-suffix` this is."""
    directory.mkdir()
    (directory / "region.yaml").write_text(example_text(charts={"repository": charts}, features=features))
    if suffix is not None:
        (directory / "secret.yaml").write_text(yaml.safe_dump(secret(suffix)))
    return str(directory)


def secret(suffix: str, name: str = "nova-db") -> dict[str, Any]:
    meta = {"name": name, "namespace": "openstack"}
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": meta,
        "stringData": {"password": "x", "account-suffix": suffix},
    }


def test_between_two_files_it_is_reported_unless_the_account_has_another_name(
    charts: str, tmp_path: Path
) -> None:
    old, new = written(tmp_path / "old", charts), written(tmp_path / "new", charts, **OWN)
    result = osctl("diff", old, new, "--no-manifests")
    assert result.exit_code == 1
    assert WARNING in result.stdout
    named = written(tmp_path / "named", charts, "-own", **OWN)
    assert "warning" not in osctl("diff", old, named, "--no-manifests").stdout


def test_beside_a_cluster_its_secrets_say_what_the_accounts_are_called(
    charts: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kube = FakeKube()
    for crd in CRDS:
        kube.serve(crd)
    monkeypatch.setattr("controller.cli.comparison.open_cluster", lambda *_: Cluster(kube, "openstack"))
    kube.create(yaml.safe_load(example_text(charts={"repository": charts})))
    kube.create(secret("", "compute-credentials"))
    own = kube.create({**secret(""), "stringData": {"password": "x"}})
    arguments = ("diff", "-f", written(tmp_path / "new", charts, **OWN), "--no-manifests")
    assert " exists and keeps the former password" in osctl(*arguments).stdout
    kube.replace({**own, "data": {**own.get("data", {}), "account-suffix": "LW93bg=="}})
    assert "warning" not in osctl(*arguments).stdout


def test_the_command_that_makes_the_secret_names_the_account(charts: str, tmp_path: Path) -> None:
    result = osctl("validate", "--manifests", written(tmp_path / "new", charts, **OWN))
    told = " ".join(result.stderr.split())
    assert "create secret generic nova-db --from-file=password --from-literal=account-suffix=-own" in told
