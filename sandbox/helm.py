"""Helm's own program, built from a Go module of ours that pins it: no release of Helm need be reached.

The module is `helm/` of this repository; the image builds the same in a stage of its own (Dockerfile).
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

from sandbox.errors import BuildFailed
from sandbox.go_modules import GoModule, Report, ensure_module, is_complete
from sandbox.paths import SOURCE, cache_root
from sandbox.toolchain import ensure_go

MODULE = SOURCE.parent / "helm"
HELM = "helm.sh/helm/v4"
_ASK_SECONDS = 120


def pinned_version(go_mod: Path = MODULE / "go.mod") -> str:
    """The version of Helm that the module requires, as `v4.3.1`."""
    found = re.search(rf"^(?:require )?\s*{re.escape(HELM)} (v[\w.-]+)", go_mod.read_text(), re.MULTILINE)
    if found is None:
        raise BuildFailed(f"{go_mod} does not require {HELM}")
    return found[1]


def _module() -> GoModule:
    # Built by others than Helm's own Makefile it would say only `v4.3`.
    stamp = f"-s -w -X {HELM}/internal/version.version={pinned_version()}"
    return GoModule("helm", MODULE, (".",), stamp)


def find_helm() -> Path | None:
    """The built program of the present pin; None when it is missing or only half there."""
    directory = _module().cache_directory()
    return directory / "bin" / "helm" if is_complete(directory) else None


def ensure_helm(report: Report = lambda _: None) -> Path:
    """The program, built first if the cache lacks it. Raises DiskFull or BuildFailed."""
    return ensure_module(_module(), report) / "bin" / "helm"


def put_beside_python(helm: Path) -> Path:
    """Links the program into the environment of this Python, where osctl and the containers look first."""
    place = Path(sys.prefix) / "bin" / "helm"
    draft = place.with_name(f".helm-{os.getpid()}")
    draft.unlink(missing_ok=True)
    draft.symlink_to(helm)
    draft.replace(place)
    return place


def newer_version() -> str:
    """The newest stable Helm 4 where it is newer than the pinned one, else empty.

    Go's module proxy is asked. Raises BuildFailed where it cannot be reached.
    """
    go = ensure_go(MODULE / "go.mod", cache_root() / "go", lambda _: None)
    answer = subprocess.run(
        [go, "list", "-m", "-u", "-json", HELM],
        cwd=MODULE,
        env={**os.environ, "GOTOOLCHAIN": "local", "GOFLAGS": "-mod=readonly", "GOWORK": "off"},
        capture_output=True,
        text=True,
        timeout=_ASK_SECONDS,
        check=False,
    )
    if answer.returncode != 0:
        lines = answer.stderr.strip().splitlines() or ["no answer"]
        raise BuildFailed(f"whether there is a newer Helm cannot be probed: {lines[-1]}")
    # Go proposes a pre-release only to whoever has one.
    return str((json.loads(answer.stdout).get("Update") or {}).get("Version") or "")
