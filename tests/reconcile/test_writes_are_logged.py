"""Each write to the Kubernetes API stands in the log: the function that makes it calls `log_action`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

CONTROLLER = Path(__file__).parents[2] / "controller"
WRITES = {"create", "replace", "merge_patch", "delete", "apply"}
# A status says itself what happened, a Lease is renewed every few seconds, and what is written into Helm's
# own records belongs to the action that is logged when it ends.
NOT_ACTIONS = {
    "reconcile/shared/leases/lease.py:release",
    "reconcile/shared/leases/lease.py:_take",
    # Their callers know what it is for, and log it.
    "reconcile/shared/preconditioned_writes.py:patch_seen",
    "reconcile/releases/hooks/previous_runs.py:delete_run",
    "reconcile/credentials/exchange/namespace_exchange.py:_write_record",
    "reconcile/shared/installation_key.py:_create",
    "reconcile/shared/installation_key.py:_complete",
    "reconcile/machines/machine_sets.py:_written",
    # DriftWatch logs it, with what was corrected.
    "reconcile/releases/drift/compare.py:correct",
    "adapters/helm/records/release_records.py:relabel",
    "adapters/helm/records/record_secrets.py:rewrite",
}


def _sources() -> Iterator[Path]:
    yield from (CONTROLLER / "reconcile").rglob("*.py")
    yield from (CONTROLLER / "adapters" / "helm").rglob("*.py")


def _is_write(node: ast.AST) -> bool:
    if isinstance(node, ast.Name) and node.id in ("patch_seen", "delete_run"):
        return True
    if not (isinstance(node, ast.Attribute) and node.attr in WRITES):
        return False
    return ast.unparse(node.value).rpartition(".")[2] in ("_kube", "kube")


def _writes(function: ast.FunctionDef) -> bool:
    """Whether it writes to Kubernetes, and not only asks what a write would do."""
    dry = {
        call.func
        for call in ast.walk(function)
        if isinstance(call, ast.Call) and any(one.arg == "dry_run" for one in call.keywords)
    }
    return any(_is_write(node) and node not in dry for node in ast.walk(function))


def _logs(function: ast.FunctionDef) -> bool:
    return any(isinstance(node, ast.Name) and node.id == "log_action" for node in ast.walk(function))


@pytest.mark.slow
def test_what_writes_to_kubernetes_logs_it() -> None:
    found, silent = 0, []
    for path in _sources():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and _writes(node):
                found += 1
                name = f"{path.relative_to(CONTROLLER)}:{node.name}"
                silent += [] if _logs(node) or name in NOT_ACTIONS else [name]
    assert found > 25
    assert silent == []
