"""Rendering a region: our layers and templates, beside the helm CLI rendering the same charts."""

from __future__ import annotations

import json
import resource
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from controller.render import Region
from sandbox.build import ensure_binaries
from tests.charts.test_region import resolved
from tests.render.region import ROOT, core_spec, render_anew

REPEATS = 5


def best_of(action: Callable[[], Any]) -> float:
    """Milliseconds of the fastest of some runs: the others waited for something else."""
    fastest = float("inf")
    for _ in range(REPEATS):
        started = time.perf_counter()
        action()
        fastest = min(fastest, time.perf_counter() - started)
    return fastest * 1000


def helm_renders(region: Region) -> Callable[[], None]:
    """What renders all releases of the region by `helm template`, one call for each."""
    helm = ensure_binaries().helm
    directory = Path(tempfile.mkdtemp(prefix="bench-values-"))
    calls = []
    for bundle in region.bundles:
        for release in bundle.releases:
            values = directory / f"{release.spec.name}.json"
            values.write_text(json.dumps(resolved(dict(release.spec.values))))
            chart = ROOT / "charts" / release.spec.chart.name
            calls.append([helm, "template", release.spec.name, chart, "-n", "openstack", "-f", values])

    def run() -> None:
        for call in calls:
            subprocess.run(call, check=True, capture_output=True, timeout=120)

    return run


def figures() -> Iterator[str]:
    """Lines to print."""
    core = core_spec(size="medium", charts={})
    region = render_anew(core)
    ours = best_of(lambda: render_anew(core))
    helm = best_of(helm_renders(region))
    count = sum(len(bundle.releases) for bundle in region.bundles)
    yield f"core medium, {count} releases: ours {ours:.0f} ms, helm template {helm:.0f} ms"
    yield f"ratio {ours / helm:.3f}"
    compute = core_spec(preset="compute", size="medium")
    whole = best_of(lambda: render_anew(compute))
    count = sum(len(bundle.releases) for bundle in render_anew(compute).bundles)
    yield f"compute medium, {count} releases with upstream's values: ours {whole:.0f} ms"
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    yield f"peak memory of this process: {memory:.0f} MB"
