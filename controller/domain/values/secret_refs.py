"""References to secrets in values: where they are, and what the values are once they are resolved.

A reference is the leaf `{$secretRef: {name, key}}`. It is resolved in memory only, just before Helm is
called; what is resolved is never written anywhere. One with a `prefix` is no secret: it names an account,
whose name ends in another way after each rotation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from controller.domain.api.names import (
    AMPHORA_SECRET,
    AUTHORITY_SECRET,
    AUTHORITY_TYPE,
    CLIENT_AUTHORITY_SECRET,
    DIGEST_KEY_SECRET,
    SERVER_AUTHORITY_SECRET,
)
from controller.domain.api.spec_rules import values as rules
from controller.domain.shared.secret_text import is_one_line
from controller.domain.values.chart_values import SECRET_REF, DocumentPath, Values, format_path, is_secret_ref
from controller.domain.values.option_files import OptionFiles, as_option_value, is_written_as_it_is
from controller.errors import Problem, SecretMissing, SpecInvalid

# Secrets that a spec may not name (`reserved`): who may write a spec need not be allowed to read these.
_RECORD_NAME = "sh.helm.release."
_RESERVED_TYPES = {
    "helm.sh/release.v1": "a Helm record, which holds every value of its release",
    "kubernetes.io/service-account-token": "the token of a ServiceAccount",
    AUTHORITY_TYPE: "the key of an authority, which signs certificates",
}

_AUTHORITIES = (AUTHORITY_SECRET, SERVER_AUTHORITY_SECRET, CLIENT_AUTHORITY_SECRET, AMPHORA_SECRET)

# Gives the text under a key of a Secret, None when the Secret or the key is not there or is empty.
Lookup = Callable[[str, str], str | None]


def reserved(name: str, type_: str = "") -> str:
    """What a Secret is that no spec may name; empty for any other. `type_`: of the Secret, once known."""
    if name == DIGEST_KEY_SECRET:
        return "the controller's own key"
    if name in _AUTHORITIES:
        return _RESERVED_TYPES[AUTHORITY_TYPE]
    if name.startswith(_RECORD_NAME):
        return _RESERVED_TYPES["helm.sh/release.v1"]
    return _RESERVED_TYPES.get(type_, "")


@dataclass(frozen=True)
class SecretReference:
    """One reference: where it stands in the values, and what it names. `prefix` is None for a secret."""

    path: DocumentPath
    name: str
    key: str
    prefix: str | None = None


@dataclass(frozen=True)
class ResolvedValues:
    """Values with every reference replaced, and the texts that came in. Never printed."""

    values: Values = field(repr=False)
    secrets: frozenset[str] = field(repr=False)


def find_references(values: Values) -> tuple[SecretReference, ...]:
    """Every reference in the values, lists included, in their order.

    Raises SpecInvalid naming every one that is malformed.
    """
    found: list[SecretReference] = []
    problems: list[Problem] = []
    for path, leaf in _marked(values, ()):
        reference = _parse(path, leaf)
        if isinstance(reference, Problem):
            problems.append(reference)
        else:
            found.append(reference)
    if problems:
        raise SpecInvalid(problems)
    return tuple(found)


def secret_names(values: Values) -> frozenset[str]:
    """Names of all Secrets that the values need. Raises SpecInvalid as `find_references` does."""
    return frozenset(reference.name for reference in find_references(values))


def resolve(
    values: Values, lookup: Lookup, files: OptionFiles, *, release: str = "", upstream: bool = False
) -> ResolvedValues:
    """A copy of the values in which each reference is the text that it names, in one of the `files` as
    oslo.config reads it.

    `upstream`: the chart is OpenStack-Helm's, which writes passwords of accounts into files as they are.
    Raises SecretMissing for the first that cannot be resolved (`release` is named in its text), and
    SpecInvalid for malformed ones and for secrets that the chart cannot take. Nothing of the given values is
    shared or changed.
    """
    find_references(values)
    secrets: set[str] = set()

    def resolved(target: Mapping[str, str], path: DocumentPath) -> str:
        text = lookup(target["name"], target["key"])
        if "prefix" in target:
            whole = target["prefix"] + (text or "")
            return as_option_value(whole) if files.has(path) else whole
        if not text:
            raise SecretMissing(target["name"], target["key"], release)
        secrets.add(text)
        if files.takes_one_line(path) and not is_one_line(text):
            raise SpecInvalid([_several_lines(path, target)])
        if files.has(path):
            text = as_option_value(text)
            secrets.add(text)
        elif upstream and "$" in text and is_written_as_it_is(path):
            raise SpecInvalid([_dollar(path, target)])
        return text

    def copied(value: Any, path: DocumentPath) -> Any:
        if is_secret_ref(value):
            return resolved(value[SECRET_REF], path)
        if isinstance(value, Mapping):
            return {key: copied(part, (*path, str(key))) for key, part in value.items()}
        if isinstance(value, list | tuple):
            return [copied(part, (*path, index)) for index, part in enumerate(value)]
        return value

    return ResolvedValues(copied(values, ()), frozenset(secrets))


def is_complete(target: object) -> bool:
    """Whether what a reference names has all its fields, and no others."""
    return (
        isinstance(target, Mapping)
        and set(target) - {"prefix"} == {"name", "key"}
        and all(isinstance(part, str) and part for part in target.values())
    )


def _dollar(path: DocumentPath, target: Mapping[str, str]) -> Problem:
    secret = f'key "{target["key"]}" of Secret "{target["name"]}"'
    return rules.SECRET_WITH_DOLLAR.at(format_path(path), secret=secret)


def _several_lines(path: DocumentPath, target: Mapping[str, str]) -> Problem:
    secret = f'key "{target["key"]}" of Secret "{target["name"]}"'
    return rules.SECRET_NOT_ONE_LINE.at(format_path(path), secret=secret)


def _marked(value: Any, path: DocumentPath) -> Iterator[tuple[DocumentPath, Any]]:
    if is_secret_ref(value):
        yield path, value
    elif isinstance(value, Mapping):
        for key, part in value.items():
            yield from _marked(part, (*path, str(key)))
    elif isinstance(value, list | tuple):
        for index, part in enumerate(value):
            yield from _marked(part, (*path, index))


def _parse(path: DocumentPath, leaf: Mapping[str, Any]) -> SecretReference | Problem:
    target = leaf[SECRET_REF]
    if len(leaf) == 1 and is_complete(target):
        what = reserved(target["name"])
        if what:
            return rules.SECRET_REF_RESERVED.at(format_path(path), name=target["name"], purpose=what)
        return SecretReference(path, target["name"], target["key"], target.get("prefix"))
    return rules.SECRET_REF_MALFORMED.at(format_path(path))
