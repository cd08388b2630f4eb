"""Charts rendered by Helm's own program, for tests: what each file of a chart gives."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections import defaultdict
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from controller.adapters.helm.manifests import split_documents
from controller.adapters.helm.memory_budget import MemoryBudget
from controller.adapters.helm.process_bounds import MIB, Bounds
from controller.adapters.helm.program import find_program
from controller.adapters.helm.workers import Workers

_SECONDS = 120
_BOUNDS = Bounds(memory=1024 * MIB, processor=120, seconds=600, output=64 * MIB)
_SOURCE = "# Source: "


class HelmError(Exception):
    """Helm has refused; its own words."""


class Chart:
    """One chart."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    @classmethod
    def load(cls, path: str | Path) -> Chart:
        """The chart in a directory or an archive."""
        return cls(path)

    def render(self, values: Mapping[str, Any], *, name: str, namespace: str) -> dict[str, str]:
        """By file of the chart, hooks included, all that it gives. Raises HelmError."""
        output = _rendered(self.path, values, name, namespace)
        texts: dict[str, list[str]] = defaultdict(list)
        for document in split_documents(output):
            source, _, text = document.lstrip().partition("\n")
            assert source.startswith(_SOURCE), source
            texts[source.removeprefix(_SOURCE)].append(text)
        return {source: "\n---\n".join(found) for source, found in texts.items()}

    def validate_schema(self, values: Mapping[str, Any]) -> None:
        """Raises HelmError where the values do not fit the chart's schema; other faults do not count."""
        try:
            self.render(values, name="r", namespace="n")
        except HelmError as error:
            if "don't meet the specifications of the schema" in str(error):
                raise


def lint(path: str | Path, values: Mapping[str, Any], *, namespace: str) -> str:
    """What `helm lint --strict` prints. Raises HelmError where it finds a fault."""
    return run(["lint", str(path), "--strict", "--quiet", "--namespace", namespace, "-f", "-"], values)


def run(arguments: list[str], values: Mapping[str, Any]) -> str:
    """Standard output of Helm with values on its standard input. Raises HelmError."""
    done = subprocess.run(
        [str(_program()), *arguments],
        input=json.dumps(values),
        env=_environment(),
        capture_output=True,
        text=True,
        timeout=_SECONDS,
        check=False,
    )
    if done.returncode != 0:
        raise HelmError(done.stderr.strip() or done.stdout.strip())
    return done.stdout


def _rendered(chart: Path, values: Mapping[str, Any], name: str, namespace: str) -> str:
    asked = {"action": "render", "release": name, "namespace": namespace, "chart": str(chart)}
    ended = _workers().call({**asked, "values": json.dumps(values)}, _BOUNDS)
    if "text" not in ended.answer:
        raise HelmError(ended.answer.get("error") or ended.exceeded or ended.died or "nothing was rendered")
    return str(ended.answer["text"])


@cache
def _workers() -> Workers:
    return Workers(_program(), _environment, _BOUNDS.memory, MemoryBudget())


@cache
def _program() -> Path:
    return find_program()


@cache
def _environment() -> Mapping[str, str]:
    home = Path(tempfile.gettempdir()) / "helm-of-tests"
    places = {f"HELM_{kind}_HOME": str(home / kind.lower()) for kind in ("CACHE", "CONFIG", "DATA")}
    return {"PATH": os.environ["PATH"], "HELM_NO_PLUGINS": "1", **places}
