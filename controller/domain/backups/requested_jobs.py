"""Jobs that a person asks for: a backup or a drill at once, and what is done in the repository. Pure.

Each is made from a CronJob of ours, as `kubectl create job --from` makes one, so it has the same rights, keys
and bounds.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from controller.domain.api.names import BACKUP_LABEL
from controller.domain.backups.backup_jobs import STORE_CONTAINER
from controller.domain.backups.manifest import BACKUP_ID
from controller.domain.backups.repository import PREPARE

REPOSITORY = "repository"
# Seconds after its end; osctl deletes it before, unless it is killed.
KEPT = 3600
LIST = f'set -eu\n{PREPARE}\nrepo snapshots --no-lock --json --tag "region=$REGION"\n'
DELETE = f"""set -eu
{PREPARE}
tag="region=$REGION,backup=$BACKUP"
found=$(repo snapshots --no-lock --json --tag "$tag" | tr ',' '\\n' \\
  | sed -n 's/.*"id":"\\([0-9a-f]*\\)".*/\\1/p')
[ -n "$found" ] || {{ echo "there is no backup $BACKUP" >&2; exit 4; }}
repo unlock > /dev/null
repo forget --quiet --prune $found
"""


@dataclass(frozen=True)
class StoredBackup:
    """One backup in the repository. `taken`: when it was stored."""

    id: str
    taken: str


def requested_job(cronjob: Mapping[str, Any], name: str, backup: str = "") -> dict[str, Any]:
    """The Job of a CronJob, at once. `backup`: which one a drill tries, empty for the newest."""
    meta, template = cronjob["metadata"], cronjob["spec"]["jobTemplate"]
    pod = template["spec"]["template"]["spec"]
    if backup:
        initial = [_with_backup(one, backup) for one in pod["initContainers"]]
        pod = {**pod, "initContainers": initial}
    owner = {"apiVersion": "batch/v1", "kind": "CronJob", "name": meta["name"], "uid": meta["uid"]}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": name,
            "namespace": meta["namespace"],
            "labels": dict(template["metadata"]["labels"]),
            "annotations": {"cronjob.kubernetes.io/instantiate": "manual"},
            "ownerReferences": [{**owner, "controller": True}],
        },
        "spec": {
            **template["spec"],
            "template": {"metadata": dict(template["spec"]["template"]["metadata"]), "spec": pod},
        },
    }


def asked_backup(job: Mapping[str, Any]) -> str:
    """Which backup a drill was asked to try; empty for the newest. Another one says nothing of the newest."""
    template = (job.get("spec") or {}).get("template") or {}
    initial = (template.get("spec") or {}).get("initContainers") or ()
    texts = (text for one in initial for text in one.get("env") or ())
    return next((str(text.get("value") or "") for text in texts if text["name"] == "BACKUP"), "")


def repository_job(cronjob: Mapping[str, Any], name: str, script: str, backup: str = "") -> dict[str, Any]:
    """A Job with nothing but the container that has the key of the repository. It counts as no backup."""
    job = requested_job(cronjob, name)
    template = job["spec"]["template"]
    pod = {key: value for key, value in template["spec"].items() if key != "initContainers"}
    store = next(one for one in pod["containers"] if one["name"] == STORE_CONTAINER)
    store = _with_backup({**store, "command": ["sh", "-c", script]}, backup)
    for meta in (job["metadata"], template["metadata"]):
        meta["labels"] = {**meta["labels"], BACKUP_LABEL: REPOSITORY}
    spec = {**job["spec"], "backoffLimit": 0, "ttlSecondsAfterFinished": KEPT}
    spec["template"] = {**template, "spec": {**pod, "containers": [store]}}
    return {**job, "spec": spec}


def parse_list(output: str) -> tuple[StoredBackup, ...]:
    """What LIST prints, the oldest first. Raises ValueError for another output."""
    try:
        listed = json.loads(output)
        found = [(str(one["time"]), [str(tag) for tag in one.get("tags") or ()]) for one in listed]
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise ValueError("the repository's list cannot be read") from error
    backups = [
        StoredBackup(tag.removeprefix("backup="), taken[:19] + "Z")
        for taken, tags in found
        for tag in tags
        if tag.startswith("backup=") and BACKUP_ID.fullmatch(tag.removeprefix("backup="))
    ]
    return tuple(sorted(backups, key=lambda one: (one.taken, one.id)))


def _with_backup(container: Mapping[str, Any], backup: str) -> dict[str, Any]:
    if not backup:
        return dict(container)
    env = [one for one in container.get("env") or () if one["name"] != "BACKUP"]
    return {**container, "env": [*env, {"name": "BACKUP", "value": backup}]}
