"""Writes facts of OpenStack-Helm: builds into values/charts, keys, images and objects into tests/data.

make pins CHARTS=<checkout of openstack-helm> [PINNED=<commit>] [PREVIOUS=<commit>] [IMAGES=<checkout>]
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from controller.adapters.charts.cache import ChartCache
from controller.adapters.charts.source import ChartStore
from controller.adapters.system.values_files import load_builds, load_library
from controller.domain.releases.bundle import ChartRef
from controller.domain.values.catalogue import UPSTREAM, Catalogue
from controller.domain.values.chart_builds import BuildSet, ChartBuild
from controller.domain.values.plain_text_secrets import literal_secrets
from tests.archives import unpack
from tests.upstream import images, shapes
from tools.service import written_files

ROOT = Path(__file__).parents[1]
VALUES = ROOT / "values"
KEYS = ROOT / "tests" / "data" / "upstream-keys"
FILES = ROOT / "tests" / "data" / "upstream-files.json"
_HEAD = """\
# The builds of OpenStack-Helm's charts {what}; written by `make pins`.
# A version counts the commits that touched the chart since tag {base}, and names the commit; the digest is of
# the chart's content with its dependencies (docs/chart-sources.md#builds).
commit: {commit}
date: {date}
charts:
"""
_WHAT = {
    "pinned": "that these values are written for",
    "previous": "from which regions are upgraded to the pinned ones",
}


def upstream_charts(catalogue: Catalogue) -> list[str]:
    """The charts of OpenStack-Helm that regions are made of."""
    entries = catalogue.services.values()
    charts = (item for entry in entries for item in entry.charts.items())
    return sorted({name for name, chart in charts if UPSTREAM in chart.sources})


def read_builds(checkout: Path, commit: str, charts: list[str]) -> tuple[BuildSet, str]:
    """The builds of these charts at a commit of a checkout, and the tag that their versions count from."""
    full = _git(checkout, "rev-parse", "--verify", f"{commit}^{{commit}}").strip()
    short = _git(checkout, "rev-parse", "--short=9", full).strip()
    base = _base_version(_git(checkout, "show", f"{full}:Makefile"))
    major, minor, _ = base.split(".")
    found = {}
    with tempfile.TemporaryDirectory() as directory:
        tree_of(checkout, full, charts, Path(directory))
        store = ChartStore(Path(directory) / "none")
        for name in charts:
            patch = _git(checkout, "rev-list", "--count", f"{base}..{full}", "--", name).strip()
            digest = store.build(ChartRef(name, repository=f"file://{directory}"))
            found[name] = ChartBuild(f"{major}.{minor}.{patch}+{short}", digest)
    date = _git(checkout, "show", "--no-patch", "--format=%cs", full).strip()
    return BuildSet(full, date, found), base


def tree_of(checkout: Path, commit: str, charts: list[str], directory: Path) -> None:
    """Writes these charts, and helm-toolkit, as they are at a commit."""
    command = ["git", "-C", str(checkout), "archive", commit, *charts, "helm-toolkit"]
    content = subprocess.run(command, check=True, capture_output=True).stdout
    unpack(content, directory)


def keys_of(values: Mapping[Any, Any]) -> dict[str, Any]:
    """The keys of a chart's values with the types of leaves, as tests/data/upstream-keys has them."""
    flagged = {tuple(path) for path in literal_secrets(values)}
    # A stand-in text would be taken for a secret under these names, and upstream has none there.
    harmless = {tuple(path) for path in literal_secrets(_with_texts(values))} - flagged
    found: dict[str, Any] = _keys(
        values, (), {**dict.fromkeys(harmless, "harmless"), **dict.fromkeys(flagged, "secret")}
    )
    return found


def _keys(value: Any, path: tuple[Any, ...], told: Mapping[tuple[Any, ...], str]) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _keys(item, (*path, key), told) for key, item in value.items()}
    if isinstance(value, str) and path in told:
        return told[path]
    return "null" if value is None else type(value).__name__


def keys_text(keys: Mapping[str, Any]) -> str:
    """One line for each key at the top, so that a reviewer sees where a build differs."""
    lines = (f"{json.dumps(key)}:{json.dumps(below, separators=(',', ':'))}" for key, below in keys.items())
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _with_texts(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _with_texts(item) for key, item in value.items()}
    return "text" if isinstance(value, str) else value


def history_of(charts: Path) -> Path | None:
    """The repository with the pinned commits: CHARTS_HISTORY, else the checkout; None if it lacks one."""
    place = Path(os.environ.get("CHARTS_HISTORY") or charts)
    builds = load_builds(VALUES)
    commits = [f"{found.commit}^{{commit}}" for found in (builds.pinned, builds.previous)]
    command = ["git", "-C", str(place), "cat-file", "-e"]
    found = [subprocess.run([*command, commit], capture_output=True, check=False) for commit in commits]
    return place if not any(one.returncode for one in found) else None


def text_of(builds: BuildSet, base: str, what: str) -> str:
    """The file of one set."""
    head = _HEAD.format(what=_WHAT[what], base=base, commit=builds.commit, date=builds.date)
    lines = (
        f'  {name}: {{version: {build.version}, digest: "{build.digest}"}}\n'
        for name, build in builds.charts.items()
    )
    return head + "".join(lines)


def _git(checkout: Path, *arguments: str) -> str:
    return subprocess.run(
        ["git", "-C", str(checkout), *arguments], check=True, capture_output=True, text=True
    ).stdout


def _base_version(makefile: str) -> str:
    found = re.search(r"^BASE_VERSION\s*\?=\s*(\d+\.\d+\.\d+)\s*$", makefile, re.MULTILINE)
    if found is None:
        raise SystemExit("the Makefile of the checkout names no BASE_VERSION")
    return found.group(1)


def main() -> None:
    """Command line of `make pins`."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("charts", type=Path, help="a checkout of openstack-helm with history and tags")
    known = load_builds(VALUES)
    parser.add_argument("--pinned", default="HEAD")
    parser.add_argument("--previous", default=known.previous.commit)
    parser.add_argument("--images", type=Path, help="a checkout of openstack-helm-images")
    chosen = parser.parse_args()
    charts = upstream_charts(load_library(VALUES).catalogue)
    for what in _WHAT:
        builds, base = read_builds(chosen.charts, getattr(chosen, what), charts)
        path = VALUES / "charts" / f"{what}.yaml"
        path.write_text(text_of(builds, base, what), encoding="utf-8")
        print(f"{path.relative_to(ROOT)}: {len(builds.charts)} charts of {builds}")
    with tempfile.TemporaryDirectory() as directory:
        tree_of(chosen.charts, chosen.pinned, charts, Path(directory))
        store = ChartStore(Path(directory) / "none", cache=ChartCache(Path(directory) / "packed"))
        named: dict[str, dict[str, str]] = {}
        for name in charts:
            values = store.defaults(ChartRef(name, repository=f"file://{directory}"))
            keys, named[name] = keys_of(values), images.images_of(values)
            (KEYS / f"{name}.json").write_text(keys_text(keys), encoding="utf-8")
        written = {name: sorted(written_files(Path(directory) / name)) for name in charts}
        FILES.write_text(keys_text(written), encoding="utf-8")
        shapes.record(shapes.shapes_of(store, Path(directory), charts))
    published = images.published_in(chosen.images) if chosen.images else images.recorded()["published"]
    images.record(named, published)


if __name__ == "__main__":
    main()
