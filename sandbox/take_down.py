"""Takes a sandbox down, and finds those that there are."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path

from sandbox import processes
from sandbox.control_plane import COMPONENT_NAMES, REAL_NAMES
from sandbox.errors import SandboxError
from sandbox.locks import locked
from sandbox.node.hosts import real_nodes
from sandbox.node.prepare import end_node
from sandbox.paths import Layout, sandbox_directory, state_root
from sandbox.state import read_state

LOCK_SECONDS = 300.0


def take_down(name: str, directory: Path | None = None) -> bool:
    """Ends the processes of the sandbox `name` and removes its files; works on a half-made one too.

    False when there was nothing. Only processes that were started for this directory are ended.
    """
    layout = Layout(sandbox_directory(name, directory))
    if not layout.state.exists() and not layout.lock.exists():
        return False
    with locked(layout.lock, timeout=LOCK_SECONDS, remove=True):
        state = read_state(layout.state)
        if state is None:
            return False
        if state.name != name:
            raise SandboxError(f'{layout.directory} is the sandbox "{state.name}", not "{name}"')
        recorded = [processes.read_pid_file(layout.pid_file(one)) for one in (*COMPONENT_NAMES, *REAL_NAMES)]
        owned = processes.find_owned(layout.directory)
        # Their data goes too: there is nothing that an orderly end would save.
        for identity in dict.fromkeys([*(one for one in recorded if one is not None), *owned]):
            processes.kill_process(identity)
        for node in real_nodes(state.nodes):
            end_node(layout, node)
        _remove_files(layout)
    with contextlib.suppress(OSError):  # not empty, or not there: nothing to tidy
        state_root().rmdir()
        state_root().parent.rmdir()
    return True


def _remove_files(layout: Layout) -> None:
    """Removes the directory, the state file last: a killed removal is taken up again by the next one."""
    for entry in layout.directory.iterdir():
        if entry == layout.state:
            continue
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        else:
            entry.unlink()
    layout.state.unlink()
    layout.directory.rmdir()


def list_sandboxes(root: Path) -> Iterator[tuple[str, Path]]:
    """Name and directory of every sandbox under `root`."""
    with contextlib.suppress(FileNotFoundError):
        for entry in sorted(root.iterdir()):
            state = read_state(entry / "sandbox.json") if entry.is_dir() else None
            if state is not None:
                yield state.name, entry
