"""The API server takes every object of every region: each is sent to it, for a dry run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from sandbox.cluster import Sandbox
from tests.upstream.covering import covering
from tests.upstream.definitions import prepare
from tests.upstream.pairs import pairs
from tests.upstream.regions import objects, region, releases, specs

pytestmark = [pytest.mark.upstream, pytest.mark.cluster, pytest.mark.timeout(600)]

SPECS = {**specs(), **covering(), **pairs()}
_TAKEN: set[str] = set()


def _without_account(obj: Mapping[str, Any]) -> Mapping[str, Any]:
    """A pod as a template: by itself it is refused until its account is there, as it is not in a dry run."""
    if obj["kind"] != "Pod":
        return obj
    template = {"metadata": obj["metadata"], "spec": obj["spec"]}
    return {"apiVersion": "v1", "kind": "PodTemplate", "metadata": obj["metadata"], "template": template}


@pytest.mark.parametrize("name", SPECS)
def test_every_object_is_taken(charts: Path, sandbox: Sandbox, namespace: str, name: str) -> None:
    if not _TAKEN:
        prepare(sandbox)
    fresh: dict[str, dict[str, Any]] = {}
    for release in releases(region(charts, SPECS[name])):
        for obj in objects(release):
            placed = json.loads(json.dumps(_without_account(obj)))
            placed["metadata"].pop("namespace", None)  # kubectl puts it into that of the test
            text = json.dumps(obj, sort_keys=True)
            if text not in _TAKEN:
                fresh[text] = placed
    items = {"apiVersion": "v1", "kind": "List", "items": list(fresh.values())}
    arguments = (
        "--server-side",
        "--force-conflicts",
        "--dry-run=server",
        "--validate=false",
        "-o",
        "name",
        "-f",
        "-",
    )
    sandbox.kubectl("-n", namespace, "apply", *arguments, input=json.dumps(items)) if fresh else ""
    _TAKEN.update(fresh)
