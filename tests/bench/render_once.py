"""Renders the region of one file once, in a process that has just begun: what osctl and core do first.

Without a file it only begins.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from controller.adapters.charts.source import ChartStore
from controller.adapters.system.crd_files import load_schema
from controller.adapters.system.values_files import load_library
from controller.domain.region.deployment import parse_deployment
from controller.render.region import Region, render_region

ROOT = Path(__file__).parents[2]


class Renderer:
    """Everything that a rendering needs, read once."""

    def __init__(self) -> None:
        self._schema = load_schema(ROOT / "charts/openstack-controller/files/crds", "openstackdeployments")
        self._library = load_library(ROOT / "values")
        self.charts = ChartStore(ROOT / "charts")

    def render(self, document: object) -> Region:
        return render_region(parse_deployment(document, self._schema), self._library, self.charts)


if __name__ == "__main__" and len(sys.argv) > 1:
    Renderer().render(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")))
