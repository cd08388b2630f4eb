"""The Jobs of a restore: one fetches a backup and looks at it, one fetches it and loads its databases. Pure.

Both fetch with restic, whose repository and key are in a Secret as restic's own environment variables. The
other container is of the database's image. It alone has the password of the database, and no key of backups.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from controller.domain.api.names import (
    API_VERSION,
    DEPLOYMENT_LABEL,
    MANAGED_BY,
    MANAGED_BY_US,
    RESTORE_LABEL,
)
from controller.domain.backups.backup_jobs import northbound_address
from controller.domain.backups.backup_spec import BackupSpec, pull_secrets, restic_image
from controller.domain.backups.collected_files import NORTHBOUND_FILE
from controller.domain.backups.database_pods import beside_the_database
from controller.domain.backups.repository import PREPARE, USER, repository_access, restic_function
from controller.domain.restores.differences import LOADED, compare_script
from controller.domain.restores.restore_spec import RestoreSpec
from controller.domain.restores.restore_state import Restore, Step, StepRecord

FETCH, NORTHBOUND, WORK = "fetch", "northbound", "work"
# Seconds; a backup of a hundred GiB is loaded within this time.
WITHIN = {Step.CHECK: 3600, Step.LOAD: 21600}
KEPT = 86400
_TOP = """
top=$(find /restore -name manifest.json -type f | head -n 1)
[ -n "$top" ] || { echo "the snapshot has no manifest.json" >&2; exit 3; }
cd "$(dirname "$top")"
sql() { mariadb --host="$DB_HOST" --port="$DB_PORT" --user="$DB_USER" --batch --skip-column-names "$@"; }
"""
_RESTORE = 'repo restore latest --no-lock --tag "$1" --target /restore > /dev/null\n'
FETCH_SCRIPT = f"set -eu\nauthority=\n{restic_function('/restore')}\n{_RESTORE}"
FETCH_OWN_SCRIPT = f"set -eu\n{PREPARE}\n{_RESTORE}"
CHECK_SCRIPT = f"""set -eu
{_TOP}
# Nothing is stopped for a database that cannot be loaded.
version=$(sql -e 'SELECT VERSION()')
list() {{
  echo "server $version"
  find . -type f ! -path ./manifest.json | while read -r file; do
    echo "$(sha256sum < "$file" | cut -c1-64) $(stat -c %s "$file") $file"
  done
  echo manifest
  cat manifest.json
}}
list | gzip -9 | base64 -w 0
"""
# A database that was loaded is noted in the server itself: an attempt after this one goes on from there.
_LOAD = r"""
sql -e "CREATE TABLE IF NOT EXISTS osctl_restore.loaded (restore_id CHAR(36), name VARCHAR(64),
  PRIMARY KEY (restore_id, name))"
while [ $# -gt 0 ]; do
  name=$1 file=$2 digest=$3; shift 3
  if [ "$(sql -e "SELECT COUNT(*) FROM osctl_restore.loaded
      WHERE restore_id = '$restore' AND name = '$name'")" = 1 ]; then
    echo "$name was loaded before"
    note after "$name"
    continue
  fi
  note before "$name"
  [ "$(sha256sum < "$file" | cut -c1-64)" = "$digest" ] || { echo "$file is damaged" >&2; exit 3; }
  # Of an attempt whose pod is cut off: no service runs that could have one.
  for session in $(sql -e "SELECT id FROM information_schema.processlist WHERE db = '$name'"); do
    sql -e "KILL $session" || true
  done
  sql -e "DROP DATABASE IF EXISTS \`$name\`; CREATE DATABASE \`$name\`"
  case $file in
    *.gz) gzip -dc "$file" > /restore/.sql ;;
    *) ln -sf "$PWD/$file" /restore/.sql ;;
  esac
  sql "$name" < /restore/.sql
  rm -f /restore/.sql
  sql -e "INSERT INTO osctl_restore.loaded VALUES ('$restore', '$name')"
  note after "$name"
  echo "$name is loaded"
done
compare || printf 'unknown\tall kinds\n'
sql -e "DROP DATABASE osctl_restore"
"""
LOAD_SCRIPT = "\n".join(("set -eu", _TOP, "restore=$1; shift", compare_script(), _LOAD))
# One transaction, which replaces all that is there. Neutron can write OVN's database again from its own: a
# region whose OVN does not answer is restored all the same.
NORTHBOUND_SCRIPT = (
    "set -u\n"
    + r"""
file=$(find /restore -name @file@ -type f | head -n 1)
if [ -z "$file" ]; then
  echo "the backup does not have it"
elif said=$(ovsdb-client --timeout=120 restore "$OVN_NORTHBOUND" OVN_Northbound < "$file" 2>&1); then
  echo "@loaded@"
else
  echo "$said" | tr '\n' ' '
fi
""".replace("@file@", NORTHBOUND_FILE).replace("@loaded@", LOADED)
)
_RESOURCES = {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"cpu": "2", "memory": "1Gi"}}


@dataclass(frozen=True)
class RestoreRun:
    """What a Job is made for: `meta` is the metadata of the RegionRestore.

    `own`: the region's own backups, in case the restore names no other repository. `northbound`: the
    StatefulSet of OVN's northbound database, None without OVN. `region`: the region's spec, which names the
    registry of images.
    """

    meta: Mapping[str, Any]
    spec: RestoreSpec
    restore: Restore
    step: StepRecord
    own: BackupSpec | None = None
    northbound: Mapping[str, Any] | None = None
    region: Mapping[str, Any] = field(default_factory=dict)

    @property
    def job(self) -> str:
        """The name of the Job: another attempt, or another request, has another one."""
        given = f"{self.meta['uid']} {self.step.step} {self.step.attempts} {self.restore.backup}"
        return f"restore-{str(self.step.step).lower()}-{hashlib.sha256(given.encode()).hexdigest()[:10]}"

    @property
    def tag(self) -> str:
        """The tags of the snapshot: all of them must match."""
        region = f"region={self.meta['namespace']}/{self.spec.region}"
        backup = self.restore.backup or ("" if self.spec.backup == "latest" else self.spec.backup)
        return f"{region},backup={backup}" if backup else region


def restore_job(run: RestoreRun, database: Mapping[str, Any]) -> dict[str, Any]:
    """The Job of one attempt at a step; it goes with the RegionRestore. `database` is the StatefulSet of the
    database."""
    marks = {RESTORE_LABEL: str(run.meta["name"]), MANAGED_BY: MANAGED_BY_US}
    marks[DEPLOYMENT_LABEL] = run.spec.region
    owner = {"apiVersion": API_VERSION, "kind": "RegionRestore", "name": run.meta["name"]}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": run.job,
            "namespace": run.meta["namespace"],
            "labels": marks,
            "ownerReferences": [{**owner, "uid": run.meta["uid"]}],
        },
        "spec": {
            "activeDeadlineSeconds": WITHIN[run.step.step],
            "backoffLimit": 0,
            "ttlSecondsAfterFinished": KEPT,
            "template": {
                # By this label network policies know a client of the database.
                "metadata": {"labels": {"application": "mariadb", "component": "restore", **marks}},
                "spec": _pod(run, database),
            },
        },
    }


def _pod(run: RestoreRun, database: Mapping[str, Any]) -> dict[str, Any]:
    containers = database["spec"]["template"]["spec"]["containers"]
    server = next(one for one in containers if one["name"] == "mariadb")
    scratch = {"name": "restore", "mountPath": "/restore"}
    fetch, volumes = _fetch(run, scratch)
    return {
        **beside_the_database(database, pull_secrets(run.region)),
        "automountServiceAccountToken": False,
        "restartPolicy": "Never",
        "securityContext": {"runAsUser": 999, "runAsGroup": 999, "fsGroup": 999, "runAsNonRoot": True},
        "initContainers": [fetch, *_northbound(run, scratch)],
        "containers": [
            {
                "name": WORK,
                "image": server["image"],
                "command": _command(run),
                "env": _database_login(server),
                "volumeMounts": [scratch],
                **_bounds(),
            }
        ],
        "volumes": [{"name": "restore", "emptyDir": {}}, *volumes],
    }


def _fetch(run: RestoreRun, scratch: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The container with restic, and the volumes that it needs beside the scratch one."""
    found: dict[str, Any] = {"name": FETCH, "image": run.spec.image or _image(run), **_bounds()}
    if run.own is not None and not run.spec.secret:
        access = repository_access(run.own)
        found |= {
            "image": run.own.image,
            "command": ["sh", "-c", FETCH_OWN_SCRIPT, FETCH, run.tag],
            "env": list(access.env),
            "volumeMounts": [scratch, *access.mounts],
        }
        # The files of the repository are this user's, whatever a volume does with groups.
        found["securityContext"] = {**found["securityContext"], "runAsUser": USER}
        return found, list(access.volumes)
    claim = [{"name": "repository", "mountPath": "/repository"}] if run.spec.claim else []
    found |= {
        "command": ["sh", "-c", FETCH_SCRIPT, FETCH, run.tag],
        "envFrom": [{"secretRef": {"name": run.spec.secret}}],
        "volumeMounts": [scratch, *claim],
    }
    if not run.spec.claim:
        return found, []
    return found, [{"name": "repository", "persistentVolumeClaim": {"claimName": run.spec.claim}}]


def _northbound(run: RestoreRun, scratch: dict[str, Any]) -> list[dict[str, Any]]:
    if run.northbound is None or run.step.step != Step.LOAD:
        return []
    image = run.northbound["spec"]["template"]["spec"]["containers"][0]["image"]
    env = [{"name": "OVN_NORTHBOUND", "value": northbound_address()}]
    command = ["sh", "-c", NORTHBOUND_SCRIPT]
    found = {"name": NORTHBOUND, "image": image, "command": command, "env": env, "volumeMounts": [scratch]}
    return [{**found, **_bounds()}]


def _image(run: RestoreRun) -> str:
    return run.own.image if run.own is not None else restic_image(run.region)


def _bounds() -> dict[str, Any]:
    closed = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
    return {"resources": _RESOURCES, "securityContext": closed, "terminationMessagePolicy": "File"}


def _command(run: RestoreRun) -> list[str]:
    if run.step.step == Step.CHECK:
        return ["sh", "-c", CHECK_SCRIPT, WORK]
    databases = [text for one in run.restore.databases for text in (one.name, one.file, one.sha256)]
    return ["sh", "-c", LOAD_SCRIPT, WORK, str(run.meta["uid"]), *databases]


def _database_login(server: Mapping[str, Any]) -> list[dict[str, Any]]:
    """As the server's own pods know their administrator; both chart sources name them alike."""
    known = {str(one["name"]): one.get("value") for one in server.get("env") or ()}
    secret = {"name": "mariadb-dbadmin-password", "key": "MYSQL_DBADMIN_PASSWORD"}
    return [
        {"name": "DB_HOST", "value": "mariadb"},
        {"name": "DB_PORT", "value": "3306"},
        {"name": "DB_USER", "value": str(known.get("MYSQL_DBADMIN_USERNAME") or "root")},
        {"name": "MYSQL_PWD", "valueFrom": {"secretKeyRef": secret}},
        {"name": "MYSQL_HISTFILE", "value": "/dev/null"},
    ]
