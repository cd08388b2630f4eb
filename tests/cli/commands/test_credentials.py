"""osctl credentials against an API server in memory."""

from __future__ import annotations

import io
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from controller.cli.cluster import Cluster
from controller.cli.output import print_table
from controller.cli.views.credentials import HEADERS, credential_rows, rotation_lines, service_credentials
from controller.ports.kubernetes import OSDPL, SECRET
from tests.cli.objects import osctl
from tests.reconcile.credentials.administrators_bed import AdministratorsBed
from tests.reconcile.credentials.readers_bed import readers_bed
from tests.reconcile.credentials.rotation_bed import NS, REGION, ROTATE, RotationBed, StorageBed
from tests.reconcile.credentials.shared_keys_bed import SharedKeysBed
from tests.reconcile.credentials.test_barbican_key_rotation import WrappingBed

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC).timestamp()


def run(*arguments: str) -> tuple[int, str, str]:
    """Exit code, stdout and stderr."""
    result = osctl(*arguments)
    return result.exit_code, result.stdout, result.stderr


@pytest.fixture
def bed(monkeypatch: pytest.MonkeyPatch) -> RotationBed:
    made = RotationBed()

    def open_fake(_: Path | None, __: str, namespace: str) -> Cluster:
        return Cluster(made.kube, namespace)

    monkeypatch.setattr("controller.cli.commands.credentials.open_cluster", open_fake)
    return made


def listed(bed: RotationBed) -> dict[str, dict[str, Any]]:
    code, out, err = run("credentials", "list", "-o", "json")
    assert code == 0, err
    return {one["service"]: one for one in json.loads(out)}


def test_what_is_asked_for_is_rotated(bed: RotationBed) -> None:
    code, out, _ = run("credentials", "rotate", "--service", "compute")
    assert (code, out) == (0, "compute: rotation requested\n")
    osdpl = bed.kube.get(OSDPL, REGION, NS)
    assert osdpl is not None
    assert osdpl["metadata"]["annotations"]["osctl.dev/reconcile-requested-at"]
    bed.settle()
    assert bed.texts("compute-credentials")["account-suffix"] == "-2"


def test_all_are_those_that_have_accounts(bed: RotationBed) -> None:
    _, out, _ = run("credentials", "rotate", "--all")
    asked = ("compute", "database", "identity", "image", "messaging")
    assert out == "".join(f"{service}: rotation requested\n" for service in asked)
    assert ROTATE in bed.notes("image")


def test_a_dry_run_says_what_would_be_done_and_writes_nothing(bed: RotationBed) -> None:
    bed.kube.forget_requests()
    code, out, _ = run("credentials", "rotate", "--service", "compute", "--dry-run")
    assert code == 0
    assert bed.kube.writes == []
    assert "other accounts  Database nova, Broker nova, Keystone nova" in out
    assert "upgraded        nova; each replaces its pods" in out
    assert "not rotated     ceph-secret-uuid: a name, not a secret" in out


def test_a_dry_run_names_what_has_one_pod(bed: RotationBed) -> None:
    bed.set_replicas("compute", 1)
    _, out, _ = run("credentials", "rotate", "--service", "compute", "--dry-run")
    assert "interrupted     Deployment nova-api: one pod each, not available while it is replaced" in out


def test_what_cannot_be_rotated_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    bed = StorageBed()
    monkeypatch.setattr("controller.cli.commands.credentials.open_cluster", lambda *_: Cluster(bed.kube, NS))
    code, _, err = run("credentials", "rotate", "--service", "object-storage")
    assert code == 6
    assert "object-storage is not rotated by this command: swift-password: the Ceph cluster also has it" in (
        " ".join(err.split())
    )
    assert ROTATE not in bed.notes("object-storage")


@pytest.mark.slow
def test_a_dry_run_says_what_the_password_of_an_administrator_interrupts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = AdministratorsBed()
    monkeypatch.setattr("controller.cli.commands.credentials.open_cluster", lambda *_: Cluster(made.kube, NS))
    _, out, _ = run("credentials", "rotate", "--service", "identity", "--dry-run")
    shown = " ".join(out.split())
    assert "replaced admin-password: the former password is refused at once" in shown
    assert "; with new pods: keystone" in shown
    made.set_replicas("messaging", 1)
    _, out, _ = run("credentials", "rotate", "--service", "messaging", "--dry-run")
    shown = " ".join(out.split())
    assert "; with new pods: rabbitmq" in shown
    assert "interrupted Deployment rabbitmq-api: one pod each" in shown


def test_the_list_shows_when_it_was_and_will_be_rotated(bed: RotationBed) -> None:
    bed.set_spec({"features": {"credentialRotation": {"every": "90d"}}})
    run("credentials", "rotate", "--service", "compute")
    bed.settle()
    entry = listed(bed)["compute"]
    assert entry["lastRotation"] == bed.published("compute")["lastRotation"]
    assert entry["nextRotation"] == bed.published("compute")["nextRotation"]
    rows = credential_rows(service_credentials({"secrets": {"compute-credentials": {
        "keys": ["nova-password"],
        "lastRotation": "2026-11-20T12:00:00Z",
        "nextRotation": "2027-02-18T12:00:00Z",
    }}}, ()), NOW)  # fmt: skip
    assert rows == [("compute", "-", "2 d ago", "in 88 d", "0 of 1", "-")]


def test_a_mistyped_service_is_reported(bed: RotationBed) -> None:
    code, _, err = run("credentials", "rotate", "--service", "compte")
    assert code == 6
    assert 'did you mean "compute"?' in err


@pytest.mark.parametrize("options", [(), ("--all", "--service", "compute")])
def test_either_services_or_all(bed: RotationBed, options: tuple[str, ...]) -> None:
    assert run("credentials", "rotate", *options)[0] == 2


def test_the_list_shows_how_far_a_rotation_is(bed: RotationBed) -> None:
    run("credentials", "rotate", "--service", "compute")
    bed.reconcile()
    bed.reconcile()
    assert listed(bed)["compute"]["rotation"]["phase"] == "Rolling"
    _, out, _ = run("credentials", "list")
    assert "Rolling: release nova does not use it yet" in out


def test_the_list_is_whole_on_a_terminal_of_80_columns(bed: RotationBed) -> None:
    keys = [f"some-long-account-{number}-password" for number in range(12)]
    entry = {"keys": keys, "rotated": "2026-11-20T10:01:00Z", "lastRotation": "2026-11-20T10:01:00Z"}
    entry["nextRotation"] = "2026-11-24T10:59:00Z"
    entry["rotation"] = {"phase": "Rolling", "message": "release nova has not taken it up"}
    names = ("shared-file-system-credentials", "compute-credentials")
    found = service_credentials({"secrets": dict.fromkeys(names, entry)}, ())
    out = io.StringIO()
    console = Console(file=out, width=80, force_terminal=True, color_system=None, highlight=False)
    rows = credential_rows(found, NOW)
    print_table(console, HEADERS, rows)
    header, *lines = out.getvalue().splitlines()
    assert header.split() == list(HEADERS)
    assert [line.split() for line in lines] == [" ".join(row).split() for row in rows]
    assert rotation_lines(found)[0] == "compute: Rolling: release nova has not taken it up"


def test_the_list_has_no_values(bed: RotationBed) -> None:
    shown = json.dumps(listed(bed)) + run("credentials", "list")[1]
    secrets = [one for one in bed.kube.objects(SECRET.kind) if one["type"] == "Opaque"]
    for secret in secrets:
        for text in bed.texts(secret["metadata"]["name"]).values():
            assert text not in shown


def test_a_dry_run_states_what_is_interrupted_and_what_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    made = SharedKeysBed()
    monkeypatch.setattr("controller.cli.commands.credentials.open_cluster", lambda *_: Cluster(made.kube, NS))
    _, out, _ = run("credentials", "rotate", "--all", "--dry-run")
    shown = " ".join(out.split())
    assert "replaced memcache-secret-key: no interruption" in shown
    assert "replaced metadata-secret: while pods of Nova's metadata API" in shown
    assert "replaced ssh-private-key: no interruption; all pods accept both keys" in shown
    assert "upgraded nova; 3 times, replacing all their pods each time" in shown
    assert listed(made)["networking"]["interruptions"].keys() == {"metadata-secret"}


def test_a_dry_run_reports_the_key_that_wraps(monkeypatch: pytest.MonkeyPatch) -> None:
    made = WrappingBed()
    monkeypatch.setattr("controller.cli.commands.credentials.open_cluster", lambda *_: Cluster(made.kube, NS))
    _, out, _ = run("credentials", "rotate", "--service", "key-manager", "--dry-run")
    assert "replaced simple-crypto-key: no interruption; keys of projects are wrapped again" in " ".join(
        out.split()
    )
    made.ask("key-manager")
    made.reconcile()
    found = listed(made)["key-manager"]
    assert found["notRotated"] == {}
    assert not [key for key in found["rotates"] if key.endswith("-kept")]


@pytest.mark.slow
def test_the_account_that_may_only_read_is_listed_and_rotated(monkeypatch: pytest.MonkeyPatch) -> None:
    with readers_bed() as made:
        monkeypatch.setattr(
            "controller.cli.commands.credentials.open_cluster", lambda *_: Cluster(made.kube, NS)
        )
        made.passes()
        _, out, _ = run("credentials", "list", "-o", "json")
        entry = {one["service"]: one for one in json.loads(out)}["read-only-account"]
        assert entry["rotates"] == ["reader-password"] and entry["accounts"] == ["Keystone osctl-reader"]
        _, out, _ = run("credentials", "rotate", "--service", "read-only-account", "--dry-run")
        assert "Secret openstack-reader and its copies" in " ".join(out.split())
        assert "upgraded" not in out
        assert run("credentials", "rotate", "--service", "read-only-account")[0] == 0
        made.passes()
        assert made.login()[0] == "osctl-reader-2"
