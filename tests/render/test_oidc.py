"""OpenID Connect: what an operator writes reaches Apache as it is, through a value that Helm renders."""

from __future__ import annotations

from pathlib import Path

import pytest

from controller.cli.offline.manifests import offline_helm
from controller.domain.values.templates.template_functions import literal
from controller.domain.values.written.federation import federation_locations
from controller.ports.helm import HelmRequest
from tests.render.region import core_spec, render
from tests.render.specs import OIDC


def test_a_client_that_looks_like_a_template_is_sent_as_a_text() -> None:
    features = {"identity": {"federation": {"providers": [{**OIDC, "clientID": "a{{ .Values.x }}"}]}}}
    found = render(core_spec(features=features)).release("keystone")
    assert found is not None
    text = found.merged.values["conf"]["wsgi_keystone"]
    assert 'OIDCClientID "a{{ "{{" }} .Values.x }}"' in text


TEMPLATE = """apiVersion: v1
kind: ConfigMap
metadata: {name: one}
data:
  text: {{ tpl .Values.text . | quote }}
"""


@pytest.mark.slow
@pytest.mark.parametrize("text", ["{{", "a{{{b}}}c", '{{ "x" }}', "{{{{", "plain"])
def test_helm_gives_a_literal_back(text: str, tmp_path: Path) -> None:
    (tmp_path / "Chart.yaml").write_text("apiVersion: v2\nname: one\nversion: 1.0.0\n")
    (tmp_path / "templates").mkdir()
    (tmp_path / "templates" / "c.yaml").write_text(TEMPLATE)
    request = HelmRequest("one", "default", str(tmp_path), {"text": literal(text)})
    (found,) = offline_helm().render(request).manifest
    assert found["data"]["text"] == text


def test_the_api_takes_access_tokens_once_a_directive_says_how_they_are_verified() -> None:
    one = [{"name": "corp", "issuer": "https://sso.example.org/realms/cloud"}]
    keystone, redirect = "https://identity.example.org", "/v3/redirect"
    browsers = federation_locations(one, keystone, redirect, ["OIDCPassClaimsAs environment"])
    assert [line.strip() for line in browsers if "AuthType" in line] == ["AuthType openid-connect"] * 2
    given = ["OIDCOAuthVerifyJwksUri https://sso.example.org/certs"]
    both = federation_locations(one, keystone, redirect, given)
    assert [line.strip() for line in both if "AuthType" in line] == [
        "AuthType auth-openidc",
        "AuthType openid-connect",
    ], "sign-in of the dashboard has no tokens"
