"""What docs/integrations.md says of other tools, run: Argo CD's script, kstatus, Flux's expressions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from lupa import lua51

from tests.api.definitions import CRDS
from tests.contract.kstatus_program import BUILD_SECONDS, judge
from tests.reconcile.region_states import (
    bundle_states,
    maintenance_states,
    plan_states,
    region_states,
    server_states,
)

# The first of them builds the program, the others wait for it.
pytestmark = pytest.mark.timeout(BUILD_SECONDS + 300)

TEXT = (Path(__file__).parents[2] / "docs" / "integrations.md").read_text(encoding="utf-8")


def block(language: str) -> str:
    [found] = re.findall(rf"```{language}\n(.*?)```", TEXT, re.DOTALL)
    return str(found)


def argo(obj: Mapping[str, Any]) -> str:
    """The health that Argo CD would show."""
    # The version of the language that Argo CD runs.
    runtime = lua51.LuaRuntime()
    script = runtime.eval(f"function(obj) {block('lua')} end")
    return str(script(runtime.table_from(obj, recursive=True))["status"])


@pytest.mark.slow
def test_argo_cd_shows_a_region_as_it_is() -> None:
    assert {state: argo(obj) for state, obj in region_states().items()} == {
        "created": "Progressing",
        "being applied": "Progressing",
        "deployed, not judged yet": "Progressing",
        "ready": "Healthy",
        "a workload fails": "Degraded",
        "a workload rolls out": "Progressing",
        "edited, not looked at yet": "Progressing",
        "not to be served": "Degraded",
        "paused": "Suspended",
        "edited in a pause": "Suspended",
        "being removed": "Progressing",
    }


@pytest.mark.slow
def test_argo_cd_shows_a_bundle_as_it_is() -> None:
    assert {state: argo(obj) for state, obj in bundle_states().items()} == {
        "created": "Progressing",
        "being installed": "Progressing",
        "failed": "Degraded",
        "deployed": "Healthy",
        "waits for somebody": "Suspended",
        "being removed": "Progressing",
    }


@pytest.mark.slow
def test_argo_cd_shows_a_plan_that_needs_a_person_as_it_is() -> None:
    assert {state: argo(obj) for state, obj in plan_states().items()} == {
        "nothing to do": "Healthy",
        "waits for approval": "Suspended",
        "would fail": "Degraded",
        "of another plan": "Suspended",
    }


@pytest.mark.slow
def test_argo_cd_shows_a_maintenance_as_it_is() -> None:
    assert {state: argo(obj) for state, obj in maintenance_states().items()} == {
        "created": "Progressing",
        "moving": "Progressing",
        "blocked": "Degraded",
        "planned only": "Healthy",
        "edited, not looked at yet": "Progressing",
        "may work on the node": "Healthy",
        "being removed": "Progressing",
    }


@pytest.mark.slow
def test_argo_cd_shows_a_server_as_it_is() -> None:
    assert {state: argo(obj) for state, obj in server_states().items()} == {
        "created": "Progressing",
        "being made": "Progressing",
        "ready": "Healthy",
        "edited, not looked at yet": "Progressing",
        "being replaced": "Progressing",
        "in error": "Degraded",
        "edited while suspended": "Suspended",
        "disabled": "Suspended",
        "being removed": "Progressing",
    }


@pytest.mark.slow
def test_argo_cd_shows_a_region_without_one_of_its_containers_as_degraded() -> None:
    found = dict(region_states()["ready"])
    others = [one for one in found["status"]["conditions"] if one["type"] != "Ready"]
    silent = {"type": "Ready", "status": "Unknown", "reason": "ContainerSilent", "message": "no sign of life"}
    assert argo({**found, "status": {**found["status"], "conditions": [*others, silent]}}) == "Degraded"


@pytest.mark.slow
def test_argo_cd_shows_what_fails_in_a_paused_region_as_degraded() -> None:
    found = dict(region_states()["a workload fails"])
    paused = {"type": "Paused", "status": "True", "reason": "PausedBySpec", "message": "mode is Paused"}
    conditions = [one for one in found["status"]["conditions"] if one["type"] != "Paused"]
    assert argo({**found, "status": {**found["status"], "conditions": [*conditions, paused]}}) == "Degraded"


def test_argo_cd_shows_an_object_without_a_status_as_progressing() -> None:
    assert argo({"metadata": {"name": "one"}}) == "Progressing"


@pytest.mark.exhaustive
def test_kstatus_judges_a_region_as_the_page_says() -> None:
    verdicts = judge(region_states().values())
    assert {state: one.status for state, one in zip(region_states(), verdicts, strict=True)} == {
        "created": "InProgress",
        "being applied": "InProgress",
        "deployed, not judged yet": "InProgress",
        "ready": "Current",
        "a workload fails": "InProgress",
        "a workload rolls out": "InProgress",
        "edited, not looked at yet": "InProgress",
        "not to be served": "Failed",
        "paused": "InProgress",
        "edited in a pause": "InProgress",
        "being removed": "Terminating",
    }


@pytest.mark.exhaustive
def test_kstatus_judges_a_bundle_as_the_page_says() -> None:
    verdicts = judge(bundle_states().values())
    assert {state: one.status for state, one in zip(bundle_states(), verdicts, strict=True)} == {
        "created": "InProgress",
        "being installed": "InProgress",
        "failed": "InProgress",
        "deployed": "Current",
        "waits for somebody": "InProgress",
        "being removed": "Terminating",
    }


def flux(expressions: Mapping[str, bool]) -> str:
    """The first true one decides, in this order (Flux: Kustomization API, healthCheckExprs)."""
    return next((name for name in ("inProgress", "failed", "current") if expressions[name]), "inProgress")


def flux_expressions(kind: str) -> dict[str, str]:
    [found] = [one for one in yaml.safe_load(block("yaml"))["healthCheckExprs"] if one["kind"] == kind]
    return {name: found[name] for name in ("inProgress", "failed", "current")}


@pytest.mark.exhaustive
def test_flux_judges_a_region_by_the_expressions_of_the_page() -> None:
    verdicts = judge(region_states().values(), flux_expressions("OpenStackDeployment"))
    assert {state: flux(one.expressions) for state, one in zip(region_states(), verdicts, strict=True)} == {
        "created": "inProgress",
        "being applied": "inProgress",
        "deployed, not judged yet": "inProgress",
        "ready": "current",
        "a workload fails": "inProgress",
        "a workload rolls out": "inProgress",
        "edited, not looked at yet": "inProgress",
        "not to be served": "failed",
        "paused": "inProgress",
        "edited in a pause": "inProgress",
        "being removed": "inProgress",
    }


@pytest.mark.exhaustive
def test_flux_judges_a_bundle_by_the_expressions_of_the_page() -> None:
    verdicts = judge(bundle_states().values(), flux_expressions("HelmBundle"))
    said = {state: flux(one.expressions) for state, one in zip(bundle_states(), verdicts, strict=True)}
    assert said["deployed"] == "current"
    assert set(said.values()) == {"current", "inProgress"}


@pytest.mark.exhaustive
def test_flux_and_kstatus_judge_a_maintenance_as_the_page_says() -> None:
    verdicts = judge(maintenance_states().values(), flux_expressions("ComputeMaintenance"))
    said = {
        state: (one.status, flux(one.expressions))
        for state, one in zip(maintenance_states(), verdicts, strict=True)
    }
    assert said == {
        "created": ("InProgress", "inProgress"),
        "moving": ("InProgress", "inProgress"),
        "blocked": ("Failed", "failed"),
        "planned only": ("Current", "current"),
        "edited, not looked at yet": ("InProgress", "inProgress"),
        "may work on the node": ("Current", "current"),
        "being removed": ("Terminating", "inProgress"),
    }


@pytest.mark.exhaustive
def test_flux_and_kstatus_judge_a_server_as_the_page_says() -> None:
    verdicts = judge(server_states().values(), flux_expressions("OpenStackServer"))
    said = {
        state: (one.status, flux(one.expressions))
        for state, one in zip(server_states(), verdicts, strict=True)
    }
    assert said == {
        "created": ("InProgress", "inProgress"),
        "being made": ("InProgress", "inProgress"),
        "ready": ("Current", "current"),
        "edited, not looked at yet": ("InProgress", "inProgress"),
        "being replaced": ("InProgress", "inProgress"),
        "in error": ("InProgress", "failed"),
        "edited while suspended": ("InProgress", "inProgress"),
        "disabled": ("InProgress", "current"),
        "being removed": ("Terminating", "inProgress"),
    }


@cache
def definitions() -> list[dict[str, Any]]:
    texts = (path.read_text(encoding="utf-8") for path in sorted(CRDS.glob("*.yaml")))
    return [yaml.load(text, Loader=yaml.CSafeLoader) for text in texts]


def test_the_page_names_every_short_name_and_the_category() -> None:
    names = [name for one in definitions() for name in one["spec"]["names"]["shortNames"]]
    assert [name for name in names if not re.search(rf"\b{name}\b", TEXT)] == []
    assert {tuple(one["spec"]["names"]["categories"]) for one in definitions()} == {("openstack",)}


def columns(kind: str, *, wide: bool) -> list[str]:
    [found] = [one for one in definitions() if one["spec"]["names"]["kind"] == kind]
    shown = found["spec"]["versions"][0]["additionalPrinterColumns"]
    return [column["name"] for column in shown if wide or not column.get("priority")]


def test_kubectl_get_shows_a_region_in_six_columns_and_more_when_wide() -> None:
    narrow = ["Ready", "Reason", "Version", "Progress", "Healthy", "Age"]
    assert columns("OpenStackDeployment", wide=False) == narrow
    assert set(columns("OpenStackDeployment", wide=True)) - set(narrow) >= {"State", "Mode", "Message"}
