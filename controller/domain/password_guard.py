"""Refuses values that hold a password in clear: chart defaults are full of `password: password`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from controller.domain.bundle import Values
from controller.domain.merge import MergedValues
from controller.domain.values import DocumentPath, format_path, is_secret_ref
from controller.errors import Problem

# Names whose value is the secret itself; `secret_name`, `user_secret_name` … name a Kubernetes Secret.
_SECRET_KEY = re.compile(
    r"(^|[_.-])(password|passwd|passphrase|pass|secret|shared_secret|secret_key|access_key|encryption_key"
    r"|private_key|erlang_cookie|tmpurlkey|admin_keyring|heartbeat_key|kek|auth_token|token)$",
    re.IGNORECASE,
)
_CREDENTIALS_IN_URL = re.compile(r"[a-z][a-z0-9+.-]*://[^/\s:@]*:[^/\s:@{}$%<>]+@", re.IGNORECASE)
_PRIVATE_KEY = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----")
# Words that stand where a secret could, and are none.
_HARMLESS = frozenset(("", "none", "null", "true", "false", "<none>", "<service default>"))


def literal_secrets(values: Values) -> Iterator[DocumentPath]:
    """Paths of all leaves that look like a secret in clear, in the order of the values.

    A leaf counts when its key names a secret and it is a non-empty string or number that is no
    reference, or when its text holds a private key or a URL with a password.
    """
    yield from _walk(values, ())


def password_problems(release: str, merged: MergedValues) -> list[Problem]:
    """A problem for each secret in clear that a release would get, with the place that sets it."""
    problems = []
    for path in literal_secrets(merged.values):
        keys = tuple(key for key in path if isinstance(key, str))
        settings = merged.history.get(keys, ())
        where = settings[-1] if settings else None
        problems.append(
            Problem(
                where.path if where else f"{release}: {format_path(path)}",
                f"release {release} would get a secret in clear"
                + ("" if where else ", from the chart's defaults"),
                "refer to a Secret instead: {$secretRef: {name: <Secret>, key: <key>}}",
                where.place if where else "",
            )
        )
    return problems


def _walk(value: Any, path: DocumentPath) -> Iterator[DocumentPath]:
    if is_secret_ref(value):
        return
    if isinstance(value, Mapping):
        named = value.get("name")
        if (
            isinstance(named, str)
            and "value" in value
            and _SECRET_KEY.search(named)
            and _literal(value["value"])
        ):
            yield (*path, "value")
        for key, item in value.items():
            if _SECRET_KEY.search(key) and _literal(item) and not _names_file(key, item):
                yield (*path, key)
            else:
                yield from _walk(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _walk(item, (*path, index))
    elif isinstance(value, str) and len(value) > 8 and _shows_secret(value):
        yield path


def _literal(value: Any) -> bool:
    if isinstance(value, bool) or value is None:
        return False
    if isinstance(value, str):
        return value.strip().lower() not in _HARMLESS and not _refers(value)
    return isinstance(value, int | float)


def _names_file(key: str, value: Any) -> bool:
    """A private key or keyring may be given as the file that it lies in."""
    return key.lower().endswith(("key", "keyring")) and isinstance(value, str) and value.startswith("/")


def _refers(text: str) -> bool:
    """`{{ … }}`, `${NAME}` and `$(NAME)` are filled in elsewhere."""
    return text.startswith(("{{", "${", "$("))


def _shows_secret(text: str) -> bool:
    return bool(_CREDENTIALS_IN_URL.search(text) or _PRIVATE_KEY.search(text))
