"""osctl with charts from a repository: what opens it, and what is said when nothing does."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from controller.cli.offline.region import offline_renderer
from tests.chart_repositories.certificates import authority
from tests.chart_repositories.servers import PASSWORD, USERNAME, Server, archives, http_repository, serve
from tests.chart_repositories.upstream import upstream_charts
from tests.cli.objects import example_text, osctl
from tests.cluster.region import RELEASES

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nothing pulled before, nothing remembered, and nothing in the environment."""
    monkeypatch.setenv("CHART_CACHE_DIR", str(tmp_path / "cache"))
    for name in ("CHARTS_USERNAME", "CHARTS_PASSWORD", "CHARTS_CA_FILE"):
        monkeypatch.delenv(name, raising=False)
    offline_renderer.cache_clear()
    yield
    offline_renderer.cache_clear()


@pytest.fixture
def server() -> Iterator[Server]:
    with serve(http_repository(archives(upstream_charts(*RELEASES)), login=True)) as server:
        yield server


@pytest.fixture
def region(server: Server, tmp_path: Path) -> str:
    charts = {"repository": server.address, "credentialsSecret": "login", "caSecret": "ca"}
    file = tmp_path / "region.yaml"
    file.write_text(example_text(charts=charts))
    return str(file)


def test_secrets_among_the_files_open_the_repository(region: str, server: Server, tmp_path: Path) -> None:
    secrets = tmp_path / "secrets.yaml"
    encoded = base64.b64encode(PASSWORD.encode()).decode()
    login = {"data": {"password": encoded}, "stringData": {"username": USERNAME}}
    head = {"apiVersion": "v1", "kind": "Secret"}
    objects = [
        {**head, "metadata": {"name": "login"}, **login},
        {**head, "metadata": {"name": "ca"}, "stringData": {"ca.crt": authority().ca}},
    ]
    secrets.write_text(yaml.safe_dump_all(objects))
    result = osctl("render", region, str(secrets), "-o", "table")
    assert result.exit_code == 0, result.stderr
    assert "keystone" in result.stdout
    assert PASSWORD not in result.stdout + result.stderr
    # Everything is there now, and needs nothing any more.
    offline_renderer.cache_clear()
    asked = len(server.requests)
    result = osctl("render", region, "--manifests", "--release", "keystone", "-o", "table")
    assert result.exit_code == 0, result.stderr
    assert "keystone-db-sync" in result.stdout
    assert len(server.requests) == asked


@pytest.fixture
def opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment has what opens the repository."""
    ca = tmp_path / "ca.pem"
    ca.write_text(authority().ca)
    monkeypatch.setenv("CHARTS_USERNAME", USERNAME)
    monkeypatch.setenv("CHARTS_PASSWORD", PASSWORD)
    monkeypatch.setenv("CHARTS_CA_FILE", str(ca))


@pytest.mark.usefixtures("opened")
def test_the_environment_opens_the_repository(region: str) -> None:
    result = osctl("validate", region)
    assert result.exit_code == 0, result.stderr
    assert "10 releases" in result.stdout


@pytest.mark.usefixtures("opened")
def test_the_environment_opens_a_repository_that_no_region_names(server: Server) -> None:
    result = osctl("charts", "--repository", server.address, "-o", "json")
    rows = {row["chart"]: row for row in json.loads(result.stdout)}
    assert rows["keystone"]["versions"], rows["keystone"]["error"]


def test_without_either_it_is_said_what_is_missing_and_where_to_put_it(region: str) -> None:
    result = osctl("validate", region)
    assert result.exit_code == 8
    assert '"login"' in result.stderr and "CHARTS_USERNAME" in result.stderr
    assert osctl("render", region).exit_code == 8
