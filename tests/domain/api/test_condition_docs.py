"""docs/conditions.md explains what the controller says: every type and every reason, and no other."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from controller.domain.api.conditions import WHILE_TRUE
from controller.domain.api.reasons import WARNING, Reason
from controller.domain.backups.backup_state import CONDITION as BACKED_UP
from controller.domain.health.workload_health import Health
from controller.domain.region.facts import ANSWERED_BY
from controller.domain.region.status.summary import OWN_CONDITIONS

ROOT = Path(__file__).parents[3]
DEFINITION = ROOT / "charts" / "openstack-controller" / "files" / "crds" / "openstackdeployments.yaml"
ROW = re.compile(r"^\| `(\w+)` \|(.*)\|$", re.MULTILINE)


def rows(*titles: str) -> dict[str, list[str]]:
    """First column to the other columns, of the tables in the sections of these titles."""
    text = (ROOT / "docs" / "conditions.md").read_text(encoding="utf-8")
    sections = {part.partition("\n")[0]: part for part in text.split("\n## ")}
    return {
        word: [cell.strip() for cell in cells.split("|")]
        for title in titles
        for word, cells in ROW.findall(sections[title])
    }


SECTIONS = (
    "Reasons of a region",
    "Reasons of a release",
    "Reasons of nodes",
    "Reasons of MachineSets",
    "Reasons of servers",
    "Events",
)


def test_every_reason_is_explained_and_no_other() -> None:
    explained = rows(*SECTIONS)
    assert set(explained) == {str(reason) for reason in Reason}


def test_each_explanation_says_what_it_means_what_happens_and_what_to_do() -> None:
    explained = rows(*SECTIONS)
    assert [word for word, cells in explained.items() if len(cells) != 3 or not all(cells)] == []


def test_the_reasons_of_warnings_are_listed_and_no_others() -> None:
    text = (ROOT / "docs" / "conditions.md").read_text(encoding="utf-8")
    listed = re.search(r"^\| about \| reasons of Warnings \|\n\|[-|]+\n((?:\|.*\n)+)", text, re.MULTILINE)
    assert listed is not None
    warnings = [str(one) for one in Reason if one.event == WARNING]
    assert sorted(re.findall(r"`(\w+)`", listed[1])) == sorted(warnings)


def test_every_condition_type_is_explained_and_no_other() -> None:
    assert set(rows("Types")) == {*OWN_CONDITIONS, *ANSWERED_BY.values()}


@pytest.mark.slow
def test_the_types_that_are_always_there_are_those_that_the_definition_seeds() -> None:
    definition = yaml.load(DEFINITION.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
    schema = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    seeded = {one["type"] for one in schema["properties"]["status"]["default"]["conditions"]}
    # One of a feature is there as long as the feature is.
    assert set(rows("Types")) - set(WHILE_TRUE) - {BACKED_UP} == seeded


def test_every_health_of_a_component_is_explained_and_no_other() -> None:
    assert set(rows("Health of components")) == {str(health) for health in Health}


def _script_of_argo_cd() -> dict[str, set[str]]:
    """The reasons by what its script takes them for: `failing` and `waiting`."""
    script = (ROOT / "docs" / "integrations.md").read_text(encoding="utf-8")
    return {
        name: set(re.findall(r"(\w+) = true", body))
        for name, body in re.findall(
            r"^local (failing|waiting) = \{(.*?)\}", script, re.DOTALL | re.MULTILINE
        )
    }


def test_every_reason_of_a_region_is_classed_for_argo_cd() -> None:
    """A reason that its script does not know is shown as progress."""
    sets = _script_of_argo_cd()
    good = {
        "RegionReady", "SpecAccepted", "ReleasesDeployed", "WorkloadsHealthy", "SecretsReady", "NodesReady",
        "PlanEmpty", "CredentialsEdited", "CredentialDoubtful", "AccountsLeft",
    }  # fmt: skip
    # Of conditions that Ready does not repeat.
    beside = {
        "NotPaused", "HeldBackByPause", "NotPlanned", "NotDeleting", "BackupSucceeded", "BackupAwaited",
        "BackupFailed", "BackupOverdue", "BackupImpossible", "BackupNotRestorable",
    }  # fmt: skip
    moving = {
        "Initializing", "Applying", "ReleasesPending", "WorkloadsProgressing", "HostsAwaited", "Planning",
        "PlanApproved", "Deleting", "RegionUpgrading", "Restoring",
    }  # fmt: skip
    # Some of servers that others have, too.
    of_servers = {*rows("Reasons of servers"), Reason.CLOUD_REFUSED}
    classes = [sets["failing"] - of_servers, sets["waiting"] - of_servers, good, beside, moving]
    assert sum(map(len, classes)) == len(set().union(*classes))
    # The one reason of nodes that their condition gives for the region, too, and one of a bundle's Ready.
    others = {Reason.TOO_MANY_UNHEALTHY, Reason.SUSPENDED}
    assert set().union(*classes) == {*rows("Reasons of a region"), *others}


def test_every_reason_of_a_server_is_classed_for_argo_cd() -> None:
    sets = _script_of_argo_cd()
    good = {
        "ServerReady", "NotRequired", "Available", "CredentialsAccepted", "DependenciesResolved",
        "InstanceActive",
    }  # fmt: skip
    moving = {
        "StepAwaited", "Creating", "AnswerAwaited", "CloudBusy", "InstanceBuilding", "Replacing",
    }  # fmt: skip
    events = {"VolumeKept"}
    of_servers = set(rows("Reasons of servers"))
    classes = [sets["failing"] & of_servers, sets["waiting"] & of_servers, good, moving, events]
    assert sum(map(len, classes)) == len(of_servers)
    assert set().union(*classes) == of_servers


@pytest.mark.slow
def test_every_reason_is_given_somewhere() -> None:
    """A constant that nothing gives would be explained in vain."""
    sources = [path for folder in ("controller", "containers") for path in (ROOT / folder).rglob("*.py")]
    text = "\n".join(path.read_text(encoding="utf-8") for path in sources if path.name != "reasons.py")
    # Composed from the action and its end: `InstallFailed`.
    composed = re.compile(r"^(Install|Upgrade|Uninstall|Rollback|Correct)(Succeeded|Failed)$")
    unused = [
        reason for reason in Reason if f"Reason.{reason.name}" not in text and not composed.match(reason)
    ]
    assert unused == []
