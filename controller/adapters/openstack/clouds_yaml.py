"""Reads a clouds.yaml for openstacksdk.

A person's own file may have keys that openstacksdk only reads from files. They are omitted if nothing depends
on them, and refused if they name something that is not in the Secret. Keys: openstacksdk,
openstack/config/schema.json and doc/source/user/config/configuration.rst.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from controller.domain.shared.lenient_yaml import read_document
from controller.errors import CloudMissing, CloudRefused

_LEFT_OUT = frozenset(
    (
        # Set by us: timeouts, number of connections, and user agent.
        *("api_timeout", "timeout", "timing", "rate_limit", "app_name", "app_version", "use_direct_get"),
        # Parameters of openstack.connect and the functions that it calls.
        *("options", "argparse", "validate", "service_key", "load_yaml_config", "load_envvars"),
        *("cloud_name", "cloud_config"),
        # They do not describe the cloud, or make openstacksdk run or read something else.
        *("metrics", "cache", "vendor_hook", "message", "status"),
        *("networks", "external_network", "internal_network"),
    )
)
# Settings of any service, or of all.
_LEFT_OUT_OF_SERVICES = (
    "default_microversion",
    "connect_retries",
    "connect_retry_delay",
    "status_code_retries",
    "status_code_retry_delay",
    "retriable_status_codes",
)
_ELSEWHERE = ("profile", "cloud")
_FILES = ("cacert", "cert", "key")
_AUTHORITY_HINT = "; put an authority into the same Secret under ca.crt"
_INTERFACES = ("public", "internal", "admin")
# Settings of a login outside `auth`: openstacksdk also accepts these at the top.
_OF_A_LOGIN = (
    *("auth_url", "username", "user_name", "user_id", "user_domain_id", "user_domain_name", "password"),
    *("project_id", "project_name", "project_domain_id", "project_domain_name", "tenant_id", "tenant_name"),
    *("domain_id", "domain_name", "default_domain_id", "default_domain_name", "system_scope", "trust_id"),
    *("application_credential_id", "application_credential_name", "application_credential_secret"),
    *("token", "passcode"),
)
# All keys that are used from a foreign text: the address of its cloud, and the login. Keys of a newer
# openstacksdk are not added automatically.
_PLAIN = frozenset(
    (
        *("auth", "auth_type", *_OF_A_LOGIN),
        *("region_name", "interface", "endpoint_type", "verify", "insecure", *_FILES),
    )
)
_PLAIN_OF_SERVICES = (
    *("_api_version", "_endpoint", "_endpoint_override"),
    *("_interface", "_region_name", "_service_type", "_service_name"),
)
# Login types that use only the text itself, and run or read nothing else.
_PLAIN_LOGINS = frozenset(
    ("password", "v2password", "v3password", "token", "v3token", "v3applicationcredential", "v3totp")
)


def parse_clouds(
    content: bytes, *, trusted: bool = False, name: str = "", region: str = "", plain: bool = False
) -> Mapping[str, Any]:
    """One cloud of a clouds.yaml as parameters of openstack.connect.

    `name`: its name; by default the only one, or the one named `default`. `region`: its region, empty for the
    one in the text. `trusted`: the authority comes from elsewhere, so `cacert` is ignored. `plain`: the text
    is foreign. It may not name our files, or a login type that does more than send its content; all other
    keys are omitted. Raises CloudMissing if there is no such cloud, and CloudRefused, whose text names the
    key and quotes no value.
    """
    try:
        document = read_document(content, partial(_scalar, yaml.SafeLoader("")))
        clouds = document["clouds"]
        if name and name not in clouds:
            raise CloudMissing(f'the clouds.yaml has no cloud "{name}"')
        only = "default" if "default" in clouds or len(clouds) != 1 else next(iter(clouds))
        chosen = clouds[name or only]
        if not chosen["auth"]["auth_url"]:
            raise KeyError("auth_url")
        given = {key.replace("-", "_"): value for key, value in chosen.items() if value is not None}
    except (yaml.YAMLError, UnicodeDecodeError, TypeError, KeyError, AttributeError):
        # Without the cause, because the text of a parser's error may quote the content.
        raise CloudRefused(
            'the credentials are not a clouds.yaml with one cloud, or with one named "default"'
        ) from None
    chosen_region = _of_region(_narrowed(given, region) if region else given)
    for key in _ELSEWHERE:
        if key in chosen_region:
            raise _as_keywords(
                f"{key} names settings that are not in the Secret; write them into clouds.yaml"
            )
    found = {key: value for key, value in chosen_region.items() if not _is_left_out(key)}
    if plain:
        _judge_login(found, trusted=trusted)
        found = {key: value for key, value in found.items() if _is_plain(key)}
    _judge_values(found, trusted=trusted)
    return found


def _narrowed(given: Mapping[str, Any], region: str) -> Mapping[str, Any]:
    """The settings with that region chosen. Raises CloudMissing if the text lists only others."""
    listed = given.get("regions")
    if isinstance(listed, list) and listed:
        names = [str(one.get("name")) if isinstance(one, dict) else str(one) for one in listed]
        if region not in names:
            raise CloudMissing(f'the clouds.yaml has no region "{region}"')
    return {**given, "region_name": region}


def _judge_login(found: dict[str, Any], *, trusted: bool) -> None:
    """Omits an authority that is not needed.

    Raises CloudRefused if it would use more than the text. It does not check whether a file of this container
    exists, because the answer would reveal that to others.
    """
    if found.get("cacert") and (trusted or _is_blind(found)):
        del found["cacert"]
    for key in _FILES:
        if found.get(key):
            hint = _AUTHORITY_HINT if key == "cacert" else ""
            raise _as_keywords(f"{key} names a file, which this container does not have{hint}")
    if str(found.get("auth_type") or "password") not in _PLAIN_LOGINS:
        raise _as_keywords(f"auth_type must be one of {', '.join(sorted(_PLAIN_LOGINS))}")


def _scalar(known: yaml.SafeLoader, event: Any) -> Any:
    """A value as PyYAML reads it, which openstacksdk uses for files."""
    tag = str(event.tag or "!")
    if tag == "!":
        tag = known.resolve(yaml.ScalarNode, event.value, event.implicit)  # type: ignore[no-untyped-call]
    make = known.yaml_constructors.get(tag)
    if make is None:
        raise ValueError("a tag that is not supported")
    return make(known, yaml.ScalarNode(tag, event.value))


def _as_keywords(what: str) -> CloudRefused:
    return CloudRefused(f"the clouds.yaml cannot be used: {what}")


def _is_left_out(key: str) -> bool:
    return key in _LEFT_OUT or key.endswith(_LEFT_OUT_OF_SERVICES)


def _is_plain(key: str) -> bool:
    return key in _PLAIN or key.endswith(_PLAIN_OF_SERVICES) or key.startswith("has_")


def _of_region(given: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of the one region: `regions` lists names, or names with settings of their own."""
    found = dict(given)
    listed = found.pop("regions", None)
    if not listed:
        return found
    try:
        regions = {
            str(one["name"] if isinstance(one, dict) else one): dict(one.get("values") or {})
            if isinstance(one, dict)
            else {}
            for one in listed
        }
    except (TypeError, KeyError, ValueError):
        raise _as_keywords("regions cannot be read") from None
    desired = str(found.get("region_name") or (next(iter(regions)) if len(regions) == 1 else ""))
    if desired not in regions:
        raise _as_keywords("region_name must be one of its regions")
    own = {str(key).replace("-", "_"): value for key, value in regions[desired].items() if value is not None}
    auth = own.pop("auth", {})
    if not isinstance(auth, Mapping):
        raise _as_keywords("regions cannot be read")
    auth = {**found["auth"], **auth}
    return {**found, **own, "auth": auth, "region_name": desired}


def _judge_values(found: dict[str, Any], *, trusted: bool) -> None:
    """Corrects old forms, and refuses values that openstacksdk would fail on later."""
    old = found.pop("endpoint_type", None)
    interface = str(found.get("interface") or old or "public").removesuffix("URL")
    if interface not in _INTERFACES:
        raise _as_keywords(f"interface must be one of {', '.join(_INTERFACES)}")
    found["interface"] = interface
    for key in ("verify", "insecure"):
        if str(found.get(key, False)).lower() not in ("true", "false"):
            raise _as_keywords(f"{key} must be true or false")
        if key in found:
            found[key] = str(found[key]).lower() == "true"
    for key in _FILES:
        if not found.get(key) or (key == "cacert" and (trusted or _is_blind(found))):
            continue
        if not _is_here(str(found[key])):
            hint = _AUTHORITY_HINT if key == "cacert" else ""
            raise _as_keywords(f"the file that {key} names is not in this container{hint}")


def _is_blind(found: Mapping[str, Any]) -> bool:
    """Whether certificates are not verified."""
    said = {key: str(found.get(key, key == "verify")).lower() for key in ("insecure", "verify")}
    return said["insecure"] == "true" or said["verify"] == "false"


def _is_here(file: str) -> bool:
    try:
        return Path(file).expanduser().is_file()
    except (RuntimeError, OSError, ValueError):
        # A user without a home; an invalid path.
        return False
