"""Several OpenID Connect providers, in the form that Apache's module for them wants. Pure.

Its files are those of github.com/OpenIDC/mod_auth_openidc/wiki/Multiple-Providers; how a browser comes to the
provider of its choice is Keystone's own way (docs.openstack.org/keystone, configure_federation).
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

Providers = Sequence[Mapping[str, Any]]

_API = "/v3/OS-FEDERATION/identity_providers"
_WEB = "/v3/auth/OS-FEDERATION"
# Keystone takes a claim of several values apart at each semicolon (keystone/federation/utils.py,
# RuleProcessor); the module joins them with a comma unless it is given another sign.
_DIRECTIVES = {
    "OIDCClaimPrefix": "OIDC-",
    "OIDCClaimDelimiter": '";"',
    "OIDCResponseType": '"code"',
    "OIDCSessionType": "client-cookie",
    "OIDCXForwardedHeaders": "X-Forwarded-Proto",
}
_FILES = ("provider", "client", "conf")


def federation_commands(providers: Providers) -> list[str]:
    """Lines of a script that make each provider, its mapping and its protocol in Keystone, or change them.

    Keystone compares the issuer with what tokens say, to the letter: that of the metadata goes before."""
    lines = []
    for provider in providers:
        name, issuer = shlex.quote(provider["name"]), shlex.quote(_exact_issuer(provider))
        show, remote = f"openstack identity provider show {name}", f"--remote-id {issuer} {name}"
        protocol = f"openstack federation protocol show --identity-provider {name} openid"
        create = f"openstack federation protocol create --identity-provider {name} --mapping {name} openid"
        rules = "--rules /tmp/mapping.json"
        lines += [
            "cat > /tmp/mapping.json <<'END_OF_MAPPING'",
            json.dumps(provider["mapping"], ensure_ascii=False, sort_keys=True),
            "END_OF_MAPPING",
            f"if {show}; then openstack identity provider set {remote}"
            f"; else openstack identity provider create {remote}; fi",
            f"if openstack mapping show {name}; then openstack mapping set {rules} {name}"
            f"; else openstack mapping create {rules} {name}; fi",
            f"{protocol} || {create}",
        ]
    return lines


def _exact_issuer(provider: Mapping[str, Any]) -> str:
    return str((provider.get("metadata") or {}).get("issuer") or provider["issuer"])


def federation_directives(given: Sequence[str]) -> list[str]:
    """Lines of Apache's configuration that say how the module works: ours, and those that are `given` in the
    place of ours of the same name."""
    names = {line.split()[0].lower() for line in given}
    ours = [f"{name} {value}" for name, value in _DIRECTIVES.items() if name.lower() not in names]
    return [f"    {line}" for line in (*ours, *given)]


def federation_locations(
    providers: Providers, keystone: str, redirect: str, given: Sequence[str] = ()
) -> list[str]:
    """Lines of Apache's configuration that ask for a sign-in: at the one provider, or at that of the address.

    `keystone` is the public address, `redirect` the path that providers send browsers back to. The API also
    takes access tokens if one of the `given` directives says how the module verifies them."""
    several = len(providers) > 1
    takes_tokens = any(line.lower().startswith("oidcoauth") for line in given)
    of_tokens = "auth-openidc" if takes_tokens else "openid-connect"
    lines = _location(f"^{redirect}$", "") if several else []
    for provider in providers:
        name = provider["name"]
        discover = f"{keystone}{redirect}?iss={quote(provider['issuer'], safe='')}" if several else ""
        of_api = "auth" if several else "(auth|redirect)"
        of_web = f"identity_providers/{name}/protocols/openid/websso"
        lines += _location(f"{_API}/{name}/protocols/openid/{of_api}", discover, of_tokens)
        lines += _location(f"{_WEB}/{of_web if several else f'(websso/openid|{of_web})'}", discover)
    return lines


def _location(path: str, discover: str, kind: str = "openid-connect") -> list[str]:
    return [
        f"    <LocationMatch {path}>",
        f"        AuthType {kind}",
        *([f"        OIDCDiscoverURL {discover}"] if discover else []),
        "        Require valid-user",
        "    </LocationMatch>",
    ]


def federation_files(providers: Providers) -> list[dict[str, str]]:
    """The files of a volume: keys of the Secret, and the names by which the module looks for an issuer."""
    return [
        {"key": f"{place}.{kind}", "path": f"{_file_name(provider['issuer'])}.{kind}"}
        for place, provider in enumerate(providers)
        for kind in _FILES
    ]


def federation_secret(providers: Providers) -> dict[str, str]:
    """The data of the Secret, for a value that Helm renders: all of it stands in `conf.oidc_clients`."""
    data: dict[str, str] = {}
    for place, provider in enumerate(providers):
        own = f'(index .Values.conf.oidc_clients "{provider["name"]}")'
        texts = {
            "provider": f"{own}.metadata",
            "client": f'dict "client_id" {own}.id "client_secret" {own}.secret',
            "conf": f'dict "scope" {own}.scope',
        }
        data |= {f"{place}.{kind}": f"{{{{ {text} | toJson | b64enc }}}}" for kind, text in texts.items()}
    return data


def _file_name(issuer: str) -> str:
    return quote(issuer.removeprefix("https://").rstrip("/"), safe="")
