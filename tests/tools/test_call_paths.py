"""tools/call_paths.py counts calls by what the code says, without running it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.call_paths import (
    CHOICE,
    GENERATION,
    NEEDS,
    PASS,
    WRITES,
    Project,
    below,
    counted,
    on_the_way,
    readings,
)

PORT = """
class Kube(Protocol):
    def create(self) -> None: ...
"""
STORE = """
from controller.ports.kube import Kube

class Store:
    kept: bool = False

    def __init__(self, kube: Kube) -> None:
        self._kube = kube

    @property
    def ready(self) -> bool:
        return unrelated()

    def write(self) -> None:
        self._kube.create()

def unrelated() -> bool:
    return True
"""
STEP = """
from functools import partial
from controller.reconcile.store import Store

def take(store: Store) -> None:
    if store.ready and store.kept:
        handed(partial(store.write))

def handed(write) -> None:
    write()
"""


def project(root: Path) -> Project:
    for name, text in (("ports/kube", PORT), ("reconcile/store", STORE), ("domain/step", STEP)):
        path = root / "controller" / f"{name}.py"
        path.parent.mkdir(parents=True)
        path.write_text(text)
    return Project(root, ("controller",))


def test_properties_handed_functions_and_ports_count(tmp_path: Path) -> None:
    calls = below(project(tmp_path), ("controller.domain.step.take",))
    assert calls == {
        ("controller.domain.step.take", "controller.domain.step.handed"),
        ("controller.domain.step.take", "controller.reconcile.store.Store.ready"),
        ("controller.domain.step.take", "controller.reconcile.store.Store.write"),
        ("controller.reconcile.store.Store.ready", "controller.reconcile.store.unrelated"),
        ("controller.reconcile.store.Store.write", "controller.ports.kube.Kube.create"),
    }


def test_the_path_leaves_out_what_does_not_lead_to_the_write(tmp_path: Path) -> None:
    found = project(tmp_path)
    calls = below(found, ("controller.domain.step.take",))
    path = on_the_way(calls, ("controller.ports.kube.Kube.create",))
    assert len(path) == 2
    assert str(counted(found, path)) == "2 calls through 3 modules, 1 of them up a layer"


@pytest.mark.slow
def test_the_readings_of_this_project_reach_the_write_of_a_secret() -> None:
    found = Project()
    named = {PASS, CHOICE, NEEDS, f"{GENERATION}.apply", *WRITES}
    assert named <= found.functions.keys()
    calls = readings(found)
    assert {called for _, called in calls["path"]} >= set(WRITES)
    assert len(calls["path"]) < 15
    assert len(calls["between modules"]) < 25
    assert len(calls["whole"]) < 45
    assert counted(found, calls["whole"]).up == frozenset()
