"""How a pod reaches the repository of restic: variables, volumes, and what its shell does first. Pure.

The key of the repository and the credentials of a bucket are files, and no variables: a program that prints
its environment prints paths.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from controller.domain.api.backup_secrets import ACCESS_KEY, AUTHORITY_KEY, PASSPHRASE_KEY, SECRET_KEY
from controller.domain.backups.backup_spec import CLAIM, BackupSpec, S3Destination

PASSPHRASE_DIR, LOGIN_DIR, AUTHORITY_DIR = "/backup-key", "/backup-login", "/backup-authority"
KEYS_DIR, CLAIM_DIR = "/backup-keys", "/repository"
# As the image of the controller. Files of others could not be read on a volume without groups.
USER = 65532


def restic_function(scratch: str) -> str:
    """The shell function `repo`: restic with `$authority` as its further options.

    Of some errors restic also prints where in its source they happened. These lines are left out, because a
    message has room for a few lines only. `scratch`: a directory to write to.
    """
    return f"""
repo() {{
  rm -f {scratch}/failed
  {{ {{ restic --no-cache $authority "$@" 2>&1 >&3 || echo $? > {scratch}/failed; }} \
    | grep -v -e '^[[:space:]]' -e '^[[:graph:]]*[.][[:graph:]]*$' >&2 || true; }} 3>&1
  [ ! -e {scratch}/failed ] || return "$(cat {scratch}/failed)"
}}
"""


# First lines of each script that uses restic with the access to the repository.
PREPARE = f"""
umask 022
if [ -d {LOGIN_DIR} ]; then
  (umask 077
   printf '[default]\\naws_access_key_id = %s\\naws_secret_access_key = %s\\n' \\
     "$(cat {LOGIN_DIR}/{ACCESS_KEY})" "$(cat {LOGIN_DIR}/{SECRET_KEY})" > {KEYS_DIR}/credentials)
fi
authority=
[ ! -d {AUTHORITY_DIR} ] || authority="--cacert {AUTHORITY_DIR}/{AUTHORITY_KEY}"
{restic_function(KEYS_DIR)}
"""


@dataclass(frozen=True)
class RepositoryAccess:
    """Parts of a pod and of its container with restic."""

    env: tuple[dict[str, Any], ...]
    mounts: tuple[dict[str, Any], ...]
    volumes: tuple[dict[str, Any], ...]


def repository_access(spec: BackupSpec) -> RepositoryAccess:
    """The access to the repository that a region's spec names."""
    env = {"RESTIC_PASSWORD_FILE": f"{PASSPHRASE_DIR}/{PASSPHRASE_KEY}"}
    mounts = [_mount("backup-key", PASSPHRASE_DIR), {"name": "backup-keys", "mountPath": KEYS_DIR}]
    volumes = [
        _secret("backup-key", spec.passphrase, (PASSPHRASE_KEY,)),
        {"name": "backup-keys", "emptyDir": {"medium": "Memory", "sizeLimit": "1Mi"}},
    ]
    if spec.bucket is not None:
        more, mounted, secrets = _bucket(spec.bucket)
        env, mounts, volumes = env | more, [*mounts, *mounted], [*volumes, *secrets]
    else:
        env["RESTIC_REPOSITORY"] = CLAIM_DIR
        mounts.append({"name": "repository", "mountPath": CLAIM_DIR})
        volumes.append({"name": "repository", "persistentVolumeClaim": {"claimName": CLAIM}})
    variables = tuple({"name": name, "value": value} for name, value in env.items())
    return RepositoryAccess(variables, tuple(mounts), tuple(volumes))


def _bucket(bucket: S3Destination) -> tuple[dict[str, str], list[dict[str, Any]], list[dict[str, Any]]]:
    env = {
        "RESTIC_REPOSITORY": bucket.repository,
        "AWS_DEFAULT_REGION": bucket.region,
        "AWS_SHARED_CREDENTIALS_FILE": f"{KEYS_DIR}/credentials",
    }
    mounts = [_mount("backup-login", LOGIN_DIR)]
    volumes = [_secret("backup-login", bucket.credentials, (ACCESS_KEY, SECRET_KEY))]
    if bucket.ca:
        mounts.append(_mount("backup-authority", AUTHORITY_DIR))
        volumes.append(_secret("backup-authority", bucket.ca, (AUTHORITY_KEY,)))
    return env, mounts, volumes


def _mount(name: str, path: str) -> dict[str, Any]:
    return {"name": name, "mountPath": path, "readOnly": True}


def _secret(name: str, secret: str, keys: tuple[str, ...]) -> dict[str, Any]:
    items = [{"key": key, "path": key} for key in keys]
    return {"name": name, "secret": {"secretName": secret, "defaultMode": 0o440, "items": items}}
