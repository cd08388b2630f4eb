"""Digests change when and only when what they stand for changes, and give nothing away."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.domain.releases.bundle import ChartRef
from controller.domain.releases.digests import (
    NotJson,
    canonical_json,
    fingerprint,
    secret_digest,
    spec_digest,
    values_digest,
)

KEY = b"k" * 32
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


def shuffled(value: Any) -> Any:
    """The same value with the keys of every map in reverse order."""
    if isinstance(value, dict):
        return {key: shuffled(value[key]) for key in reversed(value)}
    if isinstance(value, list):
        return [shuffled(part) for part in value]
    return value


@pytest.mark.slow
@given(st.dictionaries(st.text(), JSON))
def test_the_order_of_keys_does_not_matter(values: dict[str, Any]) -> None:
    expected = values_digest("sha256:c", "1", values, KEY)
    assert values_digest("sha256:c", "1", shuffled(values), KEY) == expected


@pytest.mark.parametrize(
    "other",
    [
        ("sha256:d", "1", {"a": 1}, KEY),
        ("sha256:c", "2", {"a": 1}, KEY),
        ("sha256:c", "1", {"a": "1"}, KEY),
        ("sha256:c", "1", {"a": True}, KEY),
        ("sha256:c", "1", {"a": 1, "b": None}, KEY),
        ("sha256:c", "1", {"a": 1}, b"x" * 32),
    ],
)
def test_every_part_counts(other: tuple[str, str, dict[str, Any], bytes]) -> None:
    assert values_digest(*other) != values_digest("sha256:c", "1", {"a": 1}, KEY)


def test_a_digest_is_the_same_in_every_process_and_version() -> None:
    # A changed digest upgrades every release of every region: only a conscious change may do that.
    expected = "1e3d3d96ac6969c3f06c8d5bb45a1d440522b8f64dd921243d43f4f26c04c294"
    assert values_digest("sha256:c", "1", {"b": [1, 2.5, None], "a": {"ä": "ß"}}, KEY) == expected


@pytest.mark.parametrize(
    "value", [{1: "x"}, {"a": {True: 1}}, {"a": float("nan")}, {"a": float("inf")}, {"a": b"x"}]
)
def test_what_json_cannot_carry_is_refused_without_showing_it(value: dict[Any, Any]) -> None:
    with pytest.raises(NotJson) as caught:
        canonical_json(value)
    assert "b'x'" not in str(caught.value)


def test_a_lone_surrogate_is_refused_not_a_crash() -> None:
    with pytest.raises(NotJson):
        canonical_json({"a": "\ud800"})


def test_kinds_of_digests_never_meet() -> None:
    assert secret_digest({"a": "1"}, KEY) != values_digest("", "", {"a": "1"}, KEY)


def test_a_fingerprint_names_its_algorithm() -> None:
    one, other = {"size": "single", "preset": "core"}, {"preset": "core", "size": "single"}
    assert fingerprint(one) == fingerprint(other)
    assert fingerprint({}).startswith("sha256:")
    assert len(fingerprint({})) == len("sha256:") + 64


def test_what_is_asked_for_is_another_release_without_a_template() -> None:
    whole = ChartRef("keystone", path="keystone")
    without = ChartRef("keystone", path="keystone", omit_templates=("templates/certificates.yaml",))
    assert spec_digest(whole, {}, KEY) != spec_digest(without, {}, KEY)
