"""Facts of objects: what each pinned chart makes of its own values, with hooks, weights and replicas.

`make pins` records them (tests/data/upstream-shape.json); tests without a checkout compare with it, and make
charts of the same shape (tests/chart_repositories/upstream.py).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

from controller.adapters.charts.source import ChartStore
from controller.domain.releases.bundle import ChartRef
from tests.helm_program import Chart

FACTS = Path(__file__).parents[1] / "data" / "upstream-shape.json"
# As `helm template` calls them.
RELEASE, NAMESPACE = "release-name", "default"
# What of its values decides on a chart's objects.
_DECIDING = ("labels", "manifests", "storage", "volume")
_REPLICATED = ("Deployment", "StatefulSet")


def shapes_of(store: ChartStore, directory: Path, charts: Iterable[str]) -> dict[str, dict[str, Any]]:
    """By chart: some `values`, and `objects` by kind and name. Raises ChartInvalid."""
    return {name: shape_of(store, ChartRef(name, repository=f"file://{directory}")) for name in charts}


def shape_of(store: ChartStore, ref: ChartRef) -> dict[str, Any]:
    """The shape of one chart. Raises ChartInvalid."""
    values = store.defaults(ref)
    objects: dict[str, dict[str, Any]] = {}
    for name, text in sorted(
        Chart.load(store.locate(ref)).render({}, name=RELEASE, namespace=NAMESPACE).items()
    ):
        if name.endswith("NOTES.txt"):
            continue
        for obj in yaml.load_all(text, Loader=yaml.CSafeLoader):
            if obj:
                objects.setdefault(obj["kind"], {})[obj["metadata"]["name"]] = _attributes(obj)
    kept = {key: values[key] for key in _DECIDING if key in values}
    replicas = (values.get("pod") or {}).get("replicas")
    return {
        "values": {**kept, **({"pod": {"replicas": replicas}} if replicas else {})},
        "objects": {kind: dict(sorted(names.items())) for kind, names in sorted(objects.items())},
    }


def _attributes(obj: Mapping[str, Any]) -> dict[str, Any]:
    notes = obj["metadata"].get("annotations") or {}
    found: dict[str, Any] = {}
    if "helm.sh/hook" in notes:
        found = {"hook": notes["helm.sh/hook"], "weight": int(notes.get("helm.sh/hook-weight", 0))}
    if "helm.sh/hook-delete-policy" in notes:
        found["deletePolicy"] = notes["helm.sh/hook-delete-policy"]
    if obj["kind"] in _REPLICATED and "replicas" in obj["spec"]:
        found["replicas"] = obj["spec"]["replicas"]
    return found


def recorded() -> dict[str, dict[str, Any]]:
    """The last record."""
    found: dict[str, dict[str, Any]] = json.loads(FACTS.read_text(encoding="utf-8"))
    return found


def record(shapes: Mapping[str, Mapping[str, Any]]) -> None:
    """Writes them, a line for each kind of object of a chart, so that a change is seen as one."""
    text = ",\n".join(_lines(name, shape) for name, shape in sorted(shapes.items()))
    FACTS.write_text(f"{{\n{text}\n}}\n", encoding="utf-8")


def _lines(name: str, shape: Mapping[str, Any]) -> str:
    values = json.dumps(shape["values"], separators=(",", ":"))
    kinds = (f"  {json.dumps(kind)}: {json.dumps(names)}" for kind, names in shape["objects"].items())
    objects = ",\n".join(kinds)
    return f'{json.dumps(name)}: {{"values": {values},\n "objects": {{\n{objects}}}}}'
