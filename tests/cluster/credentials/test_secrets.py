"""The secrets container alone, as a real process with the rights that the chart grants."""

from __future__ import annotations

import json
import random
import secrets
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from sandbox import audit
from sandbox.cluster import Sandbox
from tests.cluster.conftest import installed
from tests.cluster.region import Region, wait_until

pytestmark = [pytest.mark.cluster, pytest.mark.xdist_group("secrets")]

CONDITION = "SecretsExchanged"
KILLS = 5


@pytest.fixture
def region(sandbox: Sandbox, namespace: str, tmp_path: Path) -> Iterator[Region]:
    yield from installed(sandbox, namespace, tmp_path, ("secrets",))


@pytest.fixture(scope="module")
def settled(sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Region]:
    """One whose credentials are in place; each test leaves them as they were."""
    namespace = f"test-{secrets.token_hex(4)}"
    sandbox.create_namespace(namespace, {})
    for region in installed(sandbox, namespace, tmp_path_factory.mktemp("secrets"), ("secrets",)):
        region.apply()
        wait_until("all credentials are in place", partial(in_place, region))
        yield region
    sandbox.kubectl("delete", "namespace", namespace, "--wait=false", "--ignore-not-found")


def look(region: Region) -> None:
    """An edit that changes nothing of Secrets has them looked at now."""
    drift = region.osdpl()["spec"].get("drift")
    region.edit(drift="Correct" if drift == "Warn" else "Warn")


def in_place(region: Region) -> bool:
    return bool(region.condition(CONDITION).get("status") == "True")


def reported(region: Region, text: str) -> bool:
    return text in region.condition(CONDITION).get("message", "")


@pytest.mark.exhaustive
def test_killed_while_it_generates_it_makes_every_credential_once(region: Region) -> None:
    moments = random.Random(1)
    seen: dict[str, str] = {}
    region.apply()
    for _ in range(KILLS):
        time.sleep(moments.uniform(0.5, 2.0))
        now = region.secret_texts()
        assert {name: now.get(name) for name in seen} == seen
        seen = now
        region.controllers.kill("secrets")
        region.controllers.start("secrets")
    wait_until("all credentials are in place", lambda: in_place(region))
    now = region.secret_texts()
    assert {name: now[name] for name in seen} == seen
    assert len(set(now.values())) == len(now) > 30
    entries = region.status()["secrets"]
    assert {f"{name}/{key}" for name, entry in entries.items() for key in entry["keys"]} == set(now)


def test_a_lost_secret_is_reported_and_left_to_a_person(settled: Region) -> None:
    region = settled
    before = region.secret_texts()
    saved = region.get("secret", "database-credentials")
    region.kubectl("delete", "secret", "database-credentials")
    look(region)
    wait_until("the loss is told", lambda: reported(region, "root-password"))
    assert not any(name.startswith("database-credentials/") for name in region.secret_texts())
    kept = {key: saved["metadata"][key] for key in ("name", "namespace", "labels")}
    region.kubectl("create", "-f", "-", input=json.dumps({**saved, "metadata": kept}))
    wait_until("all credentials are in place", lambda: in_place(region))
    assert region.secret_texts() == before


def test_an_edit_is_reported_until_it_is_taken_back(settled: Region) -> None:
    region = settled
    name, key = "database-credentials", "root-password"
    before = region.secret_texts()

    def write(text: str) -> None:
        region.kubectl("patch", "secret", name, "-p", json.dumps({"stringData": {key: text}}))
        look(region)

    write("of-a-person")
    wait_until("the edit is told", lambda: reported(region, f"{key} was edited by another client"))
    assert region.condition(CONDITION)["status"] == "True"
    assert region.secret_texts() == {**before, f"{name}/{key}": "of-a-person"}
    write(before[f"{name}/{key}"])
    wait_until("nothing is told any more", lambda: region.condition(CONDITION)["reason"] == "SecretsReady")
    assert region.secret_texts() == before


def test_after_a_restart_only_the_edit_is_written(settled: Region) -> None:
    region = settled
    # What the process that ends had still to write is none of the next one's.
    wait_until("it is told by an event", lambda: region.events("SecretsReady"))
    moment = audit.now()
    region.controllers.restart("secrets")
    region.controllers.wait_healthy()
    look(region)
    generation = region.osdpl()["metadata"]["generation"]
    wait_until(
        "the edit is seen", lambda: region.condition(CONDITION).get("observedGeneration") == generation
    )
    written = region.writes_since(moment)
    # The edit alone: the condition says which generation it is about.
    assert [write.resource for write in written] == ["openstackdeployments/status"]
