"""What must hold in `spec.features.backup`, beyond what the resource definition says. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from controller.domain.api.spec_rules import effects
from controller.domain.api.spec_rules import features as rules
from controller.domain.api.spec_rules.rule import Finding
from controller.domain.backups.backup_spec import BackupSpec, parse_backup_spec
from controller.domain.shared.cron_schedule import longest_gap, schedule_problem
from controller.domain.shared.durations import format_duration, parse_duration
from controller.errors import Problem

_ROOT = "spec.features.backup"


def backup_problems(features: Mapping[str, Any], reserved: Callable[[str], str]) -> Iterator[Problem]:
    """Every problem of the completed features of a valid object. `reserved`: what a Secret is that no spec
    may name, empty for any other."""
    spec = parse_backup_spec({"features": features})
    if spec is None:
        return
    if (features.get("database") or {}).get("external"):
        yield Finding(rules.REGION_BACKUP_OF_EXTERNAL_DATABASE, {}).at(_ROOT)
    for field, schedule in {"schedule": spec.schedule, "drill": spec.drill}.items():
        if schedule and (fault := schedule_problem(schedule)):
            yield Finding(rules.BACKUP_SCHEDULE_MALFORMED, {"fault": fault}).at(f"{_ROOT}.{field}")
    if not (spec.keep.last or spec.keep.daily or spec.keep.weekly):
        yield Finding(rules.BACKUP_KEEPS_NOTHING, {}).at(f"{_ROOT}.keep")
    for path, name in _secrets(spec).items():
        if purpose := reserved(name) if name else "":
            facts = {"name": name, "purpose": purpose}
            yield Finding(rules.BACKUP_SECRET_RESERVED, facts).at(f"{_ROOT}.{path}")
    if spec.bucket is not None and spec.bucket.ca and spec.bucket.endpoint.startswith("http:"):
        yield Finding(rules.BACKUP_AUTHORITY_UNUSED, {}).at(f"{_ROOT}.destination.s3.ca")


def backup_warnings(document: Mapping[str, Any], dumps: Mapping[str, Any]) -> Iterator[Problem]:
    """What a spec says of the age of backups, as it is written, and the backups that it has made. `dumps`:
    features.database.backup with all defaults, which an upgrade asks for where the region has no backups."""
    age, path = (document.get("upgrade") or {}).get("backupMaxAge"), "spec.upgrade.backupMaxAge"
    backup = parse_backup_spec(document)
    if not age:
        return
    if backup is None and not dumps["enabled"]:
        yield effects.BACKUP_AGE_WITHOUT_BACKUPS.at(path, needs="spec.features.backup")
        return
    gap = longest_gap(backup.schedule if backup is not None else dumps["schedule"])
    if parse_duration(age) < gap:
        field = "spec.features.backup.schedule" if backup else "spec.features.database.backup.schedule"
        yield effects.BACKUP_OLDER_THAN_ALLOWED.at(path, gap=format_duration(gap), schedule=field)


def _secrets(spec: BackupSpec) -> dict[str, str]:
    found = {"passphrase": spec.passphrase}
    if spec.bucket is not None:
        found["destination.s3.credentials"] = spec.bucket.credentials
        found["destination.s3.ca"] = spec.bucket.ca
    return found
