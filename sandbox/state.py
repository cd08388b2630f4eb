"""What a sandbox remembers of itself between commands."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

from sandbox.errors import SandboxError
from sandbox.ports import Ports


@dataclass(frozen=True)
class State:
    """The choices made when a sandbox was first started.

    `private`: its processes die with their parent. `real`: it has a real node beside the simulated ones.
    """

    name: str
    profile: str
    ports: Ports
    private: bool = False
    real: bool = False


def read_state(path: Path) -> State | None:
    """The state, None where no sandbox is. Raises SandboxError on a file that is not ours."""
    try:
        raw = json.loads(path.read_text())
        return State(
            name=raw["name"],
            profile=raw["profile"],
            ports=Ports(**raw["ports"]),
            private=raw["private"],
            real=raw.get("real", False),
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
