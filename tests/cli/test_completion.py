"""What a shell completes: the names that a cluster has."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from controller.cli import completion
from controller.cli.cluster import Cluster
from controller.cli.main import app
from controller.errors import ApiUnavailable
from tests.cli.commands.overview.conftest import create_with_status
from tests.cli.views.pages.regions import bundles, busy_region
from tests.fakes.kube import FakeKube


def completed(*words: str) -> list[str]:
    """What bash offers for the last word."""
    line = {
        "_OSCTL_COMPLETE": "complete_bash",
        "COMP_WORDS": " ".join(words),
        "COMP_CWORD": str(len(words) - 1),
    }
    return CliRunner().invoke(app, [], prog_name="osctl", env=line).stdout.split()


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Path | None, str, str]]:
    kube, asked = FakeKube(), list[tuple[Path | None, str, str]]()
    for one in (busy_region(), *bundles()):
        create_with_status(kube, one)

    def open_(kubeconfig: Path | None, context: str, namespace: str) -> Cluster:
        asked.append((kubeconfig, context, namespace))
        return Cluster(kube, namespace)

    monkeypatch.setattr(completion, "open_cluster", open_)
    monkeypatch.setattr(completion, "context_names", lambda _: ("east", "west"))
    return asked


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (("status", ""), ["region-one"]),
        (("report", "reg"), ["region-one"]),
        (("history", "n"), ["neutron", "nova"]),
        (("reconcile", "--release", "key"), ["keystone"]),
        (("suspend", "--bundle", "comp"), ["compute"]),
        (("node", "maintain", "cmp"), [f"cmp{number}" for number in range(1, 9)]),
        (("node", "maintain", "cmp1", "--region", ""), ["openstack/region-one"]),
        (("logs", "hea"), ["health", "heat"]),
        (("status", "-n", ""), ["openstack"]),
        (("status", "--context", "w"), ["west"]),
        (("graph", "--context", ""), ["east", "west"]),
    ],
)
def test_names_of_the_cluster(
    opened: list[tuple[Path | None, str, str]], words: tuple[str, ...], names: list[str]
):
    assert completed("osctl", *words) == names


def test_the_cluster_is_the_one_of_the_options_before(opened: list[tuple[Path | None, str, str]]):
    completed("osctl", "graph", "--context", "east", "-n", "openstack", "--kubeconfig", "/a/file", "")
    assert opened == [(Path("/a/file"), "east", "openstack")]


def test_a_cluster_that_does_not_answer_offers_nothing_and_says_nothing(monkeypatch: pytest.MonkeyPatch):
    def refused(*_: object) -> Cluster:
        raise ApiUnavailable("no answer")

    monkeypatch.setattr(completion, "open_cluster", refused)
    assert completed("osctl", "status", "") == []


def test_a_slow_cluster_is_not_waited_for(monkeypatch: pytest.MonkeyPatch):
    reader = []

    class Slow:
        def __init__(self, **given: object) -> None:
            reader.append(given)

        def start(self) -> None:
            pass

        def join(self, within: float) -> None:
            reader.append(within)

    monkeypatch.setattr(completion, "Thread", Slow)
    assert completed("osctl", "status", "") == []
    assert reader[0]["daemon"] is True
    assert reader[1] == 3.0
