"""osctl fields: what a person may write into a spec, without a cluster."""

from __future__ import annotations

import json

import pytest

from controller.cli.offline.region import offline_renderer
from tests.cli.objects import osctl


def test_the_fields_of_a_path_are_printed_with_type_and_description() -> None:
    result = osctl("fields", "features.networking.externalNetworks")
    assert result.exit_code == 0
    own, _, first, description, *_ = result.stdout.splitlines()
    assert own == "features.networking.externalNetworks  <list of map>"
    assert first == "features.networking.externalNetworks[].name  <string>"
    assert description.startswith("    Name by which networks refer to it")
    assert "Required." in description


def test_without_a_path_those_of_the_spec_are_printed() -> None:
    names = [line.split()[0] for line in osctl("fields").stdout.splitlines()[::2]]
    assert {"openstackVersion", "preset", "size", "features", "services"} <= set(names)
    assert not any("." in name for name in names)


def test_depth_goes_further_down_and_a_free_key_has_a_name() -> None:
    found = json.loads(osctl("fields", "services", "--depth", "3", "-o", "json").stdout)
    assert [one["path"] for one in found] == [
        *("services", "services.<key>", "services.<key>.<key>", "services.<key>.<key>.values"),
    ]


@pytest.mark.parametrize("path", ["spec.nodes.rack::blue.services", "nodes.<key>.services"])
def test_a_path_may_be_that_of_a_message_or_of_a_file(path: str) -> None:
    assert osctl("fields", path, "--depth", "0").stdout.startswith("nodes.<key>.services  <map")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("features.netwroking",), 'features has no field "netwroking"; did you mean "networking"?'),
        (("size.small",), 'size has no field "small"\n'),
        (("services.a.b.values.conf",), "fields below it are free"),
        (("--kind", "HelmBundel"), 'there is no kind "HelmBundel"; did you mean "HelmBundle"?'),
    ],
)
def test_a_slip_is_reported_with_the_word_meant(arguments: tuple[str, ...], told: str) -> None:
    result = osctl("fields", *arguments)
    assert result.exit_code == 3
    assert told in result.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind", ["OpenStackDeployment", "HelmBundle", "ComputeMaintenance", "OpenStackServer"]
)
def test_every_field_of_every_kind_has_a_type_and_a_description(kind: str) -> None:
    found = json.loads(osctl("fields", "--kind", kind, "--depth", "20", "-o", "json").stdout)
    assert len(found) > 5
    assert [one["path"] for one in found if not one["type"] or not one["description"]] == []
    assert offline_renderer().schema_of(kind).kind == kind
