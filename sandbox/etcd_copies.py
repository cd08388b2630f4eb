"""Copies of what a sandbox's etcd holds, and the way back to one: as after a restore from a backup."""

from __future__ import annotations

import shutil
from pathlib import Path

from sandbox.cluster import Sandbox
from sandbox.errors import SandboxError


def save_etcd(box: Sandbox, name: str) -> None:
    """Keeps the present state under `name`, replacing an earlier one. etcd is away for a moment."""
    copy = _place(box, name)
    shutil.rmtree(copy, ignore_errors=True)
    box.stop_component("etcd")
    try:
        shutil.copytree(box.layout.etcd, copy)
    finally:
        box.start_component("etcd")
        # The API server reconnects by itself, in its own time.
        box.start_component("apiserver")


def restore_etcd(box: Sandbox, name: str) -> None:
    """Makes the state kept under `name` the present one. The copy stays.

    Every component is restarted: each has seen a later state, and would wait for that to come again
    (etcd.io, Disaster recovery: restart what watches). Raises SandboxError when there is no such copy.
    """
    copy = _place(box, name)
    if not copy.is_dir():
        raise SandboxError(f'sandbox "{box.name}" has no copy of etcd named "{name}"')
    for component in reversed(box.component_names):
        box.kill_component(component)
    shutil.rmtree(box.layout.etcd)
    shutil.copytree(copy, box.layout.etcd)
    for component in box.component_names:
        box.start_component(component)


def _place(box: Sandbox, name: str) -> Path:
    return box.layout.directory / "etcd-copies" / name
