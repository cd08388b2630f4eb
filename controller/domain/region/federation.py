"""Checks of sign-in providers: mappings that Keystone would refuse, and providers that Apache's module
would refuse. The schema of a mapping is Keystone's 1.0 (keystone/federation/utils.py), the default of
its API. A Job creates the mapping, and would retry a refused one without end.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from controller.domain.api.spec_rules import sign_in as rules
from controller.domain.api.spec_rules.rule import Finding, Rule
from controller.domain.values.chart_values import DocumentPath, format_path, type_name
from controller.domain.values.suggestion import suggestion
from controller.errors import Problem

_PROVIDERS: DocumentPath = ("spec", "features", "identity", "federation", "providers")
_CONDITIONS = ("any_one_of", "not_any_of", "blacklist", "whitelist")
# Conditions whose value `local` cannot have: they say only whether the rule is the user's.
_WITHOUT_VALUE = ("any_one_of", "not_any_of")
_USERS = ("ephemeral", "local")
# Texts, lists and maps; a "!" behind a key says that it is required.
_DOMAIN = {"id": str, "name": str}
_LOCAL = {
    "user": {"id": str, "name": str, "email": str, "domain": _DOMAIN, "type": str},
    "group": {"id": str, "name": str, "domain": _DOMAIN},
    "groups": str,
    "group_ids": str,
    "domain": _DOMAIN,
    "projects": [{"name!": str, "roles!": [{"name!": str}]}],
}
_REMOTE = {"type!": str, "regex": bool, **dict.fromkeys(_CONDITIONS, list)}
_RULE: dict[str, Any] = {"local!": [_LOCAL], "remote!": [_REMOTE]}
_OF_PROVIDER = "set it in the provider"
_WRITTEN = {
    "OIDCClaimPrefix": "mappings name claims by it, as HTTP_OIDC_EMAIL",
    "OIDCClaimDelimiter": "a semicolon, at which Keystone splits claims",
    "OIDCClientID": _OF_PROVIDER,
    "OIDCClientSecret": _OF_PROVIDER,
    "OIDCCryptoPassphrase": "the controller generates it",
    "OIDCDiscoverURL": "the option leads to the provider of an address",
    "OIDCMetadataDir": _OF_PROVIDER,
    "OIDCProviderMetadataURL": "the value comes from the provider's issuer",
    "OIDCRedirectURI": "the value comes from the region's public name",
    "OIDCScope": _OF_PROVIDER,
}
# Endings of directives whose value is a secret.
_SECRETS = ("secret", "passphrase", "password")
# What of `{0}`, `{}` or `{0[1]}` says which claim it is.
_NUMBER = re.compile(r"(\d*)(?:[.\[].*)?")
_NAMES: Mapping[type, str] = {str: "a text", bool: "true or false", list: "a list", dict: "a map"}


def provider_problems(providers: Sequence[Mapping[str, Any]]) -> Iterator[Problem]:
    """What is wrong with the providers, and with their mappings.

    Apache's module goes by the issuer: two of the same are one, and metadata of another are refused.
    """
    issuers: dict[str, str] = {}
    for index, provider in enumerate(providers):
        path: DocumentPath = (*_PROVIDERS, index)
        issuer = provider["issuer"].rstrip("/")
        if issuer in issuers:
            yield _problem((*path, "issuer"), rules.ISSUER_TWICE, provider=issuers[issuer])
        issuers.setdefault(issuer, provider["name"])
        told = provider["metadata"].get("issuer") if provider["metadata"] else None
        if provider["metadata"] and str(told).rstrip("/") != issuer:
            yield _problem((*path, "metadata", "issuer"), rules.METADATA_OF_ANOTHER_ISSUER, issuer=issuer)
        for place, rule in enumerate(provider["mapping"]):
            yield from _rule_problems(rule, (*path, "mapping", place))


def directive_problems(directives: Sequence[str]) -> Iterator[Problem]:
    """What of the operator's lines for Apache's module the controller writes itself, or nothing may read."""
    for index, line in enumerate(directives):
        path: DocumentPath = (*_PROVIDERS[:-1], "directives", index)
        name, _, value = line.partition(" ")
        fixed = {known.lower(): why for known, why in _WRITTEN.items()}.get(name.lower())
        secret = name.lower().endswith(_SECRETS) and not value.strip(" \"'").startswith("exec:")
        if "\n" in line or "\r" in line:
            yield _problem(path, rules.DIRECTIVE_LINE_BREAK)
        elif fixed is not None:
            yield _problem(path, rules.DIRECTIVE_RESERVED, name=name, remedy=fixed)
        elif secret:
            yield _problem(path, rules.DIRECTIVE_SECRET, name=name)


def _rule_problems(rule: Any, path: DocumentPath) -> Iterator[Problem]:
    misshapen = list(_misshapen(rule, _RULE, path))
    yield from misshapen
    if misshapen:
        return
    if not rule["remote"]:
        yield _problem((*path, "remote"), rules.MAPPING_WITHOUT_REMOTE)
        return
    for index, remote in enumerate(rule["remote"]):
        yield from _remote_problems(remote, (*path, "remote", index))
    values = sum(not any(key in remote for key in _WITHOUT_VALUE) for remote in rule["remote"])
    for index, local in enumerate(rule["local"]):
        yield from _local_problems(local, (*path, "local", index))
        yield from _references(local, values, (*path, "local", index))


def _misshapen(value: Any, shape: Any, path: DocumentPath) -> Iterator[Problem]:
    """Mistakes in the shape of a value: another type, an unknown key, or a missing one."""
    kind: Any = shape if isinstance(shape, type) else type(shape)
    if not isinstance(value, kind):
        yield _problem(path, rules.MAPPING_TYPE, wanted=_NAMES[kind], got=type_name(value))
    elif isinstance(shape, list):
        for index, item in enumerate(value):
            yield from _misshapen(item, shape[0], (*path, index))
    elif isinstance(shape, dict):
        known = {key.removesuffix("!"): below for key, below in shape.items()}
        for key, item in value.items():
            if key in known:
                yield from _misshapen(item, known[key], (*path, key))
            else:
                yield _problem(
                    (*path, key), rules.MAPPING_KEY_UNKNOWN, key=key, suggestion=suggestion(key, known)
                )
        for key in shape:
            if key.endswith("!") and key[:-1] not in value:
                yield _problem((*path, key[:-1]), rules.MAPPING_KEY_REQUIRED)


def _remote_problems(remote: Mapping[str, Any], path: DocumentPath) -> Iterator[Problem]:
    given = [key for key in _CONDITIONS if key in remote]
    if len(given) > 1:
        yield _problem((*path, given[1]), rules.MAPPING_CONDITIONS, other=given[0])
    if "regex" in remote and not given:
        yield _problem((*path, "regex"), rules.MAPPING_REGEX_ALONE, conditions=", ".join(_CONDITIONS))


def _local_problems(local: Mapping[str, Any], path: DocumentPath) -> Iterator[Problem]:
    kind = local.get("user", {}).get("type", _USERS[0])
    if kind not in _USERS:
        yield _problem((*path, "user", "type"), rules.MAPPING_USER_TYPE, users=", ".join(_USERS))
    group = local.get("group")
    if group is not None and set(group) not in ({"id"}, {"name", "domain"}):
        yield _problem((*path, "group"), rules.MAPPING_GROUP)


def _references(value: Any, values: int, path: DocumentPath) -> Iterator[Problem]:
    """Numbers in braces that stand for no claim: a sign-in would fail."""
    items: Any = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    for key, item in items:
        yield from _references(item, values, (*path, key))
    if not isinstance(value, str):
        return
    try:
        names = [name for _, name, _, _ in string.Formatter().parse(value) if name is not None]
    except ValueError as error:
        yield _problem(path, rules.MAPPING_TEXT_MALFORMED, error=error)
        return
    for place, name in enumerate(names):
        found = _NUMBER.fullmatch(name)
        if not (found and int(found[1] or place) < values):
            claims = f"{values} with a value" if values else "no claims with a value"
            yield _problem(path, rules.MAPPING_CLAIM_UNKNOWN, name=name, claims=claims)


def _problem(path: DocumentPath, rule: Rule, **facts: object) -> Problem:
    return Finding(rule, facts).at(format_path(path))
