"""Deployed releases while their repository or a Secret is away: what they say, and who looks after them."""

from __future__ import annotations

from typing import Any

import pytest

from controller.domain.api.names import ROLLBACK_RELEASE_PREFIX
from controller.domain.releases.bundle import ChartRef
from controller.errors import RepositoryUnavailable
from controller.ports.kubernetes import CONFIGMAP, SECRET
from tests.reconcile.bundles import NAMESPACE, Bench, Charts
from tests.reconcile.releases.test_bundle_drift import SETTINGS, data, edit, let_pass

CHART = {"name": "web", "version": "1.0.0", "repository": "https://charts.example"}


class Repository(Charts):
    away = False

    def locate(self, chart: ChartRef) -> str:
        self._ask()
        return super().locate(chart)

    def digest(self, chart: ChartRef) -> str:
        self._ask()
        return super().digest(chart)

    def _ask(self) -> None:
        if self.away:
            raise RepositoryUnavailable("https://charts.example does not answer", 120.0)


@pytest.fixture
def charts() -> Repository:
    return Repository()


@pytest.fixture
def bench(charts: Repository) -> Bench:
    """One release, deployed from a repository and looked after."""
    bench = Bench()
    bench.charts = charts
    bench.restart()
    bench.helm.objects_of["web"] = [SETTINGS]
    apply(bench)
    bench.settle()
    let_pass(bench, 100)
    bench.helm.calls.clear()
    return bench


def apply(bench: Bench, chart: dict[str, str] | None = None, **values: Any) -> None:
    bench.bundle("pages", {"name": "web", "chart": chart or CHART, "values": {"a": 1, **values}})


def move(bench: Bench) -> None:
    """The pod comes up on another node, and knows nothing."""
    bench.restart()
    bench.settle()
    let_pass(bench, 100)


def test_a_pod_that_moves_while_the_repository_is_away_finds_its_releases_deployed(
    bench: Bench, charts: Repository
) -> None:
    charts.away = True
    move(bench)
    entry = bench.release("pages", "web")
    assert (entry["state"], entry["reason"], entry["revision"]) == ("Deployed", "InSync", 1)
    assert "https://charts.example does not answer" in entry["message"]
    ready = bench.condition("pages", "Ready")
    assert ready["status"] == "True"
    assert "https://charts.example does not answer" in ready["message"]
    charts.away = False
    bench.settle()
    assert "message" not in bench.release("pages", "web")
    assert bench.helm.calls == []


def test_what_others_change_meanwhile_is_put_right(bench: Bench, charts: Repository) -> None:
    charts.away = True
    move(bench)
    edit(bench, a="9")
    bench.settle()
    assert data(bench) == {"a": "1", "b": "2"}
    assert bench.helm.calls == []


def test_an_edit_meanwhile_waits_and_the_deployed_revision_is_looked_after(
    bench: Bench, charts: Repository
) -> None:
    charts.away = True
    apply(bench, b=2)
    bench.settle()
    let_pass(bench, 100)
    entry = bench.release("pages", "web")
    assert (entry["state"], entry["reason"]) == ("Waiting", "RepositoryUnavailable")
    assert bench.condition("pages", "Ready")["status"] == "False"
    edit(bench, a="9")
    bench.settle()
    assert data(bench) == {"a": "1", "b": "2"}
    charts.away = False
    bench.settle()
    assert bench.helm.calls == [("Upgrade", "web")]


def test_without_a_secret_that_it_refers_to_a_release_is_looked_after(bench: Bench) -> None:
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "login", "namespace": NAMESPACE}}
    bench.kube.create({**secret, "data": {"word": "eA=="}})
    apply(bench, b={"$secretRef": {"name": "login", "key": "word"}})
    bench.settle()
    bench.kube.delete(SECRET, "login", NAMESPACE)
    bench.settle()
    let_pass(bench, 100)
    assert bench.release("pages", "web")["reason"] == "SecretMissing"
    edit(bench, a="9")
    bench.settle()
    assert data(bench) == {"a": "1", "b": "2"}


def test_a_rollback_holds_while_the_repository_is_away(bench: Bench, charts: Repository) -> None:
    apply(bench, b=2)
    bench.settle()
    bench.annotate("pages", {f"{ROLLBACK_RELEASE_PREFIX}/web": "1 now"})
    bench.settle()
    before = bench.release("pages", "web")
    assert before["reason"] == "RolledBack"
    charts.away = True
    move(bench)
    assert bench.release("pages", "web")["reason"] == "RolledBack"


def test_a_rollback_while_an_edit_waits_for_the_repository_does_not_count_as_the_edit(
    bench: Bench, charts: Repository
) -> None:
    """What the edit asks for was never served: once the rollback is taken back, it waits again."""
    apply(bench, b=2)
    bench.settle()
    charts.away = True
    move(bench)
    apply(bench, b=3)
    bench.settle()
    bench.annotate("pages", {f"{ROLLBACK_RELEASE_PREFIX}/web": "1 now"})
    bench.settle()
    assert bench.release("pages", "web")["reason"] == "RolledBack"
    bench.annotate("pages", {f"{ROLLBACK_RELEASE_PREFIX}/web": None})
    bench.settle()
    waits = bench.release("pages", "web")
    assert waits["reason"] != "InSync"
    assert "https://charts.example does not answer" in waits["message"]
    assert bench.condition("pages", "Ready")["status"] == "False"
    charts.away = False
    bench.settle()
    assert bench.release("pages", "web")["reason"] == "InSync"
    assert bench.helm.values("web") == {"a": 1, "b": 3}


@pytest.mark.parametrize("repository", ["", "file:///charts"])
def test_a_chart_of_a_directory_may_be_another_one_when_it_is_back(
    bench: Bench, charts: Repository, repository: str
) -> None:
    chart = {"name": "web", "repository": repository} if repository else {"name": "web", "path": "web"}
    apply(bench, chart)
    bench.settle()
    charts.away = True
    move(bench)
    assert bench.release("pages", "web")["state"] == "Waiting"
    assert bench.kube.get(CONFIGMAP, "settings", NAMESPACE) is not None
