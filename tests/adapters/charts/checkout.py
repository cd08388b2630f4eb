"""Chart directories beside each other, as in a checkout of OpenStack-Helm."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from controller.adapters.charts.cache import ChartCache
from controller.adapters.charts.source import ChartStore
from controller.domain.releases.bundle import ChartRef

TOOLKIT = {"name": "toolkit", "repository": "file://../toolkit", "version": ">= 0.1.0"}
#: A library's template, and a chart's that uses it.
DEFINES = {"templates/_size.tpl": '{{- define "toolkit.size" -}}{{ .Values.size }}{{- end -}}\n'}
USES = {
    "templates/a.yaml": (
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Release.Name }}}\n"
        'data: {size: {{ include "toolkit.size" . | quote }}}\n'
    )
}


def write(
    place: Path,
    files: Mapping[str, str] | None = None,
    *,
    version: str = "0.1.0",
    dependencies: Sequence[Mapping[str, Any]] = (),
    name: str = "",
    values: str = "size: 1\n",
) -> Path:
    """A chart directory, named as its last part unless `name` says otherwise."""
    metadata = {"apiVersion": "v2", "name": name or place.name, "version": version}
    written = {**metadata, **({"dependencies": list(dependencies)} if dependencies else {})}
    for path, content in {
        "Chart.yaml": json.dumps(written),
        "values.yaml": values,
        **(files or {}),
    }.items():
        (place / path).parent.mkdir(parents=True, exist_ok=True)
        (place / path).write_text(content)
    return place


def checkout(directory: Path, **toolkit: Any) -> Path:
    """Two charts: `web` needs `toolkit`, which lies beside it."""
    write(directory / "toolkit", DEFINES, **toolkit)
    write(directory / "web", USES, dependencies=[TOOLKIT])
    return directory


def store(directory: Path) -> ChartStore:
    """As the containers have it, with its cache beside the checkout."""
    return ChartStore(directory / "none", cache=ChartCache(directory.parent / "cache"))


def web(directory: Path) -> ChartRef:
    return ChartRef("web", repository=f"file://{directory}")
