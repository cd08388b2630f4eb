"""What docs/fleets.md says to tools for fleets, run as they run it, on regions in every state."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from lupa import lua51

from controller.domain.shared.cel import expression
from controller.domain.validation.definitions.crd_schema import compile_schema
from tests.api.definitions import SCHEMAS
from tests.reconcile.region_states import region_states

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "fleets.md").read_text(encoding="utf-8")
STATES = {
    "created": ("unhealthy", "Progressing"),
    "being applied": ("unhealthy", "Progressing"),
    "deployed, not judged yet": ("unhealthy", "Progressing"),
    "ready": ("healthy", "Healthy"),
    "a workload fails": ("unhealthy", "Degraded"),
    "a workload rolls out": ("unhealthy", "Progressing"),
    "edited, not looked at yet": ("unhealthy", "Progressing"),
    "not to be served": ("unhealthy", "Degraded"),
    "edited in a pause": ("unhealthy", "Suspended"),
    "paused": ("unhealthy", "Suspended"),
    "being removed": ("unhealthy", "Progressing"),
}


@cache
def documents() -> tuple[dict[str, Any], ...]:
    """All objects of the page."""
    blocks = re.findall(r"```yaml\n(.*?)```", TEXT, re.DOTALL)
    return tuple(one for block in blocks for one in yaml.safe_load_all(block))


def of_kind(kind: str) -> dict[str, Any]:
    return next(one for one in documents() if one["kind"] == kind)


def lua(script: str, name: str, *given: Any, **variables: Any) -> Any:
    """What a function of a script returns."""
    runtime = lua51.LuaRuntime()
    for variable, value in variables.items():
        runtime.globals()[variable] = runtime.table_from(value, recursive=True)
    runtime.execute(script)
    return runtime.globals()[name](*(runtime.table_from(one, recursive=True) for one in given))


@pytest.mark.slow
def test_karmada_counts_a_region_as_healthy_only_when_it_is_ready() -> None:
    script = of_kind("ResourceInterpreterCustomization")["spec"]["customizations"]["healthInterpretation"]
    found = {
        state: lua(script["luaScript"], "InterpretHealth", obj) for state, obj in region_states().items()
    }
    assert found == {state: healthy == "healthy" for state, (healthy, _) in expected().items()}
    assert lua(script["luaScript"], "InterpretHealth", {"metadata": {"generation": 1}}) is False


@pytest.mark.slow
def test_karmada_reflects_conditions_and_no_lists_of_components() -> None:
    script = of_kind("ResourceInterpreterCustomization")["spec"]["customizations"]["statusReflection"]
    obj = {**region_states()["ready"]}
    obj["status"] = {**obj["status"], "health": {"nova": {"api": {"status": "Ready"}}}}
    found = dict(lua(script["luaScript"], "ReflectStatus", obj))
    assert {"conditions", "observedGeneration", "state"} <= found.keys()
    assert "health" not in found
    assert dict(lua(script["luaScript"], "ReflectStatus", {"metadata": {}})) == {}


def sveltos(obj: Mapping[str, Any]) -> str:
    script = of_kind("HealthCheck")["spec"]["evaluateHealth"]
    (found,) = lua(script, "evaluate", resources=[obj])["resources"].values()
    assert found["message"]
    return str(found["healthStatus"])


@pytest.mark.slow
def test_sveltos_shows_a_region_as_it_is() -> None:
    found = {state: sveltos(obj) for state, obj in region_states().items()}
    assert found == {state: health for state, (_, health) in expected().items()}


def evaluated(text: str, obj: Mapping[str, Any]) -> Any:
    return expression(text).value({"object": obj}, {})


@pytest.mark.slow
def test_open_cluster_management_sets_its_condition_only_when_the_region_is_ready() -> None:
    (rule,) = of_kind("ManifestWork")["spec"]["manifestConfigs"][0]["conditionRules"]
    (text,) = rule["celExpressions"]
    found = {state: evaluated(text, obj) for state, obj in region_states().items()}
    assert found == {state: healthy == "healthy" for state, (healthy, _) in expected().items()}
    message = evaluated(rule["messageExpression"], region_states()["a workload fails"])
    assert "so says WorkloadsFailing" in message
    assert evaluated(rule["messageExpression"], {"metadata": {}})


def expected() -> dict[str, tuple[str, str]]:
    """The table, for the states that there are."""
    assert region_states().keys() == STATES.keys()
    return STATES


def feedback(status: Mapping[str, Any], path: str) -> list[Any]:
    """The values of a path of kubectl's language, as much of it as the page uses."""
    match = re.fullmatch(r'\.conditions\[\?\(@\.type=="(\w+)"\)\]\.(\w+)', path)
    if match:
        return [one[match[2]] for one in status["conditions"] if one["type"] == match[1]]
    assert re.fullmatch(r"\.\w+", path), path
    return [status[path[1:]]] if path[1:] in status else []


@pytest.mark.slow
def test_each_feedback_value_is_one_value_of_a_plain_type() -> None:
    (config,) = of_kind("ManifestWork")["spec"]["manifestConfigs"]
    (rule,) = config["feedbackRules"]
    status = region_states()["ready"]["status"]
    for path in rule["jsonPaths"]:
        values = feedback(status, path["path"])
        assert len(values) <= 1 and all(isinstance(one, str | int | bool) for one in values), path
        assert values or path["name"] == "healthy", path
    names = {"group": "osctl.dev", "resource": "openstackdeployments"}
    assert names.items() <= config["resourceIdentifier"].items()


def test_flux_has_the_same_expressions_as_the_page_of_integrations() -> None:
    page = (ROOT / "docs" / "integrations.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```yaml\n(healthCheckExprs:.*?)```", page, re.DOTALL)
    (theirs,) = (
        one for one in yaml.safe_load(block)["healthCheckExprs"] if one["kind"] == "OpenStackDeployment"
    )
    east = next(one for one in documents() if one.get("metadata", {}).get("name") == "region-east")
    assert east["spec"]["healthCheckExprs"] == [theirs]


def merged(base: Mapping[str, Any], patch: Mapping[str, Any]) -> dict[str, Any]:
    """As kustomize merges objects of a kind without a schema."""
    found = dict(base)
    for key, value in patch.items():
        known = found.get(key)
        found[key] = merged(known, value) if isinstance(value, dict) and isinstance(known, dict) else value
    return found


def test_the_regions_of_the_page_are_valid() -> None:
    base, east = (one for one in documents() if one["kind"] == "OpenStackDeployment")
    (manifest,) = of_kind("ManifestWork")["spec"]["workload"]["manifests"]
    for region in (base, merged(base, east), manifest):
        assert list(SCHEMAS["OpenStackDeployment"].problems(region)) == []
    assert merged(base, east)["spec"]["publicDomainName"] == "east.cloud.example.org"


def definitions() -> Iterator[tuple[str, dict[str, Any]]]:
    """CustomResourceDefinitions in the directory that FLEET_CRDS names, by kind."""
    for path in sorted(Path(os.environ["FLEET_CRDS"]).rglob("*.yaml")):
        for obj in yaml.safe_load_all(path.read_text(encoding="utf-8")):
            if isinstance(obj, dict) and obj.get("kind") == "CustomResourceDefinition":
                yield obj["spec"]["names"]["kind"], obj


@pytest.mark.exhaustive
@pytest.mark.skipif("FLEET_CRDS" not in os.environ, reason="FLEET_CRDS names no directory of definitions")
def test_the_documents_match_the_published_definitions() -> None:
    known = dict(definitions())
    checked = set()
    for document in documents():
        version = document["apiVersion"].rpartition("/")[2]
        definition = known.get(document["kind"])
        if definition is None or definition["spec"]["group"] not in document["apiVersion"]:
            continue
        (root,) = (one for one in definition["spec"]["versions"] if one["name"] == version)
        schema = root["schema"]["openAPIV3Schema"]
        # Every object has it; what is checked here has no use for it.
        schema["required"] = [name for name in schema.get("required", ()) if name != "metadata"]
        compiled = compile_schema(definition, version)
        assert list(compiled.problems(document)) == [], json.dumps(document)
        assert list(compiled.problems({**document, "spec": {**document["spec"], "unknown": 1}})) != []
        checked.add(document["kind"])
    assert len(checked) == len(known.keys() & {one["kind"] for one in documents()})
