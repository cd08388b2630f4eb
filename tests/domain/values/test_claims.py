"""A mapping by names that no sign-in has is reported with those that Keystone gets."""

from __future__ import annotations

from typing import Any

import pytest

from controller.domain.values.written.claims import claim_variable, unmatched_claims

ENVIRONMENT, HEADERS = "OIDCPassClaimsAs environment", 'OIDCPassClaimsAs "headers"'


def told(name: str, *directives: str) -> list[tuple[str, str]]:
    mapping = [{"local": [], "remote": [{"type": "REMOTE_USER"}, {"type": name}]}]
    federation: dict[str, Any] = {
        "directives": list(directives),
        "providers": [{"name": "a", "mapping": mapping}],
    }
    return [(one.path, one.remedy) for one in unmatched_claims(federation)]


@pytest.mark.parametrize(
    ("name", "directive", "right"),
    [
        ("OIDC_EMAIL", "", "HTTP_OIDC_EMAIL"),
        ("email", "", "HTTP_OIDC_EMAIL"),
        ("HTTP_OIDC_email", "", "HTTP_OIDC_EMAIL"),
        ("OIDC_CLAIM_email", "", "HTTP_OIDC_EMAIL"),
        ("HTTP_OIDC_CLAIM_GROUPS", "", "HTTP_OIDC_GROUPS"),
        ("HTTP_OIDC_PREFERRED_USERNAME", "", "OIDC-preferred_username"),
        ("preferred_username", "", "OIDC-preferred_username"),
        ("HTTP_OIDC_EMAIL", ENVIRONMENT, "OIDC-email"),
        ("OIDC_EMAIL", ENVIRONMENT, "OIDC-email"),
        ("OIDC-email", HEADERS, "HTTP_OIDC_EMAIL"),
    ],
)
def test_a_name_that_never_arrives_is_reported_with_the_one_that_does(
    name: str, directive: str, right: str
) -> None:
    path = "spec.features.identity.federation.providers[0].mapping[0].remote[1].type"
    assert told(name, *filter(None, [directive])) == [(path, f"write {right}")]
    assert told(right, *filter(None, [directive])) == []


@pytest.mark.parametrize(
    "name",
    ["HTTP_OIDC_GROUPS", "OIDC-groups", "HTTP_OIDC_MY_CLAIM", "REMOTE_USER", "MELLON_uid", "HTTP_X_TEAM"],
)
def test_what_may_arrive_is_not_reported(name: str) -> None:
    assert told(name) == []


def test_a_module_that_passes_no_claims_is_reported() -> None:
    found = told("HTTP_OIDC_EMAIL", "OIDCSessionType server-cache", "OIDCPassClaimsAs none")
    assert [path for path, _ in found] == ["spec.features.identity.federation.directives[1]"]


def test_the_issuer_is_asked_by_the_name_that_keystone_gets() -> None:
    assert claim_variable("iss", []) == claim_variable("iss", [HEADERS]) == "HTTP_OIDC_ISS"
    assert claim_variable("iss", [ENVIRONMENT]) == "OIDC-iss"


def test_a_directive_that_the_module_does_not_have_is_reported() -> None:
    assert told(
        "HTTP_OIDC_EMAIL", "OIDCPassClaimAs both", "OIDCSSLValidateServer Off", "RequestHeader unset X"
    ) == [("spec.features.identity.federation.directives[0]", 'did you mean "OIDCPassClaimsAs"?')]


def test_a_domain_by_an_id_that_none_has_is_reported() -> None:
    group = {"name": "ops", "domain": {"id": "Default"}}
    mapping = [{"local": [{"user": {"name": "{0}"}, "group": group}], "remote": [{"type": "REMOTE_USER"}]}]
    federation: dict[str, Any] = {"directives": [], "providers": [{"name": "a", "mapping": mapping}]}
    root = "spec.features.identity.federation.providers[0].mapping[0]"
    assert [one.path for one in unmatched_claims(federation)] == [f"{root}.local[0].group.domain.id"]
