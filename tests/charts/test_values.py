"""The values of the lean charts keep upstream's contract and ship no secret."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from tests.charts.lean import CHARTS, LEAN, REQUIRED, ROOT, chart, credentials, merged, own_values
from tools.value_schemas import schemas

UPSTREAM_KEYS = ROOT / "tests" / "data" / "upstream-keys"
# Options by chart, file and section, as the packages of OpenStack define them.
OPTIONS = json.loads((ROOT / "tests" / "data" / "options.json").read_text())["options"]

# Below these, the keys of upstream's values are what an operator makes up.
FREE = {
    "bootstrap.structured.images": "images by a name of one's own",
    "conf.paste": "pipelines of a paste file",
    "conf.api_audit_map": "words of an audit map",
    "conf.rootwrap_filters": "filter files by name",
}
# Keys of ours in place of one that upstream has, with the reason.
INSTEAD = {"rabbit_quorum_queue": "upstream's rabbit_quorum_queues is not an option of oslo.messaging"}
SECRET_NAME = re.compile(r"(^|_)(password|secret|secret_key|cookie|private_key|key_phrase)$")


def upstream(name: str) -> dict[str, Any]:
    read = json.loads((UPSTREAM_KEYS / f"{name}.json").read_text())
    assert isinstance(read, dict)
    return read


def unknown(ours: Any, theirs: Any, path: str = "") -> Iterator[str]:
    """Keys of ours that upstream's values have not."""
    if not isinstance(ours, dict) or path in FREE:
        return
    if not isinstance(theirs, dict):
        # Where upstream's default is null or an empty map, its users fill in a map.
        if ours and theirs not in ("null", "map"):
            yield f"{path} is a map here and {theirs} upstream"
        return
    for key, value in ours.items():
        below = f"{path}.{key}".lstrip(".")
        if key in INSTEAD:
            continue
        if key not in theirs:
            yield below
        else:
            yield from unknown(value, theirs[key], below)


def leaves(values: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(values, dict) and values:
        for key, value in values.items():
            yield from leaves(value, f"{path}.{key}".lstrip("."))
    else:
        yield path, values


@pytest.mark.parametrize("name", LEAN)
def test_every_key_exists_in_upstreams_values_or_is_an_option_of_the_service(name: str) -> None:
    known = {
        f"conf.{file}.{section}.{option}"
        for file, sections in OPTIONS.get(name, {}).items()
        for section, options in sections.items()
        for option in options
    }
    assert set(unknown(own_values(name), upstream(name))) - known == set()


@pytest.mark.parametrize("name", LEAN)
def test_no_leaf_holds_a_secret(name: str) -> None:
    in_clear_upstream = {path for path, kind in leaves(upstream(name)) if kind == "secret"}
    held = [
        path
        for path, value in leaves(own_values(name))
        if value is not None
        and not isinstance(value, bool)
        and (path in in_clear_upstream or SECRET_NAME.search(path.rsplit(".", 1)[-1]))
    ]
    assert held == []


@pytest.mark.parametrize("name", LEAN)
def test_every_secret_that_a_chart_requires_is_a_null_leaf_of_its_values(name: str) -> None:
    found = dict(leaves(own_values(name)))
    assert [path for path in REQUIRED[name] if path not in found or found[path] is not None] == []


@pytest.mark.parametrize("name", LEAN)
def test_the_schema_takes_the_charts_own_values(name: str) -> None:
    chart(name).validate_schema(merged(own_values(name), credentials(name)))


def test_the_schemas_are_those_of_their_one_source() -> None:
    made = {name: (CHARTS / name / "values.schema.json").read_text(encoding="utf-8") for name in LEAN}
    assert made == schemas(), "make schemas"


@pytest.mark.parametrize("name", LEAN)
def test_the_schema_knows_exactly_upstreams_top_level(name: str) -> None:
    schema = json.loads((CHARTS / name / "values.schema.json").read_text())
    helm_adds = {"global", "openstack-lib"}
    read_unshown = {"annotations"} | ({"overrides"} if name == "libvirt" else set())
    assert set(schema["properties"]) == set(upstream(name)) | helm_adds | read_unshown
    assert schema["additionalProperties"] is False


@pytest.mark.parametrize(
    "wrong", [{"imags": {}}, {"pod": {"replicas": {"api": "two"}}}, {"manifests": {"pdb_api": "no"}}]
)
def test_the_schema_refuses_a_misspelt_key_and_a_wrong_type(wrong: dict[str, Any]) -> None:
    with pytest.raises(Exception, match=r"imags|replicas|manifests"):
        chart("keystone").validate_schema(merged(own_values("keystone"), wrong))


@pytest.mark.parametrize("name", LEAN)
def test_a_chart_brings_the_library_that_it_declares(name: str) -> None:
    declared = yaml.safe_load((CHARTS / name / "Chart.yaml").read_text())["dependencies"]
    library = yaml.safe_load((CHARTS / "openstack-lib" / "Chart.yaml").read_text())
    assert declared == [
        {"name": library["name"], "version": library["version"], "repository": "file://../openstack-lib"}
    ]
    link = CHARTS / name / "charts" / "openstack-lib"
    assert link.is_symlink() and not link.readlink().is_absolute()
    assert link.resolve() == (CHARTS / "openstack-lib").resolve()
