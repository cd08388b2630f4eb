"""Keys of ours that a build of a chart does not have."""

from __future__ import annotations

from typing import Any

import pytest

from controller.domain.values.layer import Layer
from controller.domain.values.names.unknown_keys import OpenMaps, known_part

OPEN = OpenMaps.of({"files": ["conf.nova.*", "endpoints.*.host_fqdn_override.public"]})
DEFAULTS = {"conf": {"nova": {}}, "manifests": {"job": True}, "size": 1, "endpoints": {"api": {}}}
SECRET = {"$secretRef": {"name": "a", "key": "b"}}


@pytest.mark.parametrize(
    ("ours", "kept", "needed", "left_out"),
    [
        ({"size": 2, "manifests": {"job": False}}, {"size": 2, "manifests": {"job": False}}, (), ()),
        ({"conf": {"nova": {"DEFAULT": {"a": 1}}}}, {"conf": {"nova": {"DEFAULT": {"a": 1}}}}, (), ()),
        ({"conf": {"other": {"a": 1}}}, {"conf": {}}, (), ("conf.other",)),
        ({"size": 2, "new": {"a": 1}}, {"size": 2}, (), ("new",)),
        ({"manifests": {"statefulset": True}}, {"manifests": {}}, ("manifests.statefulset",), ()),
        ({"manifests": {"statefulset": False}}, {"manifests": {}}, (), ("manifests.statefulset",)),
        ({"endpoints": {"db": {"auth": [SECRET]}}}, {"endpoints": {}}, ("endpoints.db",), ()),
        ({"gone": None, "off": {"$patch": "delete"}}, {}, (), ()),
        ({"conf": {"$patch": "replace", "a.b": 1}}, {"conf": {"$patch": "replace"}}, (), ('conf["a.b"]',)),
    ],
)
def test_what_a_chart_does_not_know_is_taken_out_and_named(
    ours: dict[str, Any], kept: dict[str, Any], needed: tuple[str, ...], left_out: tuple[str, ...]
) -> None:
    part = known_part(Layer("ours", ours), DEFAULTS, OPEN)

    assert (part.layer.values, part.needed, part.left_out) == (kept, needed, left_out)


def test_a_star_stands_for_one_key() -> None:
    assert ("conf", "nova", "DEFAULT") in OPEN
    assert ("conf", "nova", "DEFAULT", "a") not in OPEN
    assert ("conf", "nova") not in OPEN
