"""osctl diff: what is neither value nor chart, what comes, what goes, and what Kubernetes refuses."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from controller.cli.exit_codes import ExitCode
from controller.domain.releases.bundle import BundleSpec, ChartRef, DriftIgnore, PlannedSpec, ReleaseSpec
from controller.domain.releases.release_settings import bundle_changes, release_changes
from controller.errors import Problem
from controller.render import region as rendering
from controller.render.missing_parts import MissingPart
from tests.cli.objects import EXAMPLE, example_text, osctl

BROKER = {"messaging": {"dedicatedBrokers": ["compute"]}}
Written = Callable[..., str]


@pytest.fixture
def written(tmp_path: Path) -> Written:
    def write(name: str = "region", **spec: Any) -> str:
        file = tmp_path / f"{name}.yaml"
        file.write_text(example_text(**spec))
        return str(file)

    return write


def compared(old: str, new: str, *options: str) -> tuple[int, dict[str, Any]]:
    result = osctl("diff", old, new, "-o", "json", *options)
    return result.exit_code, json.loads(result.stdout)


# What of a release Helm sees, and the releases of a bundle: compared as values, charts and objects.
SEEN_BY_HELM = {"name", "chart", "values", "releases", "planned"}
RELEASE = ReleaseSpec("nova", "openstack", ChartRef("nova", path="nova"))
OTHERWISE: dict[str, Any] = {
    "namespace": "other",
    "depends_on": ("keystone",),
    "timeout": 60,
    "drift": "Ignore",
    "drift_ignore": (DriftIgnore("Deployment", "", ("/spec/replicas",)),),
    "suspend": True,
    "mode": "Paused",
    "volumes": "Delete",
}


@pytest.mark.parametrize("name", [one.name for one in fields(ReleaseSpec) if one.name not in SEEN_BY_HELM])
def test_every_field_of_a_release_is_compared(name: str):
    assert release_changes(RELEASE, RELEASE) == ()
    assert len(release_changes(RELEASE, replace(RELEASE, **{name: OTHERWISE[name]}))) == 1


@pytest.mark.parametrize("name", [one.name for one in fields(BundleSpec) if one.name not in SEEN_BY_HELM])
def test_every_field_of_a_bundle_is_compared(name: str):
    bundle = BundleSpec((RELEASE,), planned=PlannedSpec(()))
    assert bundle_changes(bundle, bundle) == ()
    assert len(bundle_changes(bundle, replace(bundle, **{name: OTHERWISE[name]}))) == 1


@pytest.fixture
def broker_lacks_a_part(monkeypatch: pytest.MonkeyPatch) -> None:
    part = MissingPart("rabbitmq-compute", Problem("spec.features", "lacks a part", "bring it"))

    def found(_checks: object, _features: object, releases: dict[str, Any], *_: object) -> list[MissingPart]:
        return [part] if part.release in releases else []

    monkeypatch.setattr(rendering, "missing_parts", found)


@pytest.mark.slow
def test_what_runs_without_a_part_that_is_asked_for_by_now_is_compared(
    written: Written, broker_lacks_a_part: None
):
    before = written("before", features=BROKER)
    code, found = compared(before, written("after", features=BROKER, volumes="Delete"), "--no-manifests")
    assert (code, bool(found)) == (1, True)
    code, found = compared(before, str(EXAMPLE), "--no-manifests")
    assert (code, bool(found)) == (1, True)


@pytest.mark.slow
def test_what_comes_without_such_a_part_is_refused(written: Written, broker_lacks_a_part: None):
    result = osctl("diff", str(EXAMPLE), written(features=BROKER), "--no-manifests")
    assert result.exit_code == ExitCode.INVALID
    assert "lacks a part" in result.output


@pytest.mark.slow
def test_volumes_that_are_to_be_deleted_are_reported_loudly(written: Written):
    result = osctl("diff", str(EXAMPLE), written(volumes="Delete"), "--no-manifests")
    assert result.exit_code == 1
    assert "~ spec.volumes  Retain → Delete" in result.stdout
    assert "DELETES DATA" in result.stdout


@pytest.mark.slow
def test_another_mode_is_a_difference(written: Written):
    code, found = compared(str(EXAMPLE), written(mode="Paused"), "--no-manifests")
    assert code == 1
    assert found["settings"] == [{"path": "mode", "before": "Apply", "after": "Paused"}]
    assert found["releases"] == []


@pytest.mark.slow
def test_how_a_release_is_kept_touches_it(written: Written):
    rules = [{"release": "nova", "mode": "Ignore"}]
    code, found = compared(str(EXAMPLE), written(driftRules=rules), "--no-manifests")
    assert code == 1
    (nova,) = found["releases"]
    assert nova["settings"] == [{"path": "drift", "before": "Correct", "after": "Ignore"}]
    assert found["unchanged"] == 9


@pytest.mark.slow
def test_a_release_that_goes_keeps_its_volumes_or_not(written: Written):
    before = written("before", features=BROKER)
    result = osctl("diff", before, str(EXAMPLE), "--no-manifests")
    assert "uninstalled; the volumes stay" in result.stdout
    assert "DATA" not in result.stdout
    result = osctl("diff", before, written(volumes="Delete"), "--no-manifests")
    assert "uninstalled; DELETES ITS VOLUMES AND THEIR DATA" in result.stdout
    assert "DELETES THE DATA of rabbitmq-compute" in result.stdout


@pytest.mark.slow
@pytest.mark.parametrize(("volumes", "lost"), [("Retain", False), ("Delete", True)])
def test_a_claim_that_a_change_drops_is_kept_or_not(written: Written, volumes: str, lost: bool):
    def images(**values: Any) -> dict[str, Any]:
        return {"image": {"glance": {"values": {"keep_pvc": False, **values}}}}

    before = written("before", volumes=volumes, services=images())
    after = written(volumes=volumes, services=images(manifests={"pvc_images": False}))
    result = osctl("diff", before, after)
    assert ("DELETES THE DATA of glance" in result.stdout) is lost
    verb = "deletes" if lost else "keeps"
    assert f"{verb:<10}PersistentVolumeClaim glance-images" in result.stdout


@pytest.mark.slow
def test_a_release_that_comes_shows_its_objects_and_one_that_goes_too(written: Written):
    features = {"messaging": {"dedicatedBrokers": ["compute"]}}
    _, found = compared(str(EXAMPLE), written(features=features))
    broker = next(one for one in found["releases"] if one["name"] == "rabbitmq-compute")
    assert broker["fate"] == "installed"
    assert any(name.startswith("StatefulSet ") for name in broker["objects"]["created"])
    _, found = compared(written(features=features), str(EXAMPLE))
    broker = next(one for one in found["releases"] if one["name"] == "rabbitmq-compute")
    assert any(name.startswith("StatefulSet ") for name in broker["objects"]["deleted"])


@pytest.mark.slow
def test_a_region_grows_and_nothing_refuses_it(written: Written):
    result = osctl("diff", written("single", size="single"), written("large", size="large"))
    assert "mariadb" in result.stdout
    assert result.exit_code == ExitCode.DIFFERENT
    assert "refused" not in result.stdout
    assert "CANNOT BE UPGRADED" not in result.stdout


@pytest.mark.slow
def test_another_volume_of_the_database_says_that_what_is_there_cannot_follow(written: Written):
    larger = written("larger", features={"database": {"volumeSize": "100Gi"}})
    result = osctl("diff", str(EXAMPLE), larger)
    assert result.exit_code == ExitCode.NEEDS_EDIT
    assert "refused   StatefulSet mariadb-server: claim mysql-data: size 50Gi → 100Gi" in result.stdout
    assert "kubectl -n openstack delete statefulset mariadb-server --cascade=orphan" in result.stdout
    assert "1 release CANNOT BE UPGRADED" in result.stdout


@pytest.mark.slow
def test_what_the_broker_would_not_survive_is_reported_first(written: Written):
    newer = written("newer", openstackVersion="2025.1", images={"overrides": {"rabbitmq": "rabbitmq:4.3.5"}})
    result = osctl("diff", written("2025.1", openstackVersion="2025.1"), newer, "--no-manifests")
    assert result.exit_code == ExitCode.NEEDS_EDIT
    assert result.stdout.startswith(
        "refused  spec: RabbitMQ 3.13 runs in release rabbitmq, and 4.3 is requested"
    )


@pytest.mark.slow
def test_an_older_openstack_is_reported_as_refused(written: Written):
    before, after = (written(version, openstackVersion=version) for version in ("2026.1", "2025.2"))
    code, found = compared(before, after, "--no-manifests")
    (refused,) = found["refused"]
    assert code == ExitCode.NEEDS_EDIT
    assert "OpenStack cannot downgrade its databases" in refused


@pytest.mark.slow
@pytest.mark.parametrize("version", ["2025.1", "2025.2"])
def test_an_upgrade_that_the_broker_survives_is_not_refused(written: Written, version: str):
    before, after = written("before", openstackVersion=version), written(openstackVersion="2026.1")
    code, found = compared(before, after, "--no-manifests")
    assert code == ExitCode.DIFFERENT
    assert "refused" not in found
