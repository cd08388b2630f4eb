"""A region whose credentials are lost says so first, and is Stalled once nothing else goes on."""

from __future__ import annotations

from typing import Any

import pytest

from controller.domain.api.conditions import Condition
from controller.domain.region.facts import RegionFacts, SilentContainers
from controller.domain.region.status.summary import summarize

LOST = 'Secret "database-credentials": root-password existed and is gone'


def bundle(*states: tuple[str, str]) -> dict[str, Any]:
    """Releases r0, r1, …, each in a state for a reason."""
    releases = [{"name": f"r{index}"} for index, _ in enumerate(states)]
    told = [
        {"name": f"r{index}", "state": state, "reason": reason}
        for index, (state, reason) in enumerate(states)
    ]
    meta = {"name": "database", "namespace": "openstack", "generation": 1}
    status = {"observedGeneration": 1, "releases": told}
    return {"metadata": meta, "spec": {"releases": releases}, "status": status}


def conditions(*states: tuple[str, str], **more: Any) -> dict[str, Condition]:
    said = {"type": "SecretsExchanged", "status": "False", "reason": "CredentialsLost", "message": LOST}
    pending = {"type": "ReleasesReady", "status": "False", "reason": "ReleasesPending", "message": "r0 waits"}
    facts = RegionFacts(
        name="region-one",
        generation=3,
        version="1",
        openstack_version="2026.1",
        fingerprint="f",
        containers=("core", "helmbundle", "secrets"),
        before={"conditions": [pending, {**said, "observedGeneration": more.pop("seen", 3)}]},
        bundles=(bundle(*states),),
        desired=frozenset({"database"}),
        **more,
    )
    return {one.type: one for one in summarize(facts).conditions}


WAITS = ("Waiting", "SecretMissing")
DEPLOYED = ("Deployed", "InSync")


@pytest.mark.parametrize("states", [(WAITS,), (WAITS, DEPLOYED), (DEPLOYED,)])
def test_it_is_stalled_where_only_a_person_helps(states: tuple[tuple[str, str], ...]) -> None:
    found = conditions(*states)
    stalled, ready = found["Stalled"], found["Ready"]
    assert (stalled.status, stalled.reason, stalled.message) == ("True", "CredentialsLost", LOST)
    assert (ready.status, ready.reason, ready.message) == ("False", "CredentialsLost", LOST)
    assert found["Reconciling"].status == "False"


def test_it_is_reconciling_while_other_releases_go_on() -> None:
    found = conditions(WAITS, ("Installing", "Installing"))
    assert (found["Stalled"].status, found["Reconciling"].status) == ("False", "True")


@pytest.mark.parametrize(
    "more",
    [
        {"paused": True},
        {"deleting": True},
        {"seen": 2},
        {"silence": SilentContainers(frozenset({"secrets"}))},
    ],
)
def test_it_is_not_while_it_is_paused_or_goes_or_the_word_is_an_old_one(more: dict[str, Any]) -> None:
    assert conditions(WAITS, **more)["Stalled"].status == "False"
