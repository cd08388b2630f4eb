"""Refuses values that hold a password in clear: chart defaults are full of `password: password`."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping
from typing import Any

from controller.domain.api.spec_rules.values import PASSWORD_IN_CLEAR
from controller.domain.values.chart_values import DocumentPath, Values, format_path, is_secret_ref, lookup
from controller.domain.values.layer_order import SpecSource
from controller.domain.values.merge import MergedValues
from controller.domain.values.names.known_names import Service
from controller.domain.values.names.secret_options import secret_options
from controller.errors import Problem

# Names whose value is the secret itself; `secret_name`, `user_secret_name` … name a Kubernetes Secret.
_SECRET_KEY = re.compile(
    r"(^|[_.-])(password|passwd|passphrase|pass|secret|shared_secret|secret_key|access_key|encryption_key"
    r"|private_key|api_?key|api_?token|erlang_cookie|tmpurlkey|admin_keyring|heartbeat_key|kek|auth_token|token)$",
    re.IGNORECASE,
)
_WORD_BEGINS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
# Of camelCase names that end in Secret, most name one (existingSecret, credentialsSecret).
_NAMES_SECRET = re.compile(
    r"(?<!(?i:client|shared))(?<!(?i:consumer))(?<!(?i:app|api))(?<!(?i:application))Secret$"
)
_CREDENTIALS = re.compile(r"(^|_)credentials?$", re.IGNORECASE)
_USER_AND_PASSWORD = re.compile(r"^[^\s:/]+:[^\s:/]+$")
_CREDENTIALS_IN_URL = re.compile(r"[a-z][a-z0-9+.-]*://[^/\s:@]*:[^/\s:@{}$%<>]+@", re.IGNORECASE)
_PRIVATE_KEY = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----")
_SECRET_OBJECT = re.compile(r"""^\s*["']?kind["']?:\s*["']?Secret["']?\s*,?\s*$""", re.MULTILINE)
_Fields = Mapping[tuple[str | int, Any], list[DocumentPath]]
# Words that stand where a secret could, and are none.
_HARMLESS = frozenset(("", "none", "null", "true", "false", "<none>", "<service default>"))


def literal_secrets(values: Values, service: Service | None = None) -> Iterator[DocumentPath]:
    """Paths of all leaves that look like a secret in clear, in the order of the values.

    What only names a plug-in of the `service` is none.

    A leaf counts when its key names a secret and it is a non-empty string or number that is no
    reference; when its text holds a private key, a URL with a password or a whole Secret; and when it is
    the data of an object of the kind Secret. Names with a colon are rules of oslo.policy. In an object of
    Kubernetes camelCase names are fields of its API, which name keys and Secrets.
    """
    guessed = _walk(dict(values), (), in_object=False)
    if service is None or not service.sections:
        yield from guessed
        return
    yield from (path for path in guessed if not _is_no_secret(values, path, service))


def set_secrets(merged: MergedValues, service: Service) -> Iterator[DocumentPath]:
    """Options with a text in clear that the packages call secret, whatever their names are, except for the
    chart's own defaults."""
    found = _of_options(merged.values, service) if service.sections else ()
    yield from (path for path in found if merged.history.setting_of(path) is not None)


def _of_options(values: Values, service: Service) -> Iterator[DocumentPath]:
    """The options that the packages call secret, with a text in clear."""
    for path, value in secret_options(values, service):
        yield from _texts_below(value, path)


def _texts_below(value: Any, path: DocumentPath) -> Iterator[DocumentPath]:
    if is_secret_ref(value):
        return
    if isinstance(value, dict):
        yield from _texts_below(value.get("values"), (*path, "values"))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _texts_below(item, (*path, index))
    elif _literal(value) and not _is_open_address(value) and not _names_file(str(path[-1]), value):
        yield path


def _is_open_address(value: Any) -> bool:
    """Whether it is a URL without a password."""
    return isinstance(value, str) and "://" in value and not _CREDENTIALS_IN_URL.search(value)


def _is_no_secret(values: Values, path: DocumentPath, service: Service) -> bool:
    """Whether a leaf that was guessed by its name is an option that names a plug-in. Of others the guess
    stands: packages do not call each of their tokens a secret."""
    option = service.files.option_of(path)
    if option is None or _shows_secret(lookup(values, path)):
        return False
    return service.names_plugin(option[1])


def password_problems(
    release: str, merged: MergedValues, spec: SpecSource, service: Service | None = None
) -> list[Problem]:
    """A problem for each secret in clear that a release would get, with the place to edit.

    That is the field that the operator wrote, also where a template of ours passed it on.
    """
    chosen = () if service is None else set_secrets(merged, service)
    found = list(dict.fromkeys((*literal_secrets(merged.values, service), *chosen)))
    fields = _secret_fields(spec) if found else {}
    return [_problem(release, merged, path, fields) for path in found]


def _problem(release: str, merged: MergedValues, path: DocumentPath, fields: _Fields) -> Problem:
    origin = source = ""
    shown = f"{release}: {format_path(path)}"
    setting = merged.history.setting_of(path)
    if setting is None:
        origin = ", from the chart's defaults"
    else:
        shown, source = setting.origin.full_path(path), setting.origin.place(path)
        value = lookup(merged.values, path)
        candidates = fields.get((path[-1], value)) or fields.get(("", value))
        if candidates and not shown.startswith("spec."):
            # Of fields with one value each is named once, in their order; the last one from then on.
            field = candidates.pop(0) if len(candidates) > 1 else candidates[0]
            shown, source = format_path(field), ""  # whoever knows the file adds the line
    return PASSWORD_IN_CLEAR.at(shown, source=source, release=release, origin=origin)


def _secret_fields(spec: SpecSource) -> _Fields:
    """The fields of `spec.features` that may be secrets, by their key and value, and by value alone. They are
    as written, because problems name their places."""
    features = spec.spec.get("features") or {}
    fields: dict[tuple[str | int, Any], list[DocumentPath]] = {}
    for path in literal_secrets(features):
        fields.setdefault(("", lookup(features, path)), []).append(("spec", "features", *path))
    for path in _leaf_paths(features, ()):
        fields.setdefault((path[-1], lookup(features, path)), []).append(("spec", "features", *path))
    return fields


def _leaf_paths(value: Any, path: DocumentPath) -> Iterator[DocumentPath]:
    items = (
        value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else ()
    )
    for key, item in items:
        yield from _leaf_paths(item, (*path, key))
    if path and not isinstance(value, Mapping | list):
        yield path


def _walk(value: Any, path: DocumentPath, *, in_object: bool) -> Iterator[DocumentPath]:
    """As `literal_secrets`. Every value of a region comes by here: what is cheap to ask is asked first."""
    if isinstance(value, dict):
        if is_secret_ref(value):
            return
        named = value.get("name")
        if (
            isinstance(named, str)
            and "value" in value
            and _says_secret(named, value["value"], in_object=in_object)
        ):
            yield (*path, "value")
        if value.get("kind") == "Secret":
            yield from _data_of_secret(value, path)
            return
        in_object = in_object or ("apiVersion" in value and "kind" in value)
        for key, item in value.items():
            if isinstance(item, dict | list):
                yield from _walk(item, (*path, key), in_object=in_object)
            elif (
                _says_secret(key, item, in_object=in_object) and not _names_file(key, item)
            ) or _shows_secret(item):
                yield (*path, key)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            if isinstance(item, dict | list):
                yield from _walk(item, (*path, index), in_object=in_object)
            elif _shows_secret(item):
                yield (*path, index)


def _says_secret(key: str, value: Any, *, in_object: bool) -> bool:
    """Whether a key by this name would have a secret for its value, and has one in clear."""
    if value is None or isinstance(value, bool | dict | list):
        return False
    of_credentials, of_secret, of_field = _meanings(key)
    if not (of_credentials or of_secret or of_field) or not _literal(value):
        return False
    if of_credentials:
        return isinstance(value, str) and bool(_USER_AND_PASSWORD.match(value))
    return of_secret if in_object else of_secret or of_field


def names_secret(key: str) -> bool:
    """Whether a key by this name usually has a secret for its value."""
    return any(_meanings(key))


@functools.lru_cache(maxsize=8192)  # the same few thousand keys in every rendering
def _meanings(key: str) -> tuple[bool, bool, bool]:
    """Whether the key names credentials, a secret, or a secret if it is no field of Kubernetes."""
    if ":" in key:
        return False, False, False
    camel_case = not _NAMES_SECRET.search(key) and bool(_SECRET_KEY.search(_WORD_BEGINS.sub("_", key)))
    return bool(_CREDENTIALS.search(key)), bool(_SECRET_KEY.search(key)), camel_case


def _data_of_secret(obj: Mapping[str, Any], path: DocumentPath) -> Iterator[DocumentPath]:
    for part in ("data", "stringData"):
        content = obj.get(part)
        if isinstance(content, Mapping) and not is_secret_ref(content):
            yield from ((*path, part, key) for key, item in content.items() if _literal(item))


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


def _shows_secret(value: Any) -> bool:
    # The words that each shape has spare nearly every text the search.
    return (
        isinstance(value, str)
        and len(value) > 8
        and (
            ("://" in value and _CREDENTIALS_IN_URL.search(value) is not None)
            or ("PRIVATE KEY" in value and _PRIVATE_KEY.search(value) is not None)
            or ("Secret" in value and _SECRET_OBJECT.search(value) is not None)
        )
    )
