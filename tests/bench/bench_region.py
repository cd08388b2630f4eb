"""A region of preset compute on OpenStack-Helm's charts, beside bare Helm with the same releases.

CHARTS names a checkout or a directory of its charts; without, nothing is measured. Bare Helm is given
the values that the container resolves, and the same dependencies: a release begins when those that it depends
on are deployed. "At once" it is given none.
"""

from __future__ import annotations

import secrets
import tempfile
import threading
import time
from collections.abc import Collection, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from controller.adapters.helm.client import HelmProgram
from controller.adapters.helm.program import find_program
from controller.adapters.kubernetes.client import PykubeClient
from controller.adapters.kubernetes.connection import connect
from controller.domain.values.option_files import NO_OPTION_FILES
from controller.domain.values.secret_refs import resolve
from controller.ports.helm import HelmRequest
from controller.render.region import RegionRelease
from sandbox.cluster import Sandbox
from sandbox.take_down import take_down
from tests.bench.fleet import namespace
from tests.bench.processes import Watched
from tests.cluster.conftest import installed
from tests.cluster.region import Region, wait_until
from tests.upstream.regions import charts_given, region, releases, store

SPEC: Mapping[str, Any] = {"preset": "compute", "size": "single"}
WAIT_SECONDS = 1800.0


def figures() -> Iterator[str]:
    """Lines to print."""
    charts = charts_given()
    if charts is None:
        yield "not measured: CHARTS names no charts of OpenStack-Helm"
        return
    wanted = {release.spec.name: release for release in releases(region(charts, SPEC))}
    name = f"bench-{secrets.token_hex(2)}"
    box = Sandbox.up(name, timeout=180)
    try:
        with namespace(box, _fresh()) as space:
            yield f"{len(wanted)} releases, bare Helm at once: {_bare(box, space, wanted, set()):.1f} s"
        with namespace(box, _fresh()) as space:
            seconds = _bare(box, space, wanted, set(wanted))
            yield f"{len(wanted)} releases, bare Helm with dependencies: {seconds:.1f} s"
        with namespace(box, _fresh()) as space:
            yield from _ours(box, space, charts, wanted)
    finally:
        take_down(name)


def _bare(box: Sandbox, space: str, wanted: Mapping[str, RegionRelease], waiting: Collection[str]) -> float:
    """Seconds until all are deployed; those in `waiting` wait for what they depend on."""
    helm = HelmProgram(PykubeClient(connect(box.kubeconfig)), find_program(), box.kubeconfig)
    done = {name: threading.Event() for name in wanted}

    def one(release: RegionRelease) -> None:
        spec = release.spec
        for name in spec.depends_on if spec.name in waiting else ():
            done[name].wait(WAIT_SECONDS)
        values = resolve(spec.values, lambda _name, key: f"made-up-{key}", NO_OPTION_FILES).values
        helm.install(HelmRequest(spec.name, space, store().locate(spec.chart), values))
        done[spec.name].set()

    began = time.monotonic()
    with ThreadPoolExecutor(len(wanted)) as pool:
        list(pool.map(one, wanted.values()))
    seconds = time.monotonic() - began
    # Some have no namespace in their names: the next ones would not be Helm's to make.
    box.kubectl(
        "delete", "clusterroles,clusterrolebindings", "--selector", "app.kubernetes.io/managed-by=Helm"
    )
    return seconds


def _ours(box: Sandbox, space: str, charts: Path, wanted: Mapping[str, RegionRelease]) -> Iterator[str]:
    with tempfile.TemporaryDirectory() as directory:
        for found in installed(box, space, Path(directory), own_charts=False):
            made: Region = found
            began = time.time()
            with Watched(partial(made.controllers.pid, "helmbundle")) as watched:
                made.apply(made.manifest(charts={"repository": f"file://{charts}"}, features={}, **SPEC))
                wait_until("Ready", made.ready, WAIT_SECONDS)
            ready = time.time() - began
            yield f"{len(wanted)} releases, the container: Ready after {ready:.1f} s"
            yield (
                f"  helmbundle with Helm: {watched.processor:.1f} s of processor time, "
                f"{watched.megabytes:.0f} MB in {watched.processes} processes at the most"
            )
            yield from _where(made, wanted, began)


def _where(made: Region, wanted: Mapping[str, RegionRelease], began: float) -> Iterator[str]:
    """The way to the release that was deployed last: of what each waited for, the one that came last."""
    entries = {
        entry["name"]: entry["lastAttempt"]
        for bundle in made.get("hb")["items"]
        for entry in bundle["status"]["releases"]
    }
    ended = {name: _seconds(entry["finished"]) - began for name, entry in entries.items()}
    name = max(ended, key=lambda one: ended[one])
    way = [name]
    while wanted[name].spec.depends_on:
        name = max(wanted[name].spec.depends_on, key=lambda one: ended[one])
        way.append(name)
    for name in reversed(way):
        start = _seconds(entries[name]["time"]) - began
        yield f"  {name}: from {start:.0f} s to {ended[name]:.0f} s ({entries[name]['duration']})"


def _seconds(stamp: str) -> float:
    return datetime.fromisoformat(stamp).timestamp()


def _fresh() -> str:
    return f"bench-{secrets.token_hex(3)}"
