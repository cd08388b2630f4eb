"""What core would send, written down for people to review.

`presets/` has whole regions, of the size single and the version 2025.2. The rest has what differs from them,
leaf by leaf, and reads without a tool: `features/` and `pairs/` for features; `matrix/` for every size, every
version, and whatever a size and a version change only together, so that every preset × size × version is
there whole.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import pytest

from controller.domain.values.chart_values import format_path, is_secret_ref, leaves
from tests.render.region import core_spec, render
from tests.render.specs import FEATURES, PAIRS

Golden = Callable[[str, Any], None]
PRESETS = ("core", "compute", "compute-baremetal")
SIZES = ("single", "tiny", "small", "medium", "large")
VERSIONS = ("2025.1", "2025.2", "2026.1")


def sent(**more: Any) -> dict[str, Any]:
    """What is sent for each release, keys in order."""
    region = render(core_spec(**more))
    return {
        release.spec.name: json.loads(json.dumps(release.spec.values, sort_keys=True))
        for bundle in region.bundles
        for release in bundle.releases
    }


def flat(values: Mapping[str, Any]) -> dict[str, Any]:
    """Leaves by path; a reference to a secret as `<name>/<key>`."""
    shown = {}
    for path, value in leaves(values):
        ref = value["$secretRef"] if is_secret_ref(value) else None
        prefix = f"{ref['prefix']} + " if ref and "prefix" in ref else ""
        shown[format_path(path)] = f"{prefix}secret {ref['name']}/{ref['key']}" if ref else value
    return shown


def changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """What differs, by release and path: `- old`, `+ new`."""
    found: dict[str, Any] = {}
    for release in [*before, *(name for name in after if name not in before)]:
        old, new = flat(before.get(release, {})), flat(after.get(release, {}))
        paths = [path for path in sorted(old.keys() | new.keys()) if _differ(old, new, path)]
        if release not in after:
            found[release] = "removed"
        elif paths:
            found[release] = {path: _change(old, new, path) for path in paths}
    return found


def _differ(old: Mapping[str, Any], new: Mapping[str, Any], path: str) -> bool:
    return path not in old or path not in new or old[path] != new[path]


def _change(old: Mapping[str, Any], new: Mapping[str, Any], path: str) -> dict[str, Any]:
    return {
        **({"-": old[path]} if path in old else {}),
        **({"+": new[path]} if path in new else {}),
    }


@cache
def base(preset: str) -> dict[str, Any]:
    return sent(preset=preset)


def changed_by(spec: Mapping[str, Any]) -> dict[str, Any]:
    """What a spec changes of the widest preset, or of the one that it names."""
    preset = spec.get("preset", "compute-baremetal")
    return changes(base(preset), sent(**{"preset": preset, **spec}))


@pytest.mark.parametrize("preset", PRESETS)
def test_preset(preset: str, golden: Golden) -> None:
    golden(f"presets/{preset}", base(preset))


def test_preset_core_with_the_charts_shipped_with_the_controller(golden: Golden) -> None:
    golden("presets/core-embedded", sent(charts={}))


@pytest.mark.slow
@pytest.mark.parametrize("feature", FEATURES)
def test_feature(feature: str, golden: Golden) -> None:
    golden(f"features/{feature}", changed_by(FEATURES[feature]))


@pytest.mark.slow
@pytest.mark.parametrize("pair", PAIRS)
def test_features_that_meet(pair: str, golden: Golden) -> None:
    golden(f"pairs/{pair}", changed_by(PAIRS[pair]))


@pytest.mark.slow
@pytest.mark.parametrize("preset", [*PRESETS, "core-embedded"])
def test_every_size_and_version(preset: str, golden: Golden) -> None:
    spec: dict[str, Any] = (
        {"preset": "core", "charts": {}} if preset == "core-embedded" else {"preset": preset}
    )

    def leaves_of(size: str = SIZES[0], version: str = VERSIONS[1]) -> dict[str, Any]:
        whole = sent(**spec, size=size, openstackVersion=version)
        return {
            f"{release} {path}": v for release, values in whole.items() for path, v in flat(values).items()
        }

    base = leaves_of()
    sizes = {size: leaves_of(size=size) for size in SIZES[1:]}
    versions = {version: leaves_of(version=version) for version in VERSIONS if version != VERSIONS[1]}
    together = {
        f"{size} {version}": in_words(sum_of(base, sizes[size], versions[version]), leaves_of(size, version))
        for size in sizes
        for version in versions
    }
    written = {
        "sizes": {size: in_words(base, leaves) for size, leaves in sizes.items()},
        "versions": {version: in_words(base, leaves) for version, leaves in versions.items()},
        "only together": together,
    }
    golden(f"matrix/{preset}", written)


def sum_of(base: Mapping[str, Any], *others: Mapping[str, Any]) -> dict[str, Any]:
    """The base with what each of the others changes of it."""
    found = dict(base)
    for other in others:
        for path in base.keys() | other.keys():
            if path not in other:
                found.pop(path, None)
            elif _differ(base, other, path):
                found[path] = other[path]
    return found


def in_words(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, str]:
    """`1 → 3`, `+ 3` where there was nothing, `- 1` where there is nothing any more."""

    def shown(value: Any) -> str:
        return value if isinstance(value, str) else json.dumps(value)

    found = {}
    for path in sorted(old.keys() | new.keys()):
        if path not in old:
            found[path] = f"+ {shown(new[path])}"
        elif path not in new:
            found[path] = f"- {shown(old[path])}"
        elif _differ(old, new, path):
            found[path] = f"{shown(old[path])} → {shown(new[path])}"
    return found


def test_a_sum_of_changes_is_all_of_them() -> None:
    base, one, other = {"a": 1, "b": 1, "c": 1}, {"a": 2, "b": 1, "c": 1}, {"a": 1, "c": 1, "d": 4}
    assert sum_of(base, one, other) == {"a": 2, "c": 1, "d": 4}
    assert in_words(base, {"a": 2, "c": 1, "d": "x"}) == {"a": "1 → 2", "b": "- 1", "d": "+ x"}
