"""osctl credentials adopt: a region that OpenStack-Helm runs is taken over with what its servers know."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import Result

import controller.cli.commands.credentials_adopt as commands
from controller.adapters.helm.records.record_texts import encode_record
from controller.cli.cluster import Cluster
from controller.cli.exit_codes import NoCluster
from controller.cli.offline.input_files import read_objects
from controller.cli.offline.region import offline_renderer
from controller.domain.values.catalogue import CredentialSecret
from controller.ports.kubernetes import OSDPL, PVC, SECRET
from tests.cli.objects import EXAMPLE, osctl
from tests.reconcile.credentials.test_secrets import NS, REGION, Bed

OLD = {
    "mariadb": {
        "endpoints": {
            "oslo_db": {"auth": {"admin": {"password": "old-root-password"}, "sst": {"password": "old-sst"}}}
        }
    },
    "rabbitmq": {
        "endpoints": {
            "oslo_messaging": {
                "auth": {"erlang_cookie": "old-cookie", "user": {"password": "old-broker-admin"}}
            }
        }
    },
    "keystone": {
        "endpoints": {
            "identity": {"auth": {"admin": {"password": "old-admin-password"}}},
            "oslo_db": {
                "auth": {
                    "admin": {"password": "old-root-password"},
                    "keystone": {"password": "old-keystone-db", "username": "keystone"},
                }
            },
        }
    },
}


class AdoptedBed(Bed):
    """A region with all credentials of the example; releases of another Helm are older than it."""

    def __init__(self) -> None:
        super().__init__()
        self.kube.delete(OSDPL, REGION, NS)
        for name, values in OLD.items():
            self.record(name, values)
        meta = {
            "name": "mysql-data-mariadb-server-0",
            "namespace": NS,
            "labels": {"release_group": "mariadb"},
        }
        self.kube.create({"apiVersion": "v1", "kind": PVC.kind, "metadata": meta, "spec": {}})
        self.clock.advance(60)

    def credentials_of(self, osdpl: Mapping[str, Any]) -> tuple[CredentialSecret, ...]:
        return wanted()

    def record(
        self, release: str, values: Mapping[str, Any], status: str = "deployed", version: int = 1
    ) -> None:
        labels = {"owner": "helm", "name": release, "version": str(version), "status": status}
        record = {
            "name": release,
            "version": version,
            "namespace": NS,
            "info": {"status": status},
            "chart": {"metadata": {"name": release}, "values": {}},
            "config": values,
            "manifest": "",
        }
        meta = {"name": f"sh.helm.release.v1.{release}.v{version}", "namespace": NS, "labels": labels}
        body = {"apiVersion": "v1", "kind": "Secret", "metadata": meta, "type": "helm.sh/release.v1"}
        self.kube.create({**body, "data": {"release": encode_record(record)}})


def wanted() -> tuple[CredentialSecret, ...]:
    found: tuple[CredentialSecret, ...] = (
        offline_renderer().render_one(read_objects([str(EXAMPLE)])).region.credentials
    )
    return found


@pytest.fixture
def bed(monkeypatch: pytest.MonkeyPatch) -> Iterator[AdoptedBed]:
    bed = AdoptedBed()
    monkeypatch.setattr(commands, "open_cluster", lambda *_: Cluster(bed.kube, NS))
    yield bed


def adopt(*options: str) -> Result:
    return osctl("credentials", "adopt", str(EXAMPLE), "-n", NS, *options)


@pytest.mark.slow
def test_without_it_nothing_is_made_for_a_region_that_runs(bed: AdoptedBed) -> None:
    bed.create_region()
    bed.reconcile()
    assert bed.condition()["reason"] == "CredentialsLost"
    assert bed.secret("identity-credentials") is None


@pytest.mark.slow
def test_the_old_credentials_are_brought_and_the_controller_keeps_them_and_makes_the_rest(
    bed: AdoptedBed,
) -> None:
    found = adopt()
    assert found.exit_code == 0, found.output
    bed.create_region()
    bed.reconcile()
    assert bed.condition()["status"] == "True", bed.condition()
    identity, database = bed.texts("identity-credentials"), bed.texts("database-credentials")
    assert identity["admin-password"] == "old-admin-password"
    assert identity["database-password"] == "old-keystone-db"
    assert (database["root-password"], database["sst-password"]) == ("old-root-password", "old-sst")
    messaging = bed.texts("messaging-credentials")
    assert (messaging["erlang-cookie"], messaging["admin-password"]) == ("old-cookie", "old-broker-admin")
    # Glance did not run: it gets new ones, and no account has an ending.
    assert len(bed.texts("image-credentials")["database-password"]) >= 16
    assert all("account-suffix" not in texts for texts in bed.all_texts().values())
    assert all(bed.texts(one.name).get(key) for one in wanted() for key in one.credentials)


@pytest.mark.slow
def test_no_text_is_printed(bed: AdoptedBed) -> None:
    for options in ((), ("-o", "json"), ("--dry-run",)):
        assert "old-" not in adopt(*options).output
    assert "identity-credentials" in adopt("--dry-run").stdout


def test_a_dry_run_writes_nothing(bed: AdoptedBed) -> None:
    before = len(bed.kube.objects("Secret"))
    found = adopt("--dry-run")
    assert found.exit_code == 0 and len(bed.kube.objects("Secret")) == before
    assert "keystone endpoints.identity.auth.admin.password" in found.stdout
    assert "not among the running releases: " in found.stderr


@pytest.mark.slow
def test_once_more_changes_nothing(bed: AdoptedBed) -> None:
    assert adopt().exit_code == 0
    bed.create_region()
    bed.reconcile()
    before = bed.all_texts()
    again = adopt()
    assert again.exit_code == 0 and "0 Secrets written" in again.stderr
    assert bed.all_texts() == before


@pytest.mark.slow
def test_a_secret_with_another_text_stays_and_nothing_is_written(bed: AdoptedBed) -> None:
    bed.put_secret("identity-credentials", {"admin-password": "mine-and-another"})
    found = adopt()
    assert found.exit_code == 6
    assert "Secret identity-credentials has another text under admin-password" in found.stderr
    assert bed.secret("database-credentials") is None
    assert bed.texts("identity-credentials") == {"admin-password": "mine-and-another"}


def test_keys_that_a_secret_lacks_are_added(bed: AdoptedBed) -> None:
    bed.put_secret("identity-credentials", {"admin-password": "old-admin-password", "test-password": ""})
    assert adopt().exit_code == 0
    assert bed.texts("identity-credentials")["database-password"] == "old-keystone-db"


def test_the_revision_that_is_deployed_counts_and_not_a_failed_newer_one(bed: AdoptedBed) -> None:
    newer = {"endpoints": {"identity": {"auth": {"admin": {"password": "never-deployed"}}}}}
    bed.record("keystone", newer, status="failed", version=2)
    assert adopt().exit_code == 0
    assert bed.texts("identity-credentials")["admin-password"] == "old-admin-password"


@pytest.mark.slow
def test_values_in_files_take_the_place_of_records(bed: AdoptedBed, tmp_path: Path) -> None:
    (tmp_path / "keystone.yaml").write_text(yaml.safe_dump(OLD["keystone"]), encoding="utf-8")
    assert adopt("--values", str(tmp_path)).exit_code == 0
    assert bed.texts("identity-credentials")["admin-password"] == "old-admin-password"
    assert bed.texts("database-credentials")["sst-password"] == ""
    (tmp_path / "keystone.yaml").write_text("a: [secret-in-a-broken-file", encoding="utf-8")
    broken = adopt("--values", str(tmp_path))
    assert broken.exit_code == 2 and "secret-in-a" not in broken.output


@pytest.mark.slow
def test_a_dry_run_with_values_in_files_needs_no_cluster(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def without(*_: object) -> Cluster:
        raise NoCluster("no kubeconfig")

    monkeypatch.setattr(commands, "open_cluster", without)
    (tmp_path / "keystone.yaml").write_text(yaml.safe_dump(OLD["keystone"]), encoding="utf-8")
    shown = adopt("--values", str(tmp_path), "--dry-run")
    assert shown.exit_code == 0 and "identity-credentials" in shown.stdout
    assert "were not compared" in shown.stderr
    assert adopt("--values", str(tmp_path)).exit_code != 0, "what is written needs one"
    assert adopt("--dry-run").exit_code != 0, "and so do records"


def test_a_namespace_without_these_releases_is_an_error(bed: AdoptedBed) -> None:
    for name in OLD:
        bed.kube.delete(SECRET, f"sh.helm.release.v1.{name}.v1", NS)
    assert adopt().exit_code == 6
