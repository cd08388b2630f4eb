"""spec.features.backup: what is parsed, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from controller.domain.backups.backup_spec import (
    BackupSpec,
    ClaimDestination,
    Keep,
    S3Destination,
    parse_backup_spec,
)
from controller.domain.region.deployment import parse_deployment
from controller.errors import SpecInvalid
from tests.api.definitions import SCHEMAS, osdpl

BUCKET = {"endpoint": "https://s3.example.org:9000", "bucket": "backups", "credentials": "bucket"}


def problems(backup: Any, **features: Any) -> dict[str, str]:
    """Path → message and remedy of every problem."""
    try:
        parse_deployment(osdpl(features={"backup": backup, **features}), SCHEMAS["OpenStackDeployment"])
    except SpecInvalid as error:
        return {problem.path: str(problem) for problem in error.problems}
    return {}


def test_the_defaults_are_those_of_the_definition() -> None:
    whole = osdpl(features={"backup": {"destination": {"claim": {}}}})
    completed = _completed(whole)
    assert parse_backup_spec(whole["spec"]) == parse_backup_spec(completed)
    assert parse_backup_spec(completed) == BackupSpec(ClaimDestination())
    bucket = osdpl(features={"backup": {"destination": {"s3": BUCKET}}})
    completed = _completed(bucket)
    assert parse_backup_spec(bucket["spec"]) == parse_backup_spec(completed)


def test_all_of_it_is_parsed() -> None:
    given = {
        "destination": {"s3": {**BUCKET, "prefix": "a/b", "region": "eu-1", "ca": "authority"}},
        "schedule": "*/30 * * * *",
        "drill": "0 4 * * 0",
        "keep": {"last": 1, "daily": 0, "weekly": 2},
        "passphrase": "mine",
        "image": "registry.example.org/restic:1",
    }
    found = parse_backup_spec({"features": {"backup": given}})
    bucket = S3Destination(BUCKET["endpoint"], "backups", "bucket", "a/b", "eu-1", "authority")
    assert found == BackupSpec(
        bucket, "*/30 * * * *", "0 4 * * 0", Keep(1, 0, 2), "mine", "registry.example.org/restic:1"
    )
    assert bucket.repository == "s3:https://s3.example.org:9000/backups/a/b"


def test_the_image_comes_from_the_registry_of_the_others_unless_it_is_named() -> None:
    features = {"backup": {"destination": {"claim": {}}}}
    mirror = {"registry": "mirror.example.org/copies/"}
    found = parse_backup_spec({"features": features, "images": mirror})
    assert found is not None
    assert found.image == "mirror.example.org/copies/restic/restic:0.18.1"
    features["backup"]["image"] = "own.example.org/restic:1"  # type: ignore[assignment]
    named = parse_backup_spec({"features": features, "images": mirror})
    assert named is not None
    assert named.image == "own.example.org/restic:1"


@pytest.mark.parametrize(
    "given", [None, {}, {"features": None}, {"features": {"backup": 3}}, {"features": []}]
)
def test_without_it_there_are_none(given: Any) -> None:
    assert parse_backup_spec(given) is None


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("endpoint", "ftp://s3.example.org"),
        ("endpoint", "https://s3.example.org/path"),
        ("endpoint", "https://user:secret@s3.example.org"),
        ("endpoint", "https://s3.example.org\n--verbose"),
        ("bucket", "Backups"),
        ("bucket", "a b"),
        ("bucket", "../x"),
        ("prefix", "/a"),
        ("prefix", "a//b"),
        ("prefix", "../other"),
        ("prefix", "-o"),
        ("region", "eu 1"),
        ("credentials", "Bucket"),
        ("ca", "a/b"),
        ("credentials", None),
    ],
)
def test_a_bucket_that_cannot_be_is_refused(field: str, value: Any) -> None:
    bucket = {key: text for key, text in {**BUCKET, field: value}.items() if text is not None}
    assert any(field in f"{path}{text}" for path, text in problems({"destination": {"s3": bucket}}).items())


@pytest.mark.parametrize(
    ("backup", "path", "message"),
    [
        ({"schedule": "0 25 * * *"}, "schedule", "hour"),
        ({"drill": "61 * * * *"}, "drill", "minute"),
        ({"keep": {"last": 0, "daily": 0, "weekly": 0}}, "keep", "no backup would be kept"),
        ({"keep": {"last": -1}}, "keep.last", ""),
        ({"passphrase": "osctl-digest-key"}, "passphrase", "the controller's own key"),
        ({"passphrase": "sh.helm.release.v1.x.v1"}, "passphrase", "Helm record"),
        ({"image": "a b"}, "image", ""),
        ({"destination": {"claim": {"size": "5"}}}, "destination.claim.size", ""),
        (
            {"destination": {"s3": {**BUCKET, "credentials": "osctl-authority"}}},
            "destination.s3.credentials",
            "an authority",
        ),
        (
            {"destination": {"s3": {**BUCKET, "endpoint": "http://s3.example.org", "ca": "own"}}},
            "destination.s3.ca",
            "write the endpoint with https",
        ),
    ],
)
def test_what_cannot_work_is_refused_with_its_path(backup: Any, path: str, message: str) -> None:
    found = problems({"destination": {"claim": {}}, **backup})
    assert message in found[f"spec.features.backup.{path}"]


def test_an_external_database_is_not_backed_up() -> None:
    backup = {"destination": {"claim": {}}}
    found = problems(
        backup,
        database={"external": {"address": "10.0.0.1"}},
        credentials={"database": {"root-password": {"name": "own", "key": "password"}}},
    )
    assert "only a database of the region itself" in found["spec.features.backup"]
    assert problems(backup) == {}


def _completed(obj: dict[str, Any]) -> dict[str, Any]:
    features = obj["spec"]["features"]
    return {"features": SCHEMAS["OpenStackDeployment"].completed(("spec", "features"), features)}
