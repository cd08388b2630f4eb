"""Secrets that the controller reads because the spec names them: no object of a release refers to them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from controller.domain.api.backup_secrets import (
    ACCESS_KEY,
    AUTHORITY_KEY,
    PASSPHRASE_KEY,
    PASSPHRASE_SECRET,
    SECRET_KEY,
)
from controller.domain.api.names import AUTHORITY_TYPE
from controller.domain.validation.dangling import SERVED_KEYS
from controller.domain.values.chart_values import DocumentPath, format_path, lookup

LOGIN_TYPE, TLS_TYPE = "kubernetes.io/dockerconfigjson", "kubernetes.io/tls"
_LOGIN_KEY = ".dockerconfigjson"
_AUTHORITY = ("ca.crt",)
_ROOT = "and ca.crt with the root, unless tls.crt ends with it"
_PUBLIC: DocumentPath = ("features", "tls", "public")
_BACKUP: DocumentPath = ("features", "backup")
_BUCKET: DocumentPath = (*_BACKUP, "destination", "s3")

# Fields whose value is the name, with the keys and the type that the Secret has to have.
NAMES: Mapping[DocumentPath, tuple[tuple[str, ...], str]] = {
    ("charts", "credentialsSecret"): (("username", "password"), ""),
    ("charts", "caSecret"): (_AUTHORITY, ""),
    ("features", "tls", "internal", "authoritySecret"): (SERVED_KEYS, AUTHORITY_TYPE),
    ("features", "tls", "internal", "caSecret"): (_AUTHORITY, ""),
    (*_PUBLIC, "secretName"): (SERVED_KEYS, TLS_TYPE),
    (*_PUBLIC, "caSecret"): (_AUTHORITY, ""),
    (*_BACKUP, "passphrase"): ((PASSPHRASE_KEY,), ""),
    (*_BUCKET, "credentials"): ((ACCESS_KEY, SECRET_KEY), ""),
    (*_BUCKET, "ca"): ((AUTHORITY_KEY,), ""),
}
# Those that the controller generates, although a field may name them.
_GENERATED = frozenset((PASSPHRASE_SECRET,))
# Fields with a name and a key.
REFERENCES: tuple[DocumentPath, ...] = (
    ("features", "nodes", "fencing", "tokenFrom"),
    ("features", "nodes", "fencing", "authorityFrom"),
)
# Lists of names.
LISTS: Mapping[DocumentPath, tuple[tuple[str, ...], str]] = {
    ("images", "pullSecrets"): ((_LOGIN_KEY,), LOGIN_TYPE)
}


@dataclass(frozen=True)
class OperatorSecret:
    """A Secret of the region's namespace and the field that names it; `type` is empty where any will do."""

    path: str
    name: str
    keys: tuple[str, ...]
    type: str = ""

    @property
    def description(self) -> str:
        """Its name, and what it has to be."""
        keys = f"{'key' if len(self.keys) == 1 else 'keys'} {', '.join(self.keys)}"
        anchors = f"; {_ROOT}" if self.type == AUTHORITY_TYPE else ""
        return f"Secret {self.name} ({f'type {self.type}, ' if self.type else ''}{keys}{anchors})"

    @property
    def command(self) -> str:
        """How it is made; `{namespace}` is the region's."""
        if self.type == TLS_TYPE:
            return f"kubectl -n {{namespace}} create secret tls {self.name} --cert=tls.crt --key=tls.key"
        kind = f" --type={self.type}" if self.type else ""
        files = "".join(f" --from-file={key}" for key in self.keys)
        return f"kubectl -n {{namespace}} create secret generic {self.name}{kind}{files}"

    def type_fault(self, type_: str) -> str:
        """What is wrong with a Secret of this name that has a type; empty if nothing is."""
        if not self.type or type_ == self.type:
            return ""
        return f"Secret {self.name} has the type {type_ or 'Opaque'}, but must have {self.type}"

    def key_fault(self, keys: Collection[str]) -> str:
        """What is wrong with a Secret of this name that has keys; empty if nothing is."""
        missing = [key for key in self.keys if key not in keys]
        if not missing:
            return ""
        return f"Secret {self.name} has no {'key' if len(missing) == 1 else 'keys'} {', '.join(missing)}"


def operator_secrets(spec: Mapping[str, Any]) -> list[OperatorSecret]:
    """Those that a valid spec names, as it is written, by field."""
    found = []
    for path, (keys, type_) in NAMES.items():
        name = lookup(spec, path)
        # Nothing reads those of public endpoints that are not encrypted.
        if name in _GENERATED:
            continue
        if name and (path[: len(_PUBLIC)] != _PUBLIC or lookup(spec, (*_PUBLIC, "enabled"))):
            found.append(OperatorSecret(format_path(("spec", *path)), name, keys, type_))
    for path, (keys, type_) in LISTS.items():
        for index, name in enumerate(lookup(spec, path) or ()):
            found.append(OperatorSecret(format_path(("spec", *path, index)), name, keys, type_))
    for path in REFERENCES:
        if given := lookup(spec, path):
            found.append(OperatorSecret(format_path(("spec", *path)), given["name"], (given["key"],)))
    return found
