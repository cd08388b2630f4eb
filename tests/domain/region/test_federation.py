"""Mappings of a provider's users: what Keystone or a sign-in refuses is reported where it stands."""

from __future__ import annotations

from typing import Any

import pytest

from controller.domain.region.federation import directive_problems, provider_problems
from tests.domain.region.mappings import ANY, REFUSED, TAKEN

PATH = "spec.features.identity.federation.providers[0].mapping[0]"


def found(*mapping: dict[str, Any]) -> dict[str, str]:
    provider = {"name": "corp", "issuer": "https://sso.example.org", "metadata": {}, "mapping": list(mapping)}
    return {problem.path: problem.message for problem in provider_problems([provider])}


@pytest.mark.parametrize("rule", TAKEN)
def test_what_keystone_takes_is_taken(rule: dict[str, Any]) -> None:
    assert found(rule) == {}


@pytest.mark.parametrize(("rule", "path", "message"), REFUSED)
def test_what_keystone_refuses_is_reported(rule: dict[str, Any], path: str, message: str) -> None:
    assert found(rule) == {f"{PATH}.{path}": message}


@pytest.mark.parametrize(
    ("name", "remote", "message"),
    [
        ("{1}", [ANY], "{1} is not a claim: there are 1 with a value in remote"),
        (
            "{0}",
            [{**ANY, "any_one_of": ["a"]}],
            "{0} is not a claim: there are no claims with a value in remote",
        ),
        ("{email}", [ANY], "{email} is not a claim: there are 1 with a value in remote"),
        ("{0", [ANY], "is not a valid text with claims: expected '}' before end of string"),
    ],
)
def test_what_stands_for_no_claim_is_reported(name: str, remote: list[Any], message: str) -> None:
    rule = {"local": [{"user": {"name": name}}], "remote": remote}
    assert found(rule) == {f"{PATH}.local[0].user.name": message}


@pytest.mark.parametrize("name", ["{0}", "{}", "{0} {1}", "{0[1]}", "no claim", "{{0}}"])
def test_what_stands_for_a_claim_is_taken(name: str) -> None:
    remote = [{**ANY, "not_any_of": ["guest"]}, ANY, {**ANY, "whitelist": ["a"]}]
    assert found({"local": [{"user": {"name": name}}], "remote": remote}) == {}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("OIDCClaimDelimiter ,", "OIDCClaimDelimiter is written by the controller"),
        ("oidcscope openid", "oidcscope is written by the controller"),
        ("OIDCPassClaimsAs both\nOIDCScope openid", "has a line break"),
        (
            "OIDCOAuthClientSecret hunter2",
            "OIDCOAuthClientSecret is a secret, and would be in plain text in a ConfigMap or an object",
        ),
    ],
)
def test_a_directive_that_the_controller_writes_or_that_holds_a_secret_is_refused(
    line: str, message: str
) -> None:
    [problem] = directive_problems(["OIDCPassClaimsAs environment", line])
    assert problem.path == "spec.features.identity.federation.directives[1]"
    assert problem.message == message
    assert "hunter2" not in str(problem)


def test_a_secret_of_a_directive_may_be_in_a_file() -> None:
    line = 'OIDCOAuthClientSecret "exec:/bin/cat /etc/oidc/more/secret"'
    assert list(directive_problems([line, "OIDCSessionInactivityTimeout 1800"])) == []
