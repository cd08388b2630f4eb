"""In every container that acts, each action is one line of the log, with the same fields."""

from __future__ import annotations

import ast
import logging
from collections.abc import Mapping
from pathlib import Path

import pytest

from controller.adapters.kubernetes.events import KubeEvents
from controller.adapters.system.logs import FIELDS, LEVELS
from controller.ports import openstack
from controller.ports.kubernetes import HELMBUNDLE
from controller.ports.system import Clock
from tests.fakes.kube import FakeKube
from tests.reconcile.actions import action_lines, actions
from tests.reconcile.bundles import NAMESPACE, Bench
from tests.reconcile.credentials.test_secrets import Bed
from tests.reconcile.node_world import NodeWorld
from tests.reconcile.region_states import Stage

CONTROLLER = Path(__file__).parents[2] / "controller"
RECONCILE = CONTROLLER / "reconcile"
LOGGED = RECONCILE / "hosts" / "openstack_writes.py"
# What node does to objects of Kubernetes; all else it does in OpenStack.
IN_KUBERNETES = {"drain-lock", "release-drain-lock", "cordon", "uncordon", "annotate", "set-finalizers"}


def _writes() -> set[str]:
    """Methods of the port `Cloud` that change something: those after the mark in it."""
    source = Path(openstack.__file__).read_text(encoding="utf-8")
    begins = source[: source.index("# -- writes that may be repeated")].count("\n")
    [cloud] = [one for one in ast.parse(source).body if isinstance(one, ast.ClassDef) and one.name == "Cloud"]
    return {one.name for one in cloud.body if isinstance(one, ast.FunctionDef) and one.lineno > begins}


@pytest.fixture(autouse=True)
def _logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)


@pytest.mark.slow
def test_openstack_is_written_to_only_where_it_is_logged() -> None:
    writes, direct = _writes(), []
    assert {"evacuate", "set_agent", "force_down"} <= writes
    for path in RECONCILE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute) and node.attr in writes and path != LOGGED:
                owner = node.value.id if isinstance(node.value, ast.Name) else ""
                if "cloud" in ast.unparse(node.value).lower() and owner != "openstack_writes":
                    direct.append(f"{path.name}:{node.lineno} {node.attr}")
    assert direct == []


def _real_events(clock: Clock) -> KubeEvents:
    """As in the containers, where an Event is a line of the log, too."""
    return KubeEvents(FakeKube(), clock, component="test", instance="test")


def _told_twice(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Other lines that say what the line of an action says."""
    lines = action_lines(caplog)
    others = [one for one in caplog.records if one not in lines]
    reasons = {one.reason for one in lines if hasattr(one, "reason")}
    texts = [one.getMessage() for one in lines]
    return [
        one.getMessage()
        for one in others
        if getattr(one, "reason", "") in reasons or any(one.getMessage() in text for text in texts)
    ]


@pytest.mark.slow
def test_every_line_of_the_log_says_of_what_it_is_and_why() -> None:
    """Those of `log_action` have action, object and result; all others object and reason."""
    found, bare = 0, []
    for path in [*CONTROLLER.rglob("*.py"), *(CONTROLLER.parent / "containers").rglob("*.py")]:
        for function in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(function, ast.FunctionDef) or path.name == "action_log.py":
                continue
            given = {one.targets[0].id: one.value for one in ast.walk(function) if _is_simple(one)}  # type: ignore[attr-defined]
            for call in ast.walk(function):
                if _is_log_call(call):
                    found += 1
                    if not {"object", "reason"} <= _fields_of(call, given) <= set(FIELDS):  # type: ignore[arg-type]
                        bare.append(f"{path.relative_to(CONTROLLER.parent)}:{call.lineno}")  # type: ignore[attr-defined]
    assert found > 30
    assert bare == []


def _is_simple(node: ast.AST) -> bool:
    return isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)


def _is_log_call(node: ast.AST) -> bool:
    called = node.func if isinstance(node, ast.Call) else None
    writes = isinstance(called, ast.Attribute) and (
        called.attr == "log" or called.attr.upper() in (*LEVELS, "CRITICAL")
    )
    return writes and ast.unparse(called.value) == "log"  # type: ignore[union-attr]


def _fields_of(call: ast.Call, given: Mapping[str, ast.expr]) -> set[str]:
    for one in call.keywords:
        extra = given.get(one.value.id) if isinstance(one.value, ast.Name) else one.value
        if one.arg == "extra" and isinstance(extra, ast.Dict):
            return {ast.unparse(key).strip("'").lower() for key in extra.keys if key}
    return set()


@pytest.mark.slow
def test_node_logs_each_write_to_openstack_once(caplog: pytest.LogCaptureFixture) -> None:
    world = NodeWorld("cmp1", "cmp2", "cmp3")
    world.events = _real_events(world.clock)
    world.restart()
    world.cloud.boot(2, "cmp1")
    world.cordon("cmp2")
    world.reconcile(3)
    world.cordon("cmp2", False)
    world.maintain("work", "cmp1", mode="Migrate")
    world.reconcile(30)
    lines = action_lines(caplog)
    in_openstack = [one for one in lines if one.action not in IN_KUBERNETES]
    assert len(in_openstack) == len(world.cloud.writes) > 4
    shown = actions(caplog)
    assert ("disable-compute-service", "cmp2", "done") in shown
    assert ("cordon", "cmp1", "done") in shown
    assert [one for one in shown if one[0] == "live-migrate"] != []
    assert {one.name for one in lines} == {"controller.reconcile.shared.action_log"}
    assert _told_twice(caplog) == []


def test_helmbundle_logs_each_action_of_helm_once(caplog: pytest.LogCaptureFixture) -> None:
    bench = Bench()
    bench.events = _real_events(bench.clock)
    bench.restart()
    bench.bundle("one", "web", "db")
    bench.settle()
    bench.kube.delete(HELMBUNDLE, "one", NAMESPACE)
    bench.settle()
    assert sorted(actions(caplog)) == [
        ("install", f"{NAMESPACE}/db", "done"),
        ("install", f"{NAMESPACE}/web", "done"),
        ("set-finalizers", f"{NAMESPACE}/one", "done"),
        ("set-finalizers", f"{NAMESPACE}/one", "done"),
        ("uninstall", f"{NAMESPACE}/db", "done"),
        ("uninstall", f"{NAMESPACE}/web", "done"),
    ]
    by_helm = [one for one in action_lines(caplog) if one.action != "set-finalizers"]
    assert {(one.bundle, one.release) for one in by_helm} == {("one", "web"), ("one", "db")}
    assert _told_twice(caplog) == []


@pytest.mark.slow
def test_core_logs_each_bundle_once(caplog: pytest.LogCaptureFixture) -> None:
    stage = Stage()
    stage.deploy()
    stage.reconcile()
    bundles = [one["metadata"] for one in stage.kube.objects("HelmBundle")]
    [region] = [one["metadata"] for one in stage.kube.objects("OpenStackDeployment")]
    assert sorted(actions(caplog)) == sorted(
        [
            *(("apply", f"{one['namespace']}/{one['name']}", "done") for one in bundles),
            ("set-finalizers", f"{region['namespace']}/{region['name']}", "done"),
        ]
    )


def test_secrets_logs_each_secret_once_and_none_of_their_content(caplog: pytest.LogCaptureFixture) -> None:
    bed = Bed()
    bed.reconcile()
    bed.reconcile()
    written = [one for one in bed.kube.writes if one.kind == "Secret"]
    assert len([one for one in actions(caplog) if one[0] == "create"]) == len(written) > 0
    logged = "\n".join(str(vars(one)) for one in caplog.records)
    for texts in bed.all_texts().values():
        assert not [text for text in texts.values() if text in logged]
