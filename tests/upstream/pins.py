"""Writes values/charts/pinned.yaml and previous.yaml: facts about commits of a checkout with its history.

make pins CHARTS=<checkout of openstack-helm> [PINNED=<commit>] [PREVIOUS=<commit>]
"""

from __future__ import annotations

import argparse
import io
import re
import subprocess
import tarfile
import tempfile
from pathlib import Path

from controller.adapters.charts.source import ChartStore
from controller.adapters.system.values_files import load_builds, load_library
from controller.domain.releases.bundle import ChartRef
from controller.domain.values.catalogue import UPSTREAM, Catalogue
from controller.domain.values.chart_builds import BuildSet, ChartBuild

ROOT = Path(__file__).parents[2]
VALUES = ROOT / "values"
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
        content = subprocess.run(
            ["git", "-C", str(checkout), "archive", full, *charts, "helm-toolkit"],
            check=True,
            capture_output=True,
        ).stdout
        with tarfile.open(fileobj=io.BytesIO(content)) as archive:
            archive.extractall(directory, filter="data")
        store = ChartStore(Path(directory) / "none")
        for name in charts:
            patch = _git(checkout, "rev-list", "--count", f"{base}..{full}", "--", name).strip()
            digest = store.build(ChartRef(name, repository=f"file://{directory}"))
            found[name] = ChartBuild(f"{major}.{minor}.{patch}+{short}", digest)
    date = _git(checkout, "show", "--no-patch", "--format=%cs", full).strip()
    return BuildSet(full, date, found), base


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
    chosen = parser.parse_args()
    charts = upstream_charts(load_library(VALUES).catalogue)
    for what in _WHAT:
        builds, base = read_builds(chosen.charts, getattr(chosen, what), charts)
        path = VALUES / "charts" / f"{what}.yaml"
        path.write_text(text_of(builds, base, what), encoding="utf-8")
        print(f"{path.relative_to(ROOT)}: {len(builds.charts)} charts of {builds}")


if __name__ == "__main__":
    main()
