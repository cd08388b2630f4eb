"""References to secrets in values are found, resolved into a copy, and told when they cannot be."""

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

STORE = {("identity-credentials", "admin-password"): "S3cr3tAdmin", ("own", "empty"): ""}


def lookup(name: str, key: str) -> str | None:
    return STORE.get((name, key))


def ref(name: str, key: str) -> dict[str, Any]:
    return {"$secretRef": {"name": name, "key": key}}


def test_references_are_found_in_maps_and_lists_with_their_paths() -> None:
    values = {"auth": {"a.b": [{"password": ref("s", "k")}]}, "plain": "x"}
    assert find_references(values) == (SecretReference(("auth", "a.b", 0, "password"), "s", "k"),)
    assert secret_names(values) == {"s"}


def test_resolving_gives_a_copy_with_texts_and_tells_which_came_in() -> None:
    values = {"auth": {"admin": {"password": ref("identity-credentials", "admin-password")}}, "n": [1]}
    before = copy.deepcopy(values)
    resolved = resolve(values, lookup)
    assert resolved.values == {"auth": {"admin": {"password": "S3cr3tAdmin"}}, "n": [1]}
    assert resolved.secrets == {"S3cr3tAdmin"}
    assert values == before
    assert resolved.values["n"] is not values["n"]


def test_resolved_values_are_not_shown_by_their_representation() -> None:
    assert "S3cr3t" not in repr(resolve({"p": ref("identity-credentials", "admin-password")}, lookup))


@pytest.mark.parametrize(("name", "key"), [("gone", "k"), ("identity-credentials", "gone"), ("own", "empty")])
def test_a_missing_or_empty_key_is_an_error_that_names_it(name: str, key: str) -> None:
    with pytest.raises(SecretMissing) as caught:
        resolve({"p": ref(name, key)}, lookup, release="nova")
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
        resolve({"a": [leaf]}, lookup)
    assert [problem.path for problem in caught.value.problems] == ["a[0]"]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text().filter(lambda key: key[:1] != "$"), inner),
    max_leaves=10,
)


@given(st.dictionaries(st.text().filter(lambda key: key[:1] != "$"), JSON))
def test_values_without_references_come_back_equal(values: dict[str, Any]) -> None:
    assert resolve(values, lookup).values == values
    assert resolve(values, lookup).secrets == frozenset()
