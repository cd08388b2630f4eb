"""Sizes of releases: what is estimated again, and what is forgotten."""

from __future__ import annotations

import random
from collections.abc import Mapping

import pytest

from controller.domain.releases.bundle import ChartRef
from controller.errors import RepositoryUnavailable, SecretMissing
from controller.ports.kubernetes import HELMBUNDLE
from tests.reconcile.bundles import NAMESPACE, Bench, Charts


class Fickle(Charts):
    """A chart too large for a record, whose files cannot be had the first time."""

    def __init__(self) -> None:
        self.asked = 0

    def files(self, chart: ChartRef) -> Mapping[str, bytes]:
        self.asked += 1
        if self.asked == 1:
            raise RepositoryUnavailable("503")
        return {"templates/big": random.Random(1).randbytes(3_000_000)}


@pytest.fixture
def bench() -> Bench:
    return Bench()


@pytest.mark.slow
def test_a_size_that_could_not_be_estimated_is_estimated_at_the_next_try(bench: Bench) -> None:
    bench.charts = Fickle()
    bench.restart()
    bench.helm.fails["web"] = "no such image"
    bench.bundle("pages", "web")
    bench.settle()
    assert bench.release("pages", "web")["reason"] == "BackingOff"
    bench.clock.advance(600)
    bench.settle()
    assert bench.release("pages", "web")["reason"] == "ReleaseTooLarge"
    assert bench.helm.calls == [("Install", "web")]


class Guarded(Charts):
    """Charts of a repository whose credentials go between two looks at it."""

    def locate(self, chart: ChartRef) -> str:
        raise SecretMissing("charts-login", "password")


def test_a_size_that_wants_a_secret_does_not_end_the_pass(bench: Bench) -> None:
    bench.charts = Guarded()
    bench.restart()
    bench.bundle("pages", "web")
    bench.settle()
    assert "charts-login" in bench.release("pages", "web")["message"]


@pytest.mark.parametrize("how", ["release", "bundle"])
def test_what_is_remembered_of_a_release_goes_with_it(bench: Bench, how: str) -> None:
    for number in range(5):
        bench.bundle("pages", f"web-{number}")
        bench.settle()
    if how == "bundle":
        bench.kube.delete(HELMBUNDLE, "pages", NAMESPACE)
        bench.settle()
    there = set() if how == "bundle" else {(NAMESPACE, "web-4")}
    assert set(bench.reconciler._sizes._known) == there
    assert set(bench.slots._outcomes) == there
