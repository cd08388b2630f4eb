"""A controller takes over what the build before it left in the cluster, and touches no release.

`tests/data/previous-build.json` has the objects, Helm's records and the definitions of that build
(`make previous-build`). They stay as they are when the code changes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from controller.domain.api.conditions import find
from tests.fakes.kube import _Stored
from tests.fakes.objects import identity_of
from tests.fakes.ownership import Owners
from tests.world.releases.world import Setting, World
from tools.previous_build import fields

ROOT = Path(__file__).parents[3]
LEFT = json.loads((ROOT / "tests" / "data" / "previous-build.json").read_text(encoding="utf-8"))
CRDS = ROOT / "charts" / "openstack-controller" / "files" / "crds"


def owners_of(entries: list[dict[str, Any]]) -> Owners:
    found = Owners()
    for one in entries:
        paths = {tuple(map(_element, path)) for path in one["paths"]}
        found._owned[one["manager"], one["subresource"]] = paths
    return found


def _element(given: Any) -> Any:
    return given if isinstance(given, str) else tuple((name, value) for name, value in given)


@pytest.fixture
def world() -> World:
    """What the build before left, and a pod of this one that has just started."""
    world, store = World(Setting()), world_store()
    world.time.seconds = LEFT["seconds"]
    revision = max(int(held.obj["metadata"]["resourceVersion"]) for held in store.values())
    world.cluster.kube.restore((store, revision))
    world.cluster.note_wishes()
    world.start_pod("controller-1")
    world.pass_time(5.0)
    return world


def world_store() -> dict[Any, _Stored]:
    stored = (_Stored(one["object"], owners_of(one["owners"])) for one in LEFT["objects"])
    return {identity_of(held.obj): held for held in stored}


def of_releases(world: World) -> dict[str, Any]:
    """What a touched release changes: its records, what it consists of, and what is asked of it."""
    kinds = ("HelmBundle", "Secret", "ConfigMap", "StatefulSet", "Job", "PersistentVolumeClaim")
    return {
        f"{kind}/{one['metadata']['name']}": one.get("spec") if kind == "HelmBundle" else one.get("data", one)
        for kind in kinds
        for one in world.cluster.all_of(kind)
    }


def live(world: World, seconds: float) -> None:
    for _ in range(int(seconds / 20)):
        world.live(20.0)


def test_no_release_is_touched(world: World) -> None:
    before = of_releases(world)
    assert [name for name in before if "sh.helm.release" in name]
    live(world, 400)
    after = of_releases(world)
    assert after == before
    osdpl = world.cluster.osdpl()
    assert osdpl is not None
    assert find(osdpl["status"]["conditions"], "Ready")["status"] == "True"
    assert osdpl["status"]["observedGeneration"] == osdpl["metadata"]["generation"]


def test_nothing_is_written_once_the_new_build_has_looked(world: World) -> None:
    live(world, 400)
    version = world.cluster.kube.version
    live(world, 400)
    assert world.cluster.kube.version == version


def test_an_edit_is_carried_out_on_top_of_the_old_records(world: World) -> None:
    live(world, 100)
    world.cluster.edit_region({"services": {"identity": {"keystone": {"values": {"colour": "green"}}}}})
    live(world, 200)
    names = {one["metadata"]["name"] for one in world.cluster.all_of("Secret")}
    assert "sh.helm.release.v1.keystone.v2" in names
    assert not {"sh.helm.release.v1.mariadb.v2", "sh.helm.release.v1.glance.v2"} & names


# -- definitions

# An earlier kind -> its name now.
RENAMED = {"NodeMaintenance": "ComputeMaintenance"}
# The controller alone writes it, and writes `deployed` in its place.
GONE = {"OpenStackDeployment $.status.children.*.ready: is gone"}


def now() -> Iterator[tuple[str, dict[str, dict[str, Any]]]]:
    for path in sorted(CRDS.glob("*.yaml")):
        body = yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
        [version] = body["spec"]["versions"]
        yield body["spec"]["names"]["kind"], dict(fields(version["schema"]["openAPIV3Schema"]))


def test_definitions_take_every_object_of_the_build_before() -> None:
    found = dict(now())
    narrower = [
        f"{kind} {path}: {problem}"
        for kind, before in LEFT["definitions"].items()
        for path, was in before.items()
        if (problem := narrowed(was, found.get(RENAMED.get(kind, kind), {}).get(path)))
    ]
    assert set(narrower) == GONE


def narrowed(was: dict[str, Any], is_now: dict[str, Any] | None) -> str:
    """Why a field takes less than it did; empty if it takes all of that."""
    if is_now is None:
        return "is gone"
    if was.get("type") != is_now.get("type"):
        return "has another type"
    if set(is_now.get("required", ())) - set(was.get("required", ())):
        return "requires more"
    if "enum" in is_now and not ("enum" in was and set(was["enum"]) <= set(is_now["enum"])):
        return "knows fewer words"
    for bound in ("maxLength", "maxItems", "maxProperties", "maximum"):
        if bound in is_now and is_now[bound] < was.get(bound, float("inf")):
            return f"has a smaller {bound}"
    if "minimum" in is_now and is_now["minimum"] > was.get("minimum", float("-inf")):
        return "has a higher minimum"
    return ""


@pytest.mark.parametrize(
    ("was", "is_now", "problem"),
    [
        ({"type": "string"}, None, "is gone"),
        ({"type": "string"}, {"type": "integer"}, "has another type"),
        ({"type": "string", "enum": ["a", "b"]}, {"type": "string", "enum": ["a"]}, "knows fewer words"),
        ({"type": "string"}, {"type": "string", "enum": ["a"]}, "knows fewer words"),
        ({"type": "string"}, {"type": "string", "maxLength": 63}, "has a smaller maxLength"),
        ({"type": "object"}, {"type": "object", "required": ["a"]}, "requires more"),
        ({"type": "integer"}, {"type": "integer", "minimum": 1}, "has a higher minimum"),
        ({"type": "string", "enum": ["a"]}, {"type": "string", "enum": ["a", "b"]}, ""),
    ],
)
def test_a_narrower_field_is_found(was: dict[str, Any], is_now: dict[str, Any] | None, problem: str) -> None:
    assert narrowed(was, is_now) == problem
