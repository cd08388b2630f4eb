"""References to secrets in values are found, resolved into a copy, and reported when they cannot be."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.domain.values.secret_refs import (
    SecretReference,
    find_references,
    resolve,
    secret_names,
)
from controller.errors import SecretMissing, SpecInvalid
from tests.fakes.option_files import option_files

STORE = {
    ("identity-credentials", "admin-password"): "S3cr3tAdmin",
    ("own", "empty"): "",
    ("own", "dollar"): "pa$$w$ord",
}


def lookup(name: str, key: str) -> str | None:
    return STORE.get((name, key))


def ref(name: str, key: str) -> dict[str, Any]:
    return {"$secretRef": {"name": name, "key": key}}


def test_references_are_found_in_maps_and_lists_with_their_paths() -> None:
    values = {"auth": {"a.b": [{"password": ref("s", "k")}]}, "plain": "x"}
    assert find_references(values) == (SecretReference(("auth", "a.b", 0, "password"), "s", "k"),)
    assert secret_names(values) == {"s"}


def test_resolving_gives_a_copy_with_texts_and_shows_which_came_in() -> None:
    values = {"auth": {"admin": {"password": ref("identity-credentials", "admin-password")}}, "n": [1]}
    before = copy.deepcopy(values)
    resolved = resolve(values, lookup, option_files())
    assert resolved.values == {"auth": {"admin": {"password": "S3cr3tAdmin"}}, "n": [1]}
    assert resolved.secrets == {"S3cr3tAdmin"}
    assert values == before
    assert resolved.values["n"] is not values["n"]


def test_resolved_values_are_not_shown_by_their_representation() -> None:
    assert "S3cr3t" not in repr(
        resolve({"p": ref("identity-credentials", "admin-password")}, lookup, option_files())
    )


@pytest.mark.parametrize(("name", "key"), [("gone", "k"), ("identity-credentials", "gone"), ("own", "empty")])
def test_a_missing_or_empty_key_is_an_error_that_names_it(name: str, key: str) -> None:
    with pytest.raises(SecretMissing) as caught:
        resolve({"p": ref(name, key)}, lookup, option_files(), release="nova")
    assert str(caught.value) == f'Secret "{name}" has no key "{key}", and release nova needs it'


@pytest.mark.parametrize(
    "leaf",
    [
        {"$secretRef": None},
        {"$secretRef": "name/key"},
        {"$secretRef": {"name": "x"}},
        {"$secretRef": {"name": "x", "key": ""}},
        {"$secretRef": {"name": "x", "key": 7}},
        {"$secretRef": {"name": "x", "key": "y", "optional": True}},
        {"$secretRef": {"name": "x", "key": "y"}, "beside": 1},
    ],
)
def test_a_malformed_reference_is_a_problem_with_its_path(leaf: dict[str, Any]) -> None:
    with pytest.raises(SpecInvalid) as caught:
        resolve({"a": [leaf]}, lookup, option_files())
    assert [problem.path for problem in caught.value.problems] == ["a[0]"]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text().filter(lambda key: key[:1] != "$"), inner),
    max_leaves=10,
)


@pytest.mark.slow
@given(st.dictionaries(st.text().filter(lambda key: key[:1] != "$"), JSON))
def test_values_without_references_come_back_equal(values: dict[str, Any]) -> None:
    assert resolve(values, lookup, option_files()).values == values
    assert resolve(values, lookup, option_files()).secrets == frozenset()


@pytest.mark.parametrize(
    "path",
    [
        "conf.nova.neutron.metadata_proxy_shared_secret",
        "conf.backends.fast.san_password",
        "conf.plugins.ml2_conf.ovn.token",
        "conf.ks_domains.staff.ldap.password",
        "conf.overrides.nova_compute.conf.nova.DEFAULT.token",
    ],
)
def test_a_dollar_sign_is_doubled_in_a_file_of_oslo_config(path: str) -> None:
    resolved = resolve(nested(path, ref("own", "dollar")), lookup, option_files())
    assert resolved.values == nested(path, "pa$$$$w$$ord")
    assert resolved.secrets == {"pa$$w$ord", "pa$$$$w$$ord"}


@pytest.mark.parametrize(
    "path",
    [
        "endpoints.oslo_db.auth.nova.password",
        "conf.horizon.local_settings.config.horizon_secret_key",
        "conf.rabbitmq.ssl_options.password",
        "conf.nova.token",
        "conf",
    ],
)
def test_a_dollar_sign_stays_as_it_is_elsewhere(path: str) -> None:
    values = nested(path, ref("own", "dollar"))
    assert resolve(values, lookup, option_files(), upstream=True).values == nested(path, "pa$$w$ord")


@pytest.mark.parametrize(
    "path", ["endpoints.identity.auth.nova.password", "endpoints.oslo_cache.auth.memcache_secret_key"]
)
def test_what_upstream_writes_into_files_as_it_is_may_have_no_dollar_sign(path: str) -> None:
    values = nested(path, ref("own", "dollar"))
    with pytest.raises(SpecInvalid) as caught:
        resolve(values, lookup, option_files(), upstream=True)
    assert str(caught.value) == (
        f'{path}: key "dollar" of Secret "own" has a "$", which this chart cannot write into a file; '
        "put a text without it into the Secret"
    )
    # The charts of the image write it as oslo.config has to read it.
    assert resolve(values, lookup, option_files()).values == nested(path, "pa$$w$ord")


def test_the_administrators_password_is_in_no_file_of_a_chart() -> None:
    path = "endpoints.identity.auth.admin.password"
    values = nested(path, ref("own", "dollar"))
    assert resolve(values, lookup, option_files(), upstream=True).values == nested(path, "pa$$w$ord")


def nested(path: str, value: Any) -> dict[str, Any]:
    """The value at a path of names joined by dots."""
    for key in reversed(path.split(".")):
        value = {key: value}
    assert isinstance(value, dict)
    return value


OPTION = ("conf", "nova", "DEFAULT", "metadata_proxy_shared_secret")


def put(path: tuple[str, ...], leaf: Any) -> dict[str, Any]:
    whole: Any = leaf
    for key in reversed(path):
        whole = {key: whole}
    found: dict[str, Any] = whole
    return found


@pytest.mark.parametrize("text", ["a\n[DEFAULT]\ndebug = true", "a\rb", "a\0b", "a\x1bb", "a\u2028b"])
@pytest.mark.parametrize(
    "path",
    [
        OPTION,
        ("conf", "ks_domains", "users", "ldap", "password"),
        ("conf", "libvirt", "listen_addr"),
        ("conf", "paste", "filter:one", "key"),
        ("endpoints", "oslo_db", "auth", "nova", "password"),
        ("endpoints", "oslo_messaging", "auth", "erlang_cookie"),
    ],
)
def test_what_would_be_more_than_one_option_is_refused_and_not_quoted(
    path: tuple[str, ...], text: str
) -> None:
    with pytest.raises(SpecInvalid) as caught:
        resolve(put(path, ref("own", "text")), lambda _, __: text, option_files())
    [problem] = caught.value.problems
    assert problem.path.endswith(path[-1]) and "debug" not in str(caught.value)
    assert problem.message.startswith('key "text" of Secret "own" has several lines or control characters')
    assert problem.remedy == "put one line of text into the Secret"


def test_keys_and_files_have_lines() -> None:
    values = {"network": {"ssh": {"private_key": ref("own", "text")}}, "conf": {"file": ref("own", "text")}}
    assert resolve(values, lambda _, __: "a\nb\n", option_files()).secrets == {"a\nb\n"}
