"""The real kstatus and a real CEL engine, as a small Go program built with the sandbox's toolchain."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sandbox.builds import demand_builds
from sandbox.locks import locked
from sandbox.paths import cache_root
from sandbox.patience import patient
from sandbox.toolchain import ensure_go

MODULE = Path(__file__).parent / "kstatus"
# From nothing, with the libraries to be fetched, on a machine that does much else.
BUILD_SECONDS = 3000.0


@dataclass(frozen=True)
class Verdict:
    """What the library says of one object, and what each expression gives on it."""

    status: str
    message: str
    expressions: Mapping[str, bool]


def ensure_program() -> Path:
    """The program, built first if the cache lacks it (a minute or several)."""
    digest = hashlib.sha256()
    for name in ("go.mod", "go.sum", "main.go"):
        digest.update((MODULE / name).read_bytes())
    target = cache_root() / "kstatus" / digest.hexdigest()[:20]
    with locked(target.with_name(f".{target.name}.lock"), timeout=BUILD_SECONDS):
        if not target.exists():
            _build(target)
    return target


def _build(target: Path) -> None:
    demand_builds(str(target))
    go = ensure_go(MODULE / "go.mod", cache_root() / "go", print)
    flags = {"GOTOOLCHAIN": "local", "GOWORK": "off", "CGO_ENABLED": "0"}
    draft = target.with_suffix(".draft")
    done = subprocess.run(
        # As the sandbox's binaries are built: what they share is compiled already.
        [str(go), "build", "-trimpath", "-o", str(draft), "."],
        cwd=MODULE,
        env={**os.environ, **flags, "GOFLAGS": "-buildvcs=false -mod=readonly"},
        capture_output=True,
        text=True,
        timeout=patient(BUILD_SECONDS),
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    draft.rename(target)


def judge(
    objects: Iterable[Mapping[str, Any]], expressions: Mapping[str, str] | None = None
) -> list[Verdict]:
    """The verdict on each object."""
    lines = [json.dumps({"object": obj, "expressions": expressions or {}}) for obj in objects]
    done = subprocess.run(
        [str(ensure_program())],
        input="\n".join(lines),
        capture_output=True,
        text=True,
        timeout=patient(300),
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [Verdict(**json.loads(line)) for line in done.stdout.splitlines()]
