"""A cluster in memory with the busy region."""

from __future__ import annotations

from typing import Any

import pytest

from controller.cli.cluster import Cluster
from tests.cli.views.pages.regions import bundles, busy_region, maintenance
from tests.fakes.kube import FakeKube

COMMANDS = ("graph", "report")


def create_with_status(kube: FakeKube, obj: dict[str, Any]) -> None:
    made = kube.create({**obj, "metadata": {**obj["metadata"], "generation": 1}})
    if "status" in obj:
        kube.replace({**made, "status": obj["status"]}, subresource="status")


@pytest.fixture
def kube(monkeypatch: pytest.MonkeyPatch) -> FakeKube:
    fake = FakeKube()
    for one in (busy_region(), *bundles(), maintenance()):
        create_with_status(fake, one)
    for name in COMMANDS:
        where = f"controller.cli.commands.overview.{name}.open_cluster"
        monkeypatch.setattr(where, lambda *given: Cluster(fake, given[2]))
    return fake
