"""What a sandbox remembers of itself between commands."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

from sandbox.certificates import REAL_NODES
from sandbox.errors import SandboxError
from sandbox.ports import Ports


@dataclass(frozen=True)
class State:
    """The choices made when a sandbox was first started.

    `private`: its processes die with their parent. `nodes`: how many real nodes it has beside the simulated.
    """

    name: str
    profile: str
    ports: Ports
    private: bool = False
    nodes: int = 0

    @property
    def real(self) -> bool:
        """Whether it has a real node, in which pods run."""
        return self.nodes > 0


def read_state(path: Path) -> State | None:
    """The state, None where no sandbox is. Raises SandboxError on a file that is not ours."""
    try:
        raw = json.loads(path.read_text())
        return State(
            name=raw["name"],
            profile=raw["profile"],
            ports=Ports(**raw["ports"]),
            private=raw["private"],
            nodes=raw.get("nodes", 0),
        )
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise SandboxError(
            f"{path} is not the state of a sandbox ({type(error).__name__}): remove it by hand if it is yours"
        ) from error


def write_state(path: Path, state: State) -> None:
    """Writes the state in one step."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.write_text(json.dumps(asdict(state), indent=2) + "\n")
    draft.replace(path)


def count_nodes(existing: State | None, name: str, real: bool, wanted: int | None) -> int:
    """How many real nodes the sandbox has or gets. Raises SandboxError where it cannot have as many."""
    if wanted is not None and not (real and 1 <= wanted <= len(REAL_NODES)):
        raise SandboxError(f"a sandbox with real nodes has 1 to {len(REAL_NODES)} of them, not {wanted}")
    if existing is None:
        return (wanted or 1) if real else 0
    if real and existing.nodes != (wanted or existing.nodes or 1):
        has = f"{existing.nodes or 'no'} real node{'s' if existing.nodes > 1 else ''}"
        raise SandboxError(f'sandbox "{name}" has {has}; to change that, take it down first')
    return existing.nodes
