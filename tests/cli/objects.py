"""Objects as a cluster gives them, with what a test needs to say of them."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any
from unittest import mock

import typer.testing
import yaml
from click.testing import Result
from typer.testing import CliRunner

from controller.adapters.charts import source
from controller.adapters.helm.client import HelmProgram
from controller.cli.main import app
from controller.domain.api.names import API_VERSION, DEPLOYMENT_LABEL, SERVICE_LABEL
from controller.ports.helm import HelmRequest, RenderedRelease

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "charts" / "openstack-controller" / "examples" / "core-single.yaml"


# Built once: to read the options of all commands takes as long as most of them run.
typer.testing._get_command = functools.cache(typer.testing._get_command)


_RENDER = HelmProgram.render
_RENDERED: dict[tuple[str, ...], RenderedRelease] = {}


def _render_once(helm: HelmProgram, request: HelmRequest, **more: bool) -> RenderedRelease:
    """Helm's render. That of a shipped chart is kept: each command would start Helm for the same releases."""
    if more or not Path(request.chart_path).resolve().is_relative_to(ROOT / "charts"):
        return _RENDER(helm, request, **more)
    texts = (request.release, request.namespace, request.chart_path, request.revision)
    key = (*map(str, texts), json.dumps(request.values, sort_keys=True, default=str))
    if key not in _RENDERED:
        _RENDERED[key] = _RENDER(helm, request)
    return _RENDERED[key]


def osctl(*arguments: str, input: str | None = None) -> Result:
    """osctl as from a pipe: no terminal, no colour."""
    # Nothing changes a chart while a command runs: its files are looked for once.
    with (
        mock.patch.object(source, "walk", functools.cache(source.walk)),
        mock.patch.object(HelmProgram, "render", _render_once),
    ):
        return CliRunner().invoke(app, list(arguments), input=input)


def condition(type_: str, status: str, reason: str, message: str = "", generation: int = 1) -> dict[str, Any]:
    return {
        "type": type_,
        "status": status,
        "reason": reason,
        "message": message,
        "observedGeneration": generation,
        "lastTransitionTime": "2026-03-01T09:00:00Z",
    }


def region(
    *conditions: dict[str, Any], generation: int = 1, observed: int = 1, **status: Any
) -> dict[str, Any]:
    """An OpenStackDeployment with these conditions; `observed` 0 for one that no one has looked at."""
    seen = {"observedGeneration": observed} if observed else {}
    return {
        "apiVersion": API_VERSION,
        "kind": "OpenStackDeployment",
        "metadata": {"name": "region-one", "namespace": "openstack", "uid": "u1", "generation": generation},
        "spec": {"openstackVersion": "2026.1", "preset": "core", "size": "single"},
        "status": {**seen, "conditions": list(conditions), **status},
    }


def release(name: str, state: str, **more: Any) -> dict[str, Any]:
    """An entry of a bundle's `status.releases`."""
    return {"name": name, "state": state, **more}


def bundle(
    service: str,
    *releases: dict[str, Any],
    needs: dict[str, list[str]] | None = None,
    observed: int = 1,
    desired: tuple[str, ...] = (),
    conditions: tuple[dict[str, Any], ...] = (),
) -> dict[str, Any]:
    """A HelmBundle of these releases; `desired` names those of the spec where they differ."""
    names = desired or tuple(one["name"] for one in releases)
    return {
        "apiVersion": API_VERSION,
        "kind": "HelmBundle",
        "metadata": {
            "name": service,
            "namespace": "openstack",
            "generation": 1,
            "labels": {DEPLOYMENT_LABEL: "region-one", SERVICE_LABEL: service},
        },
        "spec": {"releases": [{"name": name, "dependsOn": (needs or {}).get(name, [])} for name in names]},
        "status": {
            "observedGeneration": observed,
            "releases": list(releases),
            "conditions": list(conditions),
        },
    }


def example_text(**spec: Any) -> str:
    """The smallest example with some fields of its spec replaced; None removes a field."""
    obj = yaml.safe_load(EXAMPLE.read_text(encoding="utf-8"))
    for key, value in spec.items():
        if value is None:
            del obj["spec"][key]
        else:
            obj["spec"][key] = value
    text: str = yaml.safe_dump(obj, sort_keys=False)
    return text
