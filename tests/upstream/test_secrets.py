"""A secret that a region's values refer to reaches objects of the kind Secret only."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import reduce
from pathlib import Path
from typing import Any

import pytest

from controller.domain.values.ceph_needs import CONSUMERS_SECRET
from controller.render.region import RegionRelease
from tests.render.region import ROOT
from tests.render.specs import FEATURES
from tests.upstream.covering import covering, laid_over
from tests.upstream.pairs import pairs
from tests.upstream.regions import MADE_UP, objects, region, releases, specs

pytestmark = pytest.mark.upstream

SPECS = {**specs(), **covering(), **pairs()}
# What pods carry of their Ceph and of their certificates are keyed digests, for everyone to read.
DIGEST = re.compile(rf"{MADE_UP}-{CONSUMERS_SECRET}|{MADE_UP}-[a-z0-9-]+-digest\b")
# A public key is no secret; computes carry it, so that they are made again with their pair.
PUBLIC_KEY = f"{MADE_UP}-compute-credentials-ssh-public-key"
# Charts that write a secret elsewhere, whatever the values say: their objects, without the release's name.
IN_CLEAR = {
    "libvirt": {"DaemonSet/libvirt-default", "DaemonSet/libvirt-<labels>"},
    "mariadb": {"ConfigMap/etc"},
    "rabbitmq": {"Job/cluster-wait", "Pod/test", "StatefulSet/rabbitmq"},
}
# Ends the name of a DaemonSet for labelled nodes.
LABELS = re.compile(r"-[0-9a-f]{16}$")


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
    elif isinstance(value, str):
        yield value


def _named(obj: Mapping[str, Any], release: str) -> str:
    name = LABELS.sub("-<labels>", obj["metadata"]["name"].removeprefix(f"{release}-"))
    return f"{obj['kind']}/{name}"


def _secret_part(text: str) -> str:
    return DIGEST.sub("", text).replace(PUBLIC_KEY, "")


def _in_clear(release: RegionRelease) -> set[str]:
    return {
        _named(obj, release.spec.name)
        for obj in objects(release)
        if obj["kind"] != "Secret" and any(MADE_UP in _secret_part(text) for text in _texts(obj))
    }


@pytest.mark.parametrize("name", SPECS)
def test_no_secret_is_in_clear(charts: Path, name: str) -> None:
    for release in releases(region(charts, SPECS[name])):
        assert _in_clear(release) <= IN_CLEAR.get(release.spec.chart.name, set()), release.spec.name


def test_those_that_charts_write_in_clear_are_still_there(charts: Path) -> None:
    # With Ceph, and with nodes of their own: what is not found any more can go from the list and the docs.
    spec = reduce(laid_over, (FEATURES["compute-images-ceph"], FEATURES["nodes"]), {"preset": "compute"})
    found = {release.spec.chart.name: _in_clear(release) for release in releases(region(charts, spec))}
    assert {chart: names for chart, names in found.items() if names} == IN_CLEAR


def test_those_that_charts_write_in_clear_are_reported() -> None:
    told = (ROOT / "docs" / "upstream-defects.md").read_text(encoding="utf-8")
    assert all(f"| {chart} |" in told for chart in IN_CLEAR)
