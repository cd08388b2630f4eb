"""Credentials that are deleted in a region that runs: brought back from what real Helm has recorded, or from
a backup, also into another namespace; by the rights that the chart grants."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox.cluster import Sandbox
from sandbox.patience import patient
from tests.cluster.conftest import installed
from tests.cluster.credentials.conftest import RESYNC, SHARED, STORE, Planted, spec
from tests.cluster.region import NAME, Region, wait_until

pytestmark = [pytest.mark.cluster, pytest.mark.xdist_group("planted"), pytest.mark.timeout(1800)]

CONDITION = "SecretsExchanged"


@pytest.fixture
def region(planted: Planted) -> Region:
    return planted.region


@pytest.fixture
def elsewhere(sandbox: Sandbox, namespace: str, tmp_path: Path) -> Iterator[Region]:
    """Another installation, without a region yet."""
    environment = {"RESYNC_SECONDS": str(RESYNC)}
    yield from installed(sandbox, namespace, tmp_path / "other", ("secrets",), environment)


def message(region: Region) -> str:
    return str(region.condition(CONDITION).get("message", ""))


def present(region: Region) -> set[str]:
    return {name.partition("/")[0] for name in region.secret_texts()}


def osctl(region: Region, *arguments: str, input: str = "") -> subprocess.CompletedProcess[str]:
    kubeconfig = ("--kubeconfig", str(region.sandbox.kubeconfig), "-n", region.namespace)
    command = [sys.executable, "-m", "controller.cli.main", "credentials", *arguments, *kubeconfig]
    return subprocess.run(
        command, input=input, capture_output=True, text=True, timeout=patient(120), check=False
    )


def kept_secrets(region: Region) -> dict[str, dict[str, str]]:
    """All but Helm's records, by name."""
    items = region.get("secrets", "--field-selector", "type!=helm.sh/release.v1")["items"]
    return {one["metadata"]["name"]: one.get("data") or {} for one in items}


def test_what_is_deleted_comes_back_and_no_release_is_touched(region: Region) -> None:
    before, revisions = region.secret_texts(), region.revisions()
    names = sorted({name.partition("/")[0] for name in before})
    region.kubectl("delete", "secret", *names)
    wait_until("they are back", lambda: present(region).issuperset(names), show=lambda: message(region))
    after = region.secret_texts()
    assert len(after) > 15 and after.items() <= before.items()
    assert region.revisions() == revisions
    # What no release uses waits for a person, who is told by its message what to type.
    wait_until("it is stalled", lambda: region.condition("Stalled").get("reason") == "CredentialsLost")
    assert region.condition(CONDITION)["reason"] == "CredentialsLost"
    assert "existed and is gone, and no release uses it at present" in message(region)

    typed: set[str] = set()

    def healed() -> bool:
        # Each once: what has been made since would be emptied again.
        commands = set(re.findall(r"(kubectl -n \S+ patch secret \S+ -p '[^']+')", message(region))) - typed
        typed.update(commands)
        for command in sorted(commands):
            _, _, _, _, _, secret, _, patch = command.split(" ", 7)
            region.kubectl("patch", "secret", secret, "-p", patch.strip("'"))
        return bool(region.condition(CONDITION)["status"] == "True")

    wait_until("all is in place", healed, show=lambda: message(region))
    wait_until("none is empty", lambda: all(region.secret_texts().values()))
    now = region.secret_texts()
    assert now.keys() == before.keys()
    assert {name: now[name] for name in after} == after
    assert region.revisions() == revisions
    wait_until("it is not stalled", lambda: region.condition("Stalled").get("status") != "True")
    seen = region.sandbox.kubectl("-n", region.namespace, "get", "events", "-o", "json")
    restored = [one for one in json.loads(seen)["items"] if one["reason"] == "CredentialsRestored"]
    assert restored and not any(text in seen for text in before.values())


def test_a_backup_is_restored_into_an_empty_namespace(
    planted: Planted, elsewhere: Region, tmp_path: Path
) -> None:
    region = planted.region
    file, words = str(tmp_path / "backup"), "correct horse battery\n"
    before = kept_secrets(region)
    taken = osctl(region, "backup", file, "--passphrase-file", "-", input=words)
    assert taken.returncode == 0, taken.stderr
    assert not any(text in Path(file).read_text() for text in region.secret_texts().values())

    dry = osctl(elsewhere, "restore", file, "--dry-run", "--passphrase-file", "-", input=words)
    assert dry.returncode == 0 and "created" in dry.stdout, dry.stderr
    assert "identity-credentials" not in kept_secrets(elsewhere)
    restored = osctl(elsewhere, "restore", file, "--passphrase-file", "-", input=words)
    assert restored.returncode == 0, restored.stderr
    there = kept_secrets(elsewhere)
    assert {"identity-credentials", "keystone-fernet-keys", "osctl-digest-key"} <= there.keys()
    assert there.items() <= before.items()
    again = osctl(elsewhere, "restore", file, "--passphrase-file", "-", input=words)
    assert again.returncode == 0 and "created" not in again.stdout

    # A region there takes them up, and makes none.
    # Of a store, and of another namespace: each region has them from there.
    planted.put(elsewhere.namespace, STORE, {"password": "of-this-region"})
    planted.put(elsewhere.namespace, SHARED, {"text": "of-this-region"})
    elsewhere.apply(spec(elsewhere))
    wait_until("all is in place", lambda: elsewhere.condition(CONDITION).get("status") == "True")
    assert elsewhere.secret_texts() == region.secret_texts()

    patch = json.dumps({"stringData": {"root-password": "another"}})
    elsewhere.kubectl("patch", "secret", "database-credentials", "-p", patch)
    only = ("restore", file, "--secret", "database-credentials", "--passphrase-file", "-")
    refused = osctl(elsewhere, *only, input=words)
    assert refused.returncode == 6
    assert "nothing was written: database-credentials differ from the backup" in refused.stderr
    given_up = osctl(elsewhere, *only, "--overwrite", "database-credentials", input=words)
    assert given_up.returncode == 0, given_up.stderr
    assert elsewhere.secret_texts() == region.secret_texts()
    assert NAME in region.sandbox.kubectl("-n", elsewhere.namespace, "get", "osdpl", "-o", "name")
