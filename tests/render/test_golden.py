"""What core would send, written down for people to review.

`presets/` has whole regions; `sizes/`, `versions/` and `features/` have what differs from them, leaf by
leaf, as a diff that reads without a tool; `matrix` has one line for every preset × size × version.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import pytest

from controller.domain.values import format_path, is_secret_ref, leaves
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
        shown[format_path(path)] = f"secret {ref['name']}/{ref['key']}" if ref else value
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


@pytest.mark.parametrize("size", SIZES[1:])
def test_size(size: str, golden: Golden) -> None:
    whole = "compute-baremetal"
    golden(f"sizes/{size}", changes(base(whole), sent(preset=whole, size=size)))


@pytest.mark.parametrize("version", [version for version in VERSIONS if version != "2025.2"])
def test_version(version: str, golden: Golden) -> None:
    whole = "compute-baremetal"
    golden(f"versions/{version}", changes(base(whole), sent(preset=whole, openstackVersion=version)))


@pytest.mark.parametrize("feature", FEATURES)
def test_feature(feature: str, golden: Golden) -> None:
    golden(f"features/{feature}", changed_by(FEATURES[feature]))


@pytest.mark.parametrize("pair", PAIRS)
def test_features_that_meet(pair: str, golden: Golden) -> None:
    golden(f"pairs/{pair}", changed_by(PAIRS[pair]))


@pytest.mark.slow
def test_every_preset_size_and_version(golden: Golden) -> None:
    lines = {}
    for preset in PRESETS:
        for size in SIZES:
            for version in VERSIONS:
                whole = sent(preset=preset, size=size, openstackVersion=version)
                text = json.dumps(whole, sort_keys=True, separators=(",", ":"))
                digest = hashlib.sha256(text.encode()).hexdigest()[:16]
                keys = sum(len(flat(values)) for values in whole.values())
                lines[f"{preset} {size} {version}"] = f"{len(whole)} releases, {keys} leaves, {digest}"
    golden("matrix", lines)
