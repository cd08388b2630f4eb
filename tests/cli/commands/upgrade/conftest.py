"""A region in memory that osctl upgrades; while a command waits, the controller works."""

from __future__ import annotations

import pytest

from controller.cli import on_cluster
from controller.cli.cluster import Cluster
from controller.cli.commands.upgrade import actions, check, plan, status
from tests.reconcile.region.upgrade.upgrading_region import UpgradingRegion

MODULES = (on_cluster, check, plan, status)


class Terminal:
    """The answers of a person at a terminal."""

    def __init__(self) -> None:
        self.answer = False
        self.asked: list[str] = []

    def confirm(self, question: str, *, err: bool) -> bool:
        self.asked.append(question)
        return self.answer


@pytest.fixture
def region(monkeypatch: pytest.MonkeyPatch) -> UpgradingRegion:
    return found_by_osctl(UpgradingRegion(), monkeypatch)


def found_by_osctl(region: UpgradingRegion, monkeypatch: pytest.MonkeyPatch) -> UpgradingRegion:
    """The commands find this region, and its controller works while they wait."""

    def work(_: float) -> None:
        region.reconcile()
        region.deploy()
        region.clock.advance(31)

    for module in MODULES:
        monkeypatch.setattr(module, "open_cluster", lambda *_: Cluster(region.kube, ""))
    for module in (actions, status):
        monkeypatch.setattr(module.time, "sleep", work)
        monkeypatch.setattr(module, "SystemClock", lambda: region.clock)
    return region


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """A terminal on stdin."""
    found = Terminal()
    monkeypatch.setattr(actions, "is_interactive", lambda: True)
    monkeypatch.setattr(actions.typer, "confirm", found.confirm)
    return found
