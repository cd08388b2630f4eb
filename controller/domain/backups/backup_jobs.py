"""The CronJobs that back up a region and try its last backup, and the volume of backups. Pure.

One pod makes a backup, one container after the other: `dump` has the password of the database, `collect` may
read the Secrets of the region, and `store` has the key of the repository and what the others have left.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from controller.domain.api.names import (
    BACKUP_DIGEST_ANNOTATION,
    BACKUP_LABEL,
    DEPLOYMENT_LABEL,
    MANAGED_BY,
    MANAGED_BY_US,
)
from controller.domain.api.object_meta import owned_by_region
from controller.domain.backups.backup_scripts import DUMP, FETCH, NORTHBOUND, SPLIT, STORE, TRY
from controller.domain.backups.backup_spec import CLAIM, BackupSpec, ClaimDestination
from controller.domain.backups.database_pods import beside_the_database
from controller.domain.backups.repository import USER, RepositoryAccess, repository_access

BACKUP, DRILL = "backup", "drill"
BACKUP_CRONJOB, DRILL_CRONJOB = "region-backup", "region-backup-drill"
# Of the pods, in the region's namespace; the chart of the controller makes it.
ACCOUNT = "osctl-backup"
STORE_CONTAINER, TRY_CONTAINER = "store", "try"
NORTHBOUND_STATEFULSET = "ovn-ovsdb-nb"
# Seconds; a backup of a hundred GiB is made within this time.
WITHIN = 6 * 3600
# Of a schedule that is not wanted: Kubernetes needs one, and the CronJob is suspended.
_NEVER_USED = "0 4 * * 0"
_DATA = "mysql-data"
_RESOURCES = {"requests": {"cpu": "100m", "memory": "256Mi"}, "limits": {"cpu": "2", "memory": "1Gi"}}
_LARGE = {"requests": {"cpu": "100m", "memory": "512Mi"}, "limits": {"cpu": "2", "memory": "2Gi"}}
_TOKEN_DIR = "/var/run/secrets/kubernetes.io/serviceaccount"  # noqa: S105 - a path


@dataclass(frozen=True)
class BackupParts:
    """What the Jobs are made from.

    `osdpl`: the region. `database`: the StatefulSet of the database, and `northbound` that of OVN's
    northbound database, None without OVN. `image`: that of the controller, pulled with `pull_secrets`.
    `held`: no Job begins at present. `prune`: whether backups that the spec does not keep are
    removed.
    """

    spec: BackupSpec
    osdpl: Mapping[str, Any]
    database: Mapping[str, Any]
    northbound: Mapping[str, Any] | None
    image: str
    pull_secrets: tuple[str, ...] = ()
    held: bool = False
    prune: bool = True

    @property
    def namespace(self) -> str:
        """That of the region."""
        return str(self.osdpl["metadata"]["namespace"])

    @property
    def region(self) -> str:
        """As tags of snapshots name it."""
        return f"{self.namespace}/{self.osdpl['metadata']['name']}"


def backup_cronjob(parts: BackupParts) -> dict[str, Any]:
    """The CronJob that makes backups."""
    return _cronjob(parts, BACKUP_CRONJOB, BACKUP, parts.spec.schedule, _backup_pod(parts))


def drill_cronjob(parts: BackupParts) -> dict[str, Any]:
    """The CronJob that tries the last backup. Without a schedule it is suspended, and Jobs are made from it
    on request."""
    return _cronjob(parts, DRILL_CRONJOB, DRILL, parts.spec.drill, _drill_pod(parts))


def backup_claim(parts: BackupParts) -> dict[str, Any] | None:
    """The claim of the volume of backups; None if they go to a bucket. It has no owner, and stays."""
    wanted = parts.spec.claim
    return claim_object(wanted, parts.namespace, labels_of(parts, BACKUP)) if wanted is not None else None


def claim_object(wanted: ClaimDestination, namespace: str, labels: Mapping[str, str]) -> dict[str, Any]:
    """The claim of a volume in this namespace."""
    spec: dict[str, Any] = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": wanted.size}},
    }
    spec |= {"storageClassName": wanted.storage_class} if wanted.storage_class else {}
    meta = {"name": CLAIM, "namespace": namespace, "labels": dict(labels)}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": meta, "spec": spec}


def labels_of(parts: BackupParts, what: str) -> dict[str, str]:
    """The labels of an object of ours."""
    name = str(parts.osdpl["metadata"]["name"])
    return {BACKUP_LABEL: what, DEPLOYMENT_LABEL: name, MANAGED_BY: MANAGED_BY_US}


def northbound_address() -> str:
    """Where OVN's northbound database answers its clients."""
    return f"tcp:{NORTHBOUND_STATEFULSET}:6641"


def digest_of(cronjob: Mapping[str, Any]) -> str:
    """The digest that the CronJob carries of what we asked for: the API server adds defaults to the rest."""
    return str((cronjob["metadata"].get("annotations") or {}).get(BACKUP_DIGEST_ANNOTATION) or "")


def _cronjob(
    parts: BackupParts, name: str, what: str, schedule: str, pod: Mapping[str, Any]
) -> dict[str, Any]:
    owner, marks = parts.osdpl["metadata"], labels_of(parts, what)
    spec = {
        "schedule": schedule or _NEVER_USED,
        "timeZone": "Etc/UTC",
        "suspend": parts.held or not schedule,
        # Of two backups at a time, the second would wait for the first one's locks.
        "concurrencyPolicy": "Forbid",
        "startingDeadlineSeconds": 3600,
        "successfulJobsHistoryLimit": 3,
        "failedJobsHistoryLimit": 3,
        "jobTemplate": {
            "metadata": {"labels": marks},
            "spec": {
                "activeDeadlineSeconds": WITHIN,
                "backoffLimit": 1,
                "template": {
                    # By this label network policies know a client of the database.
                    "metadata": {"labels": {"application": "mariadb", "component": what, **marks}},
                    "spec": pod,
                },
            },
        },
    }
    digest = hashlib.sha256(json.dumps([marks, spec], sort_keys=True).encode()).hexdigest()
    return {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {
            "name": name,
            "namespace": parts.namespace,
            "labels": marks,
            "annotations": {BACKUP_DIGEST_ANNOTATION: digest[:40]},
            "ownerReferences": [owned_by_region(owner)],
        },
        "spec": spec,
    }


def _backup_pod(parts: BackupParts) -> dict[str, Any]:
    access, server = repository_access(parts.spec), _server(parts.database)
    scratch = {"name": "backup", "mountPath": "/backup"}
    keys = {"name": "client-keys", "mountPath": "/client-keys"}
    login = {"name": "client-login", "mountPath": "/client-login", "readOnly": True}
    initial = [
        _container(
            "dump", server["image"], ["sh", "-c", DUMP, "dump", SPLIT], _login(server), [scratch, keys, login]
        )
    ]
    if parts.northbound is not None:
        image = parts.northbound["spec"]["template"]["spec"]["containers"][0]["image"]
        env = [{"name": "OVN_NORTHBOUND", "value": northbound_address()}]
        initial.append(_container("northbound", image, ["sh", "-c", NORTHBOUND], env, [scratch]))
    token = {"name": "token", "mountPath": _TOKEN_DIR, "readOnly": True}
    command = ["osctl", "backup", "collect", "/backup", *_region_arguments(parts)]
    initial.append(_container("collect", parts.image, command, [], [scratch, token]))
    keep = parts.spec.keep
    numbers = {"KEEP_LAST": keep.last, "KEEP_DAILY": keep.daily, "KEEP_WEEKLY": keep.weekly}
    texts = [{"name": name, "value": str(number)} for name, number in numbers.items()]
    texts.append({"name": "PRUNE", "value": "yes" if parts.prune else "no"})
    volumes = [
        _bounded("backup", parts.database),
        {"name": "client-keys", "emptyDir": {"medium": "Memory", "sizeLimit": "1Mi"}},
        {
            "name": "client-login",
            "secret": {"secretName": "mariadb-dbadmin-password", "defaultMode": 0o440},
        },
        _token(),
    ]
    store = _restic_container(parts, STORE_CONTAINER, STORE, access, texts)
    return _pod(parts, initial, store, [*volumes, *access.volumes])


def _drill_pod(parts: BackupParts) -> dict[str, Any]:
    access, server = repository_access(parts.spec), _server(parts.database)
    scratch = {"name": "backup", "mountPath": "/backup"}
    command = ["osctl", "backup", "examine", "/backup", *_region_arguments(parts)]
    examine = _container("examine", parts.image, command, [], [scratch])
    initial = [_restic_container(parts, "fetch", FETCH, access, []), examine]
    mounts = [scratch, {"name": "scratch", "mountPath": "/scratch"}]
    tried = _container(TRY_CONTAINER, server["image"], ["sh", "-c", TRY], [], mounts)
    volumes = [_bounded("backup", parts.database), _bounded("scratch", parts.database)]
    return _pod(parts, initial, {**tried, "resources": _LARGE}, [*volumes, *access.volumes])


def _region_arguments(parts: BackupParts) -> list[str]:
    meta = parts.osdpl["metadata"]
    return [str(meta["name"]), "--namespace", str(meta["namespace"])]


def _pod(
    parts: BackupParts,
    initial: list[dict[str, Any]],
    container: dict[str, Any],
    volumes: list[dict[str, Any]],
) -> dict[str, Any]:
    return {
        **beside_the_database(parts.database, (*parts.spec.pull_secrets, *parts.pull_secrets)),
        "serviceAccountName": ACCOUNT,
        "automountServiceAccountToken": False,
        "restartPolicy": "Never",
        "securityContext": {
            "runAsUser": USER,
            "runAsGroup": USER,
            "fsGroup": USER,
            "runAsNonRoot": True,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "initContainers": initial,
        "containers": [container],
        "volumes": volumes,
    }


def _container(
    name: str,
    image: str,
    command: list[str],
    env: list[dict[str, Any]],
    mounts: list[dict[str, Any]],
) -> dict[str, Any]:
    return {
        "name": name,
        "image": image,
        "command": command,
        "env": env,
        "volumeMounts": mounts,
        "resources": _RESOURCES,
        # The last lines of a container that fails are its message.
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
    }


def _restic_container(
    parts: BackupParts, name: str, script: str, access: RepositoryAccess, env: list[dict[str, Any]]
) -> dict[str, Any]:
    texts = [{"name": "REGION", "value": parts.region}, *env, *access.env]
    mounts = [{"name": "backup", "mountPath": "/backup"}, *access.mounts]
    return _container(name, parts.spec.image, ["sh", "-c", script], texts, mounts)


def _server(database: Mapping[str, Any]) -> Mapping[str, Any]:
    containers = database["spec"]["template"]["spec"]["containers"]
    found: Mapping[str, Any] = next(one for one in containers if one["name"] == "mariadb")
    return found


def _login(server: Mapping[str, Any]) -> list[dict[str, Any]]:
    """As the server's own pods know their administrator; the password is a file."""
    known = {str(one["name"]): one.get("value") for one in server.get("env") or ()}
    return [
        {"name": "DB_HOST", "value": "mariadb"},
        {"name": "DB_PORT", "value": "3306"},
        {"name": "DB_USER", "value": str(known.get("MYSQL_DBADMIN_USERNAME") or "root")},
        {"name": "MYSQL_HISTFILE", "value": "/dev/null"},
    ]


def _bounded(name: str, database: Mapping[str, Any]) -> dict[str, Any]:
    """Space on the node, as much as the database has itself."""
    claims = database["spec"].get("volumeClaimTemplates") or ()
    sizes = [
        str(one["spec"]["resources"]["requests"]["storage"])
        for one in claims
        if one["metadata"]["name"] == _DATA
    ]
    return {"name": name, "emptyDir": {"sizeLimit": sizes[0] if sizes else "50Gi"}}


def _token() -> dict[str, Any]:
    """What a client of the API server needs, in the one container that is one."""
    sources = [
        {"serviceAccountToken": {"path": "token", "expirationSeconds": 3600}},
        {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
        {"downwardAPI": {"items": [{"path": "namespace", "fieldRef": {"fieldPath": "metadata.namespace"}}]}},
    ]
    return {"name": "token", "projected": {"defaultMode": 0o440, "sources": sources}}
