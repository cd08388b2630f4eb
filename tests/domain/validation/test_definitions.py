"""What a person reads in `kubectl explain`, and what keeps the definitions and the code one."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

import pytest

from controller.domain.api import region_spec
from controller.domain.region import deployment as deployment_types
from controller.domain.releases import bundle as bundle_types
from controller.domain.servers.server_conditions import Aspect
from controller.domain.shared.cel import expression
from controller.domain.validation.definitions.cel_rules import FUNCTIONS, is_transition
from controller.domain.values.images import ImagesSpec
from tests.api.definitions import DEFINITIONS, SCHEMAS, nodes
from tests.api.rule_cases import CASES, TRANSITION_MESSAGES

KINDS = sorted(DEFINITIONS)
# Layers of values, which are read with the place of each.
LAYERS = {"common", "services", "nodes"}
ALL = [(kind, path, node) for kind in KINDS for path, node in nodes(kind)]


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)


def _rules(kind: str) -> list[dict[str, Any]]:
    root = SCHEMAS[kind].root
    every = [root, *(node for _, node in nodes(kind))]
    return [rule for node in every for rule in node.get("x-kubernetes-validations", ())]


def test_every_field_is_described() -> None:
    # The API server takes nothing but a type for metadata.
    silent = [
        f"{kind} {path}" for kind, path, node in ALL if not node.get("description") and path != "metadata"
    ]
    assert silent == []


def test_every_description_is_sentences_without_stray_white_space() -> None:
    wrong = [
        f"{kind} {path}"
        for kind, path, node in ALL
        if not re.fullmatch(r"\S.*[.]", text := node.get("description", "."), re.DOTALL) or "  " in text
        if path != "metadata"
    ]
    assert wrong == []


def test_every_field_of_spec_shows_its_default_and_what_it_restarts() -> None:
    wrong = [
        f"{kind} {path}"
        for kind, path, node in ALL
        if path.startswith("spec.")
        and not path.endswith("[]")
        and not re.search(r"\bRequired\b.*Restarts: |Default: .*Restarts: ", node["description"])
    ]
    assert wrong == []


def test_a_default_is_the_one_that_the_description_shows() -> None:
    wrong = []
    for kind, path, node in ALL:
        default = node.get("default")
        if path.startswith("spec.") and default not in (None, {}):
            said = ", ".join(default) if isinstance(default, list) else str(default)
            said = said.lower() if isinstance(default, bool) else said
            if f"Default: {said}." not in node["description"]:
                wrong.append(f"{kind} {path}: {said}")
    assert wrong == []


def test_a_required_field_says_so() -> None:
    wrong = [
        f"{kind} {path}.{name}"
        for kind, path, node in ALL
        if path.startswith("spec")
        for name in node.get("required", ())
        if "Required" not in node["properties"][name]["description"]
    ]
    assert wrong == []


def test_unknown_fields_are_kept_in_free_form_maps_only() -> None:
    free = {
        path.rsplit(".", 1)[-1] for _, path, node in ALL if node.get("x-kubernetes-preserve-unknown-fields")
    }
    assert free == {"values", "conf", "settings", "mapping[]", "metadata", "appliedFields"}


def test_every_open_map_and_list_and_text_has_a_limit() -> None:
    # The API server refuses rules over what could be endless.
    limits = {"array": "maxItems", "string": "maxLength"}
    wrong = []
    for kind, path, node in ALL:
        if path in ("apiVersion", "kind") or "enum" in node or "format" in node:
            continue
        limit = "maxProperties" if "additionalProperties" in node else limits.get(node.get("type"))
        if limit and limit not in node:
            wrong.append(f"{kind} {path}: {limit}")
    assert wrong == []


def test_every_condition_is_seeded_and_the_transient_ones_are_not() -> None:
    status = SCHEMAS["OpenStackDeployment"].root["properties"]["status"]
    seeded = status["default"]["conditions"]
    assert [entry["type"] for entry in seeded] == [
        "Ready", "SpecValid", "ReleasesReady", "WorkloadsHealthy", "SecretsExchanged", "NodesReady",
        "Planned", "Paused", "Deleting",
    ]  # fmt: skip
    assert {(entry["status"], entry["reason"]) for entry in seeded} == {("Unknown", "Initializing")}
    bundle = SCHEMAS["HelmBundle"].root["properties"]["status"]["default"]["conditions"]
    assert [entry["type"] for entry in bundle] == ["Ready", "Paused"]
    assert {(entry["status"], entry["reason"]) for entry in bundle} == {("Unknown", "Initializing")}


def test_every_condition_of_a_server_is_seeded() -> None:
    seeded = SCHEMAS["OpenStackServer"].root["properties"]["status"]["default"]["conditions"]
    assert {entry["type"] for entry in seeded} == {"Ready", "Paused", "Deleting", *map(str, Aspect)}
    assert {(entry["status"], entry["reason"]) for entry in seeded} == {("Unknown", "Initializing")}


@pytest.mark.parametrize("kind", KINDS)
def test_the_names_are_those_of_the_design(kind: str) -> None:
    names = DEFINITIONS[kind]["spec"]["names"]
    short = {
        "OpenStackDeployment": ["osdpl"],
        "HelmBundle": ["hb"],
        "ComputeMaintenance": ["cmaint"],
        "OpenStackServer": ["oss"],
        "RegionRestore": ["rr"],
    }
    assert names["shortNames"] == short[kind]
    assert names["categories"] == ["openstack"]
    assert DEFINITIONS[kind]["metadata"]["annotations"] == {"helm.sh/resource-policy": "keep"}


def test_the_columns_answer_what_is_asked_first() -> None:
    columns = DEFINITIONS["OpenStackDeployment"]["spec"]["versions"][0]["additionalPrinterColumns"]
    assert [column["name"] for column in columns if not column.get("priority")] == [
        "Ready", "Reason", "Version", "Progress", "Healthy", "Age",
    ]  # fmt: skip
    assert all(column["description"] for column in columns)


@pytest.mark.parametrize(
    ("kind", "path", "type_"),
    [
        ("OpenStackDeployment", "spec", deployment_types.DeploymentSpec),
        ("OpenStackDeployment", "spec.charts", deployment_types.ChartsSpec),
        ("OpenStackDeployment", "spec.images", ImagesSpec),
        ("OpenStackDeployment", "spec.proxy", region_spec.ProxySpec),
        ("HelmBundle", "spec", bundle_types.BundleSpec),
        ("HelmBundle", "spec.releases[]", bundle_types.ReleaseSpec),
        ("HelmBundle", "spec.releases[].chart", bundle_types.ChartRef),
    ],
)
def test_the_types_have_the_fields_of_the_definition(kind: str, path: str, type_: Any) -> None:
    node = dict(nodes(kind))[path]
    layers = LAYERS if path == "spec" else set()
    assert {_camel(field.name) for field in dataclasses.fields(type_)} == set(node["properties"]) - layers


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("spec.openstackVersion", deployment_types.OpenStackVersion),
        ("spec.preset", deployment_types.Preset),
        ("spec.size", deployment_types.Size),
        ("spec.mode", region_spec.BundleMode),
        ("spec.drift", bundle_types.DriftMode),
        ("spec.volumes", region_spec.VolumePolicy),
    ],
)
def test_the_types_have_the_choices_of_the_definition(path: str, words: Any) -> None:
    assert list(words.__args__) == dict(nodes("OpenStackDeployment"))[path]["enum"]


def test_every_rule_can_be_evaluated_without_a_server() -> None:
    rules = {rule["rule"] for kind in KINDS for rule in _rules(kind) if not is_transition(rule["rule"])}
    assert len(rules) > 40
    called = frozenset().union(*(expression(rule).functions for rule in rules))
    # What Kubernetes adds to CEL has to be ours as well.
    assert called - {"duration", "matches", "size", "startsWith", "type"} == set(FUNCTIONS)


def test_every_rule_has_cases_that_keep_and_break_it() -> None:
    messages = {rule["message"] for kind in KINDS for rule in _rules(kind)}
    reported = [case.message for case in CASES] + list(TRANSITION_MESSAGES)
    assert [message for message in messages if not any(message.startswith(start) for start in reported)] == []
    assert [start for start in reported if not any(message.startswith(start) for message in messages)] == []
