"""What is measured while bundles are brought about."""

from __future__ import annotations

import pytest

from controller.domain.shared import metrics
from tests.fakes.metrics import FakeMetrics
from tests.reconcile.bundles import Bench


@pytest.fixture
def measures() -> FakeMetrics:
    return FakeMetrics()


@pytest.fixture
def bench(measures: FakeMetrics) -> Bench:
    return Bench(measures=measures)


def test_a_look_that_finds_a_release_as_it_should_be_is_counted(bench: Bench, measures: FakeMetrics) -> None:
    bench.bundle("identity", "keystone")
    bench.settle()
    before = measures.value(metrics.DIGEST_SKIPS, release="keystone") or 0
    bench.reconcile()
    bench.reconcile()
    assert measures.value(metrics.DIGEST_SKIPS, release="keystone") == before + 2


def test_a_look_that_begins_an_action_is_not_counted(bench: Bench, measures: FakeMetrics) -> None:
    bench.bundle("identity", "keystone")
    bench.reconcile()
    assert measures.value(metrics.DIGEST_SKIPS, release="keystone") is None
    bench.settle()
