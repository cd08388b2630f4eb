"""How claims of a token reach Keystone: as headers and as variables of mod_auth_openidc. Pure.

A claim `email` is the variable `OIDC-email`, and the header of that name, which a program of WSGI sees as
HTTP_OIDC_EMAIL. Apache's module for WSGI passes no header with an underscore in its name, so
`preferred_username` is there as the variable alone. OIDCPassClaimsAs says which of both there are.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from controller.domain.api.spec_rules import sign_in as rules
from controller.domain.values.chart_values import DocumentPath, format_path
from controller.domain.values.written.oidc_directives import OIDC_DIRECTIVES
from controller.errors import Problem

_FEDERATION: DocumentPath = ("spec", "features", "identity", "federation")
_WHERE = "oidcpassclaimsas"
_WAYS: Mapping[str, tuple[bool, bool]] = {
    "both": (True, True),
    "headers": (True, False),
    "environment": (False, True),
    "none": (False, False),
}
_HEADER = re.compile(r"HTTP_OIDC_([A-Z0-9_]+)")
_VARIABLE = re.compile(r"OIDC-(.+)")
_BEGINNING = re.compile(r"^(?:HTTP_)?(?:OIDC[-_])?(?:CLAIM[-_])?", re.IGNORECASE)
# Claims of OpenID Connect Core 5.1 and of common providers, with an underscore in their names.
_SPLIT = frozenset(
    (
        "preferred_username",
        "given_name",
        "family_name",
        "middle_name",
        "email_verified",
        "phone_number",
        "phone_number_verified",
        "updated_at",
        "auth_time",
        "session_state",
        "realm_access",
        "resource_access",
        "client_id",
        "at_hash",
        "c_hash",
    )
)
_WHOLE = frozenset(
    ("sub", "iss", "aud", "exp", "iat", "azp", "name", "email", "groups", "roles", "profile", "upn")
)


def _ways(directives: Sequence[str]) -> tuple[bool, bool]:
    """Whether claims are headers, and whether they are variables."""
    found = [line.split() for line in directives if line.split()[:1] and line.split()[0].lower() == _WHERE]
    word = found[-1][1].strip("\"'").lower() if found and len(found[-1]) > 1 else "both"
    return _WAYS.get(word, _WAYS["both"])


def claim_variable(claim: str, directives: Sequence[str]) -> str:
    """What Keystone sees a claim as."""
    headers, variables = _ways(directives)
    as_header = headers and not ("_" in claim and variables)
    return f"HTTP_OIDC_{claim.upper()}" if as_header else f"OIDC-{claim}"


def unmatched_claims(federation: Mapping[str, Any]) -> Iterator[Problem]:
    """A warning for each type in mappings that no sign-in ever has."""
    directives = federation["directives"]
    providers = federation["providers"]
    yield from _unknown_directives(directives)
    if providers and not any(_ways(directives)):
        place = next(n for n, line in enumerate(directives) if line.lower().startswith(_WHERE))
        yield rules.CLAIMS_NOT_PASSED.at(format_path((*_FEDERATION, "directives", place)))
        return
    for index, provider in enumerate(providers):
        for place, rule in enumerate(provider["mapping"]):
            yield from _domains(rule["local"], (*_FEDERATION, "providers", index, "mapping", place, "local"))
            for number, remote in enumerate(rule["remote"]):
                name = remote["type"]
                if right := _meant(name, directives):
                    path = (*_FEDERATION, "providers", index, "mapping", place, "remote", number, "type")
                    yield rules.MAPPING_TYPE_NEVER.at(format_path(path), name=name, right=right)


def _unknown_directives(directives: Sequence[str]) -> Iterator[Problem]:
    for place, line in enumerate(directives):
        name = (line.split() or [""])[0]
        if name.startswith("OIDC") and name.lower() not in map(str.lower, OIDC_DIRECTIVES):
            path = format_path((*_FEDERATION, "directives", place))
            near = difflib.get_close_matches(name, OIDC_DIRECTIVES, n=1)
            remedy = f'did you mean "{near[0]}"?' if near else "correct its name"
            yield rules.DIRECTIVE_UNKNOWN.at(path, name=name, suggestion=remedy)


def _domains(value: Any, path: DocumentPath) -> Iterator[Problem]:
    """Domains of users and groups that are named by an id that none has."""
    items: Any = value.items() if isinstance(value, Mapping) else ()
    for key, part in enumerate(value) if isinstance(value, list) else items:
        if key == "domain" and isinstance(part, Mapping) and part.get("id") == "Default":
            yield rules.MAPPING_DOMAIN_ID.at(format_path((*path, "domain", "id")))
        else:
            yield from _domains(part, (*path, key))


def _meant(name: str, directives: Sequence[str]) -> str:
    """What the type is to be called; empty for one that there may be."""
    headers, variables = _ways(directives)
    claim = _BEGINNING.sub("", name)
    plain = claim.lower()
    is_known = plain in _SPLIT or plain in _WHOLE
    if not (is_known or "oidc" in name.lower()) or not claim:
        return ""  # a variable of another module
    if found := _VARIABLE.fullmatch(name):
        return "" if variables else claim_variable(found[1], directives)
    if (found := _HEADER.fullmatch(name)) and headers and not found[1].startswith("CLAIM_"):
        return claim_variable(plain, directives) if plain in _SPLIT and variables else ""
    return claim_variable(plain if claim.isupper() or is_known else claim, directives)
