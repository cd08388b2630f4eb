"""The content of a backup of a region's credentials, and the plan of a restore.

Pure. A backup contains every irreplaceable Secret of the namespace: those that the controller generated,
those of people and Jobs of charts, and the keys of the region's authority.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from controller.domain.api.names import (
    AMPHORA_SECRET,
    AUTHORITY_SECRET,
    CERTIFICATE_LABEL,
    CLOUDS_SECRET,
    COPIED_FROM_ANNOTATION,
    EXCHANGE_LABEL,
    HOOK,
    MANAGED_BY,
    MANAGED_BY_US,
    READER_SECRET,
)
from controller.domain.values.templates.template_functions import ACCOUNT_SUFFIX
from controller.errors import BackupUnusable

HELM = "Helm"
RECORD_TYPE = "helm.sh/release.v1"
_MADE_AGAIN = (
    RECORD_TYPE,
    "kubernetes.io/service-account-token",
    "bootstrap.kubernetes.io/token",
)
_KEEP, _POLICY = "keep", "helm.sh/resource-policy"
# It repeats the applied object, including the Secret's content.
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


@dataclass(frozen=True)
class KeptSecret:
    """One Secret of a backup; `data` is in base64, as in Kubernetes."""

    name: str
    type: str
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    data: Mapping[str, str] = field(repr=False)
    immutable: bool = False

    def body(self, namespace: str) -> dict[str, Any]:
        """The object to create."""
        meta: dict[str, Any] = {"name": self.name, "namespace": namespace}
        meta |= {"labels": dict(self.labels)} if self.labels else {}
        meta |= {"annotations": dict(self.annotations)} if self.annotations else {}
        body = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": meta,
            "type": self.type,
            "data": dict(self.data),
        }
        return {**body, "immutable": True} if self.immutable else body


@dataclass(frozen=True)
class Backup:
    """The content of a file. `taken`: its time, as a text."""

    namespace: str
    taken: str
    secrets: tuple[KeptSecret, ...]


class Fate(StrEnum):
    """The effect of a restore on one Secret."""

    CREATED = "created"
    COMPLETED = "keys added"
    SAME = "as it is"
    DIFFERS = "differs"
    OVERWRITTEN = "overwritten"


@dataclass(frozen=True)
class RestoreStep:
    """One Secret to restore. `keys`: those that are written, or that differ."""

    secret: KeptSecret
    fate: Fate
    keys: tuple[str, ...]


def backup_of(namespace: str, taken: str, secrets: Iterable[Mapping[str, Any]]) -> Backup:
    """The backup of a namespace with these Secrets."""
    kept = [_kept(one) for one in secrets if is_kept(one)]
    return Backup(namespace, taken, tuple(sorted(kept, key=lambda one: one.name)))


def is_kept(secret: Mapping[str, Any]) -> bool:
    """Whether the Secret is irreplaceable."""
    meta = secret["metadata"]
    labels, annotations = meta.get("labels") or {}, meta.get("annotations") or {}
    if COPIED_FROM_ANNOTATION in annotations:
        return False
    name, ours = meta["name"], labels.get(MANAGED_BY) == MANAGED_BY_US
    if secret.get("type") in _MADE_AGAIN or meta.get("ownerReferences") or "deletionTimestamp" in meta:
        return False
    if ours and (EXCHANGE_LABEL in labels or name in (CLOUDS_SECRET, READER_SECRET, AMPHORA_SECRET)):
        return False
    if ours and CERTIFICATE_LABEL in labels:
        return bool(name == AUTHORITY_SECRET)
    # Of Helm's Secrets, only those with a keep policy are saved, because a Job may have filled them.
    made_by_helm = labels.get(MANAGED_BY) == HELM or HOOK in annotations
    return not made_by_helm or annotations.get(_POLICY) == _KEEP


def document_of(backup: Backup) -> bytes:
    """The backup as JSON."""
    secrets = [
        {
            **{"name": one.name, "type": one.type, "labels": dict(one.labels)},
            **{"annotations": dict(one.annotations), "data": dict(one.data), "immutable": one.immutable},
        }
        for one in backup.secrets
    ]
    whole = {"namespace": backup.namespace, "taken": backup.taken, "secrets": secrets}
    return json.dumps(whole, sort_keys=True).encode()


def parse_backup(document: bytes) -> Backup:
    """Parses the output of `document_of`. Raises BackupUnusable."""
    try:
        whole = json.loads(document)
        secrets = tuple(
            KeptSecret(
                name=str(one["name"]),
                type=str(one["type"]),
                labels=_texts(one["labels"]),
                annotations=_texts(one["annotations"]),
                data=_texts(one["data"]),
                immutable=bool(one["immutable"]),
            )
            for one in whole["secrets"]
        )
        return Backup(str(whole["namespace"]), str(whole["taken"]), secrets)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        # Without the error's text, which may quote the document.
        raise BackupUnusable("the content is not a backup of credentials") from None


def plan_restore(
    secrets: Sequence[KeptSecret], there: Mapping[str, Mapping[str, Any]], overwrite: Collection[str] = ()
) -> tuple[RestoreStep, ...]:
    """The step for each Secret; `there` are the live ones by name.

    Different Secrets stay, unless `overwrite` names them. Additional keys of a live one are never removed,
    except a suffix of account names that belongs to other passwords.
    """
    return tuple(_step(one, there.get(one.name), one.name in overwrite) for one in secrets)


def _step(secret: KeptSecret, there: Mapping[str, Any] | None, overwrite: bool) -> RestoreStep:
    if there is None:
        return RestoreStep(secret, Fate.CREATED, tuple(sorted(secret.data)))
    live = there.get("data") or {}
    secret = _with_names(secret, live)
    other = tuple(sorted(key for key, text in secret.data.items() if live.get(key) not in ("", None, text)))
    missing = tuple(sorted(key for key in secret.data if secret.data[key] and not live.get(key)))
    if str(there.get("type")) != secret.type:
        return RestoreStep(secret, Fate.DIFFERS, tuple(sorted(secret.data)))
    if other and overwrite:
        return RestoreStep(secret, Fate.OVERWRITTEN, tuple(sorted({*other, *missing})))
    if other:
        return RestoreStep(secret, Fate.DIFFERS, other)
    return RestoreStep(secret, Fate.COMPLETED if missing else Fate.SAME, missing)


def _with_names(secret: KeptSecret, live: Mapping[str, str]) -> KeptSecret:
    """With the suffix of the names that its passwords are for, if it differs today: accounts that were never
    rotated have none.
    """
    same = all(live.get(key) == text for key, text in secret.data.items())
    if same or ACCOUNT_SUFFIX in secret.data or not live.get(ACCOUNT_SUFFIX):
        return secret
    return replace(secret, data={**secret.data, ACCOUNT_SUFFIX: ""})


def _kept(secret: Mapping[str, Any]) -> KeptSecret:
    meta = secret["metadata"]
    annotations = {k: text for k, text in (meta.get("annotations") or {}).items() if k != _LAST_APPLIED}
    return KeptSecret(
        name=str(meta["name"]),
        type=str(secret.get("type") or "Opaque"),
        labels=dict(meta.get("labels") or {}),
        annotations=annotations,
        data=dict(secret.get("data") or {}),
        immutable=bool(secret.get("immutable")),
    )


def _texts(value: Any) -> dict[str, str]:
    if not all(isinstance(one, str) for pair in value.items() for one in pair):
        raise TypeError
    return dict(value)
