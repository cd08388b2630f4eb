"""Rendering a region: our layers and templates, beside Helm rendering the same releases of the same charts.

Cold is a process that has just begun: one of ours for the region, one of the helm CLI for each release. Warm
is a process that did it before: ours with its library and charts read, Helm's as a worker. Upstream's charts
are stood in for by charts of their shape, whose templates ask less of Helm than theirs.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from controller.domain.releases.bundle import ReleaseSpec
from controller.render.region import Region
from sandbox.build import ensure_binaries
from sandbox.patience import patient
from tests.archives import unpack
from tests.bench.render_once import ROOT, Renderer
from tests.chart_repositories.upstream import upstream_charts
from tests.charts.test_region import resolved
from tests.helm_program import Chart
from tests.render.region import core_spec

ROUNDS = 5
_LAUNCHER = [sys.executable, "-I", "-S", str(ROOT / "tests" / "bench" / "measured.py")]


@dataclass(frozen=True)
class Cost:
    """What a run took: seconds, and the megabytes of its largest process."""

    seconds: float
    megabytes: float

    def __str__(self) -> str:
        return f"{self.seconds * 1000:.0f} ms and {self.megabytes:.0f} MB"


def run(commands: Sequence[Sequence[str | Path]]) -> Cost:
    """One process after the other."""
    costs = []
    for command in commands:
        call = [*_LAUNCHER, *map(str, command)]
        answer = subprocess.run(
            call, check=True, capture_output=True, text=True, timeout=patient(120), cwd=ROOT
        )
        costs.append(json.loads(answer.stdout))
    return Cost(sum(seconds for seconds, _ in costs), max(megabytes for _, megabytes in costs))


def least(*actions: Callable[[], Cost]) -> list[Cost]:
    """The fastest of some rounds of each, taken in turns: the others waited for something else."""
    rounds = [[action() for action in actions] for _ in range(ROUNDS)]
    return [min(each, key=lambda cost: cost.seconds) for each in zip(*rounds, strict=True)]


def timed(action: Callable[[], Any]) -> Callable[[], Cost]:
    def measure() -> Cost:
        started = time.perf_counter()
        action()
        return Cost(time.perf_counter() - started, 0)

    return measure


def helm_calls(region: Region, renderer: Renderer, directory: Path) -> list[list[str | Path]]:
    """What renders every release of the region by the helm CLI."""
    helm = ensure_binaries().helm
    calls: list[list[str | Path]] = []
    for bundle in region.bundles:
        for release in bundle.releases:
            values = directory / f"{release.spec.name}.json"
            values.write_text(json.dumps(resolved(dict(release.spec.values))))
            chart = renderer.charts.locate(release.spec.chart)
            calls.append([helm, "template", release.spec.name, chart, "-n", "openstack", "-f", values])
    return calls


def helm_renders(release: ReleaseSpec, renderer: Renderer) -> None:
    """By a worker, and each time again: what the adapter remembers for a moment would take no time."""
    chart = Chart.load(renderer.charts.locate(release.chart))
    chart.render(resolved(dict(release.values)), name=release.name, namespace="openstack")


def compared(name: str, spec: dict[str, Any], directory: Path) -> Iterator[str]:
    metadata = {"name": "region-one", "namespace": "openstack"}
    head = {"apiVersion": "osctl.dev/v1alpha1", "kind": "OpenStackDeployment", "metadata": metadata}
    document = {**head, "spec": spec}
    file = directory / "region.json"
    file.write_text(json.dumps(document))
    renderer = Renderer()
    region = renderer.render(document)
    calls = helm_calls(region, renderer, directory)
    releases = [release.spec for bundle in region.bundles for release in bundle.releases]
    program = [sys.executable, "-m", "tests.bench.render_once"]
    ours, start, theirs = least(lambda: run([[*program, file]]), lambda: run([program]), lambda: run(calls))
    warm, worker = least(
        timed(lambda: renderer.render(document)),
        timed(lambda: [helm_renders(release, renderer) for release in releases]),
    )
    yield f"{name} medium, {len(releases)} releases"
    yield f"  cold: ours {ours}, helm template {theirs}, ratio {ours.seconds / theirs.seconds:.3f}"
    yield f"  cold: {start.seconds * 1000:.0f} ms of ours are the start of Python and its imports"
    yield (
        f"  warm: ours {warm.seconds * 1000:.0f} ms, Helm's worker {worker.seconds * 1000:.0f} ms, "
        f"ratio {warm.seconds / worker.seconds:.3f}"
    )
    yield f"  warm beside the CLI: ratio {warm.seconds / theirs.seconds:.3f}"


def figures() -> Iterator[str]:
    """Lines to print."""
    with tempfile.TemporaryDirectory(prefix="bench-charts-") as name:
        directory = Path(name)
        for archive in upstream_charts().values():
            unpack(archive, directory)
        upstream = {"repository": directory.as_uri()}
        yield from compared("core", core_spec(size="medium", charts={}), directory)
        for preset in ("core", "compute"):
            spec = core_spec(preset=preset, size="medium", charts=upstream)
            yield from compared(f"{preset}, charts of upstream's shape,", spec, directory)
