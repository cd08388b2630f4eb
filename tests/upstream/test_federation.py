"""Sign-in at providers outside of the region: where browsers are sent, and what pods know of a session."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.render import production
from tests.render.specs import FEATURES, LDAP
from tests.upstream.option_packages import SERIES, load
from tests.upstream.pages import blocks
from tests.upstream.regions import objects, region

pytestmark = [pytest.mark.upstream, pytest.mark.timeout(600)]


def made(charts: Path, release: str, features: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
    found = region(charts, {"preset": "compute", "size": "small", "features": features}).release(release)
    assert found is not None
    return objects(found)


def file(objs: tuple[Mapping[str, Any], ...], name: str) -> str:
    [text] = {text for obj in objs for found, text in production.files(obj) if found == name}
    return text


def identity(name: str, *, https: bool) -> dict[str, Any]:
    return {**FEATURES[name]["features"], "tls": {"public": {"enabled": https}}}


@pytest.mark.parametrize(("https", "scheme"), [(True, "https"), (False, "http")])
def test_a_browser_is_sent_to_public_addresses_only(charts: Path, https: bool, scheme: str) -> None:
    features = identity("identity-oidc", https=https)
    settings = file(made(charts, "horizon", features), "local_settings")
    assert f'WEBSSO_KEYSTONE_URL = "{scheme}://identity.it.just.works/v3"' in settings
    assert "WEBSSO_USE_HTTP_REFERER = 0" in settings
    assert re.search(r'OPENSTACK_KEYSTONE_URL = ?"?http://keystone-api\.', settings)
    keystone = made(charts, "keystone", features)
    assert f"trusted_dashboard = {scheme}://dashboard.it.just.works/auth/websso/" in file(
        keystone, "keystone.conf"
    )
    assert f"OIDCRedirectURI {scheme}://identity.it.just.works/" in file(keystone, "wsgi-keystone.conf")


@pytest.mark.parametrize("name", ["identity-oidc", "identity-two-providers"])
def test_any_pod_may_answer_each_request_of_a_sign_in(charts: Path, name: str) -> None:
    apache = file(made(charts, "keystone", identity(name, https=True)), "wsgi-keystone.conf")
    assert "OIDCSessionType client-cookie" in apache
    assert "OIDCCryptoPassphrase" in apache  # one for all pods
    assert "OIDCXForwardedHeaders X-Forwarded-Proto" in apache  # or addresses would have the pod's port


def variables(apache: str, claims: Mapping[str, Any]) -> dict[str, str]:
    """The variables of a request, as mod_auth_openidc has them (auth_openidc.conf: OIDCClaimPrefix and
    OIDCClaimDelimiter): a claim of several values is one text, joined by it, by default a comma."""
    given = dict(re.findall(r"^ +(OIDCClaim\w+) \"?(.*?)\"?$", apache, re.M))
    prefix, delimiter = given["OIDCClaimPrefix"], given.get("OIDCClaimDelimiter", ",")
    return {
        f"HTTP_{prefix}{name}".replace("-", "_").upper(): (
            delimiter.join(value) if isinstance(value, list) else value
        )
        for name, value in claims.items()
    }


GROUPS = [
    {
        "local": [{"user": {"name": "{0}"}}, {"groups": "{1}", "domain": {"name": "Default"}}],
        "remote": [{"type": "HTTP_OIDC_EMAIL"}, {"type": "HTTP_OIDC_GROUPS"}],
    },
    {
        "local": [{"group": {"name": "operators", "domain": {"name": "Default"}}}],
        "remote": [{"type": "HTTP_OIDC_GROUPS", "any_one_of": ["ops"]}],
    },
]


@pytest.mark.parametrize("series", SERIES)
@pytest.mark.parametrize("name", ["identity-oidc", "identity-two-providers", "identity-oidc-directives"])
def test_each_of_several_groups_of_a_user_reaches_keystones_mapping(
    charts: Path, series: str, name: str
) -> None:
    apache = file(made(charts, "keystone", identity(name, https=True)), "wsgi-keystone.conf")
    claims = {"email": "ada@example.org", "groups": ["staff", "ops", "a, b"]}
    of_ours = variables(apache, claims)
    by_default = variables(apache.replace("OIDCClaimDelimiter", "#"), claims)
    first, second = load(series, "keystone", "mapped", rules=GROUPS, requests=[of_ours, by_default])
    assert {one["name"] for one in first["group_names"]} == {"staff", "ops", "a, b", "operators"}
    # So it would be without the delimiter.
    assert {one["name"] for one in second["group_names"]} == {"staff,ops,a, b"}


def test_the_page_puts_users_into_those_of_the_providers_groups_that_it_names() -> None:
    [document] = blocks("sign-in.md", "Groups of the provider")
    [provider] = document["spec"]["features"]["identity"]["federation"]["providers"]
    request = {"HTTP_OIDC_EMAIL": "ada@example.org", "HTTP_OIDC_GROUPS": "staff;cloud-users;cloud-admins"}
    [mapped] = load("2026.1", "keystone", "mapped", rules=provider["mapping"], requests=[request])
    assert mapped["user"]["name"] == "ada@example.org"
    assert {one["name"] for one in mapped["group_names"]} == {"cloud-users", "cloud-admins"}


def test_further_directives_are_added_and_take_the_place_of_ours(charts: Path) -> None:
    keystone = made(charts, "keystone", identity("identity-oidc-directives", https=True))
    apache = file(keystone, "wsgi-keystone.conf")
    assert re.findall(r"^ +(OIDC(?:Session|PassC)\w+ .*)$", apache, re.M) == [
        "OIDCPassClaimsAs environment",
        'OIDCSessionType "server-cache"',
    ]


def test_each_of_several_providers_has_its_files_and_its_address(charts: Path) -> None:
    keystone = made(charts, "keystone", identity("identity-two-providers", https=True))
    apache = file(keystone, "wsgi-keystone.conf")
    assert "OIDCProviderMetadataURL" not in apache
    issuers = re.findall(r"websso>\n.*\n +OIDCDiscoverURL (\S+)", apache)
    place = "https://identity.it.just.works/v3/OS-FEDERATION/redirect?iss="
    assert issuers == [
        f"{place}https%3A%2F%2Flogin.example.org",
        f"{place}https%3A%2F%2Fsso.example.com%2Frealms%2Fone%2F",
    ]
    [pod] = [
        spec
        for obj, spec in production.pod_specs(keystone)
        if obj["kind"] == "Deployment" and obj["metadata"]["name"] == "keystone-api"
    ]
    [volume] = [one for one in pod["volumes"] if one["name"] == "oidc-providers"]
    paths = {item["path"]: item["key"] for item in volume["secret"]["items"]}
    assert set(paths) == {
        f"{issuer}.{kind}"
        for issuer in ("login.example.org", "sso.example.com%2Frealms%2Fone")
        for kind in ("provider", "client", "conf")
    }
    client = json.loads(file(keystone, paths["sso.example.com%2Frealms%2Fone.client"]))
    assert client == {"client_id": 'a"{{client}}', "client_secret": "made-up-secret-oidc-partners-secret"}
    assert json.loads(file(keystone, paths["login.example.org.conf"])) == {"scope": "openid email profile"}


def test_a_directory_is_trusted_by_the_authority_that_is_named(charts: Path) -> None:
    domains = [LDAP, {**LDAP, "name": "guests", "caSecret": "guests-ca"}]
    keystone = made(charts, "keystone", {"identity": {"ldap": {"domains": domains}}})
    assert '"tls_cacertfile":"/etc/ldap-ca/0/ca.crt"' in file(keystone, "keystone.guests.json")
    assert "tls_cacertfile" not in file(keystone, "keystone.staff.json")
    [pod] = [
        spec
        for obj, spec in production.pod_specs(keystone)
        if obj["kind"] == "Deployment" and obj["metadata"]["name"] == "keystone-api"
    ]
    assert {"name": "ldap-ca-0", "mountPath": "/etc/ldap-ca/0", "readOnly": True} in pod["containers"][0][
        "volumeMounts"
    ]


def test_a_session_of_the_dashboard_is_known_to_each_of_its_pods(charts: Path) -> None:
    horizon = made(charts, "horizon", {})
    settings = file(horizon, "local_settings")
    # Servers of memcached hold each what it was given, and every pod of the dashboard is led to another one.
    assert "SESSION_ENGINE = 'django.contrib.sessions.backends.db'" in settings
    assert re.search(r"DATABASES = \{\s+'default'", settings)
    [one] = [
        spec for obj, spec in production.pod_specs(horizon) if obj["metadata"]["name"] == "horizon-db-sync"
    ]
    assert one["containers"][0]["command"] == ["/tmp/db-sync.sh"]  # which makes the table


@pytest.mark.parametrize("traffic", [[], ["database"]], ids=["in-clear", "encrypted"])
def test_sessions_that_have_expired_are_deleted(charts: Path, traffic: list[str]) -> None:
    tls = {"internal": {"enabled": bool(traffic), "issuer": "ca", "caSecret": "ca", "traffic": traffic}}
    horizon = made(charts, "horizon", {"tls": tls} if traffic else {})
    [(job, pod)] = [
        (obj, spec)
        for obj, spec in production.pod_specs(horizon)
        if obj["metadata"]["name"] == "horizon-clear-sessions"
    ]
    assert (job["kind"], job["spec"]["concurrencyPolicy"]) == ("CronJob", "Forbid")
    [container] = pod["containers"]
    assert "manage.py clearsessions" in container["command"][-1]
    files = {one["mountPath"] for one in container["volumeMounts"]}
    assert {"/etc/openstack-dashboard/local_settings", "/tmp/manage.py"} <= files
    assert ("/etc/mysql/certs/ca.crt" in files) == bool(traffic)
    assert {one["name"] for one in container["volumeMounts"]} == {one["name"] for one in pod["volumes"]}


def test_settings_of_the_dashboard_are_python(charts: Path) -> None:
    given = {"EXAMPLE": {"on": True, "off": [False]}}
    settings = file(made(charts, "horizon", {"dashboard": {"settings": given}}), "local_settings")
    assert 'EXAMPLE = {"off":[0],"on":1}' in settings
    compile(settings, "local_settings", "exec")
    assert not re.search(r"^\w+ = (true|false|null)$", settings, re.M)
