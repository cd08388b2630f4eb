"""Every field of a spec that is edited is reported, with what it makes the controller do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from controller.domain.adoption.search import with_field
from controller.domain.region.deployment import OpenStackDeployment
from controller.domain.region.spec_changes import spec_changes
from controller.domain.releases.release_settings import SettingChange
from tests.render.region import core_spec, deployment, schema


def changes(before: dict[str, Any], after: dict[str, Any]) -> dict[str, SettingChange]:
    old, new = deployment(core_spec(**before)), deployment(core_spec(**after))
    found = spec_changes(old, new, schema().root["properties"]["spec"])
    return {change.path: change for change in found}


def test_fields_that_change_no_release_are_reported_with_what_they_do() -> None:
    features = {
        "nodes": {"evacuation": "Auto"},
        "credentialRotation": {"every": "30d"},
        "readOnlyAccount": {"enabled": True},
    }
    found = changes({}, {"features": features})
    assert set(found) == {
        "features.nodes.evacuation",
        "features.credentialRotation.every",
        "features.readOnlyAccount.enabled",
    }
    evacuation = found["features.nodes.evacuation"]
    assert (evacuation.before, evacuation.after) == ("Never", "Auto")
    assert "starts the servers of a dead node on other nodes" in evacuation.does
    account = found["features.readOnlyAccount.enabled"]
    assert account.does.startswith("A read-only account of Keystone")
    assert "Default:" not in account.does


# Their values, and how their objects are kept, are shown with each release; a plan's name is no wish.
WITH_RELEASES = {"common", "services", "nodes", "mode", "approvedPlan", "volumes", "drift", "driftRules"}


def fields(node: Mapping[str, Any], path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Every field of the definition that has no fields of its own."""
    for name, below in (node.get("properties") or {}).items():
        yield from fields(below, (*path, name))
    if not node.get("properties"):
        yield path


def test_no_field_of_the_definition_changes_in_silence() -> None:
    root = schema().root["properties"]["spec"]
    some, silent = deployment(core_spec()), []
    assert set(root["properties"]) > WITH_RELEASES

    def with_value(path: tuple[str, ...], value: str) -> OpenStackDeployment:
        document = with_field({}, path, value)
        features = replace(some.spec.features, tree=document.get("features") or {})
        return replace(some, document=document, spec=replace(some.spec, features=features))

    for path in fields(root):
        if path[0] not in WITH_RELEASES:
            found = spec_changes(with_value(path, "before"), with_value(path, "after"), root)
            if [(one.path, one.before, one.after) for one in found] != [(".".join(path), "before", "after")]:
                silent.append(path)
            elif not found[0].does:
                silent.append((*path, "says nothing of what it does"))
    assert silent == []


def test_a_default_that_is_written_out_changes_nothing() -> None:
    assert changes({}, {"features": {"nodes": {"evacuation": "Never"}}}) == {}


def test_what_is_taken_out_again_is_reported() -> None:
    found = changes({"features": {"nodes": {"evacuation": "Auto"}}}, {})
    assert [(one.before, one.after) for one in found.values()] == [("Auto", "Never")]


def test_main_fields_are_reported_and_values_are_left_to_the_releases() -> None:
    values = {"services": {"compute": {"nova": {"values": {"conf": {"nova": {"DEFAULT": {"debug": True}}}}}}}}
    assert set(changes({}, {"publicDomainName": "cloud.example.org", **values})) == {"publicDomainName"}
