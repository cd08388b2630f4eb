"""A chart of one object, and the HelmBundle that has it as its only release."""

from __future__ import annotations

from pathlib import Path
from typing import Any

BUNDLE = "pages"


def write_bundle(directory: Path, name: str, manifest: str) -> dict[str, Any]:
    """Writes the chart below `directory`. The HelmBundle, named `BUNDLE`, as it is to be applied."""
    chart = directory / name
    (chart / "templates").mkdir(parents=True)
    (chart / "Chart.yaml").write_text(f"{{apiVersion: v2, name: {name}, version: 1.0.0}}")
    (chart / "values.yaml").write_text("{}")
    (chart / "templates" / "object.yaml").write_text(manifest)
    release = {"name": name, "chart": {"name": name, "repository": f"file://{directory}"}}
    return {
        "apiVersion": "osctl.dev/v1alpha1",
        "kind": "HelmBundle",
        "metadata": {"name": BUNDLE},
        "spec": {"releases": [release]},
    }
