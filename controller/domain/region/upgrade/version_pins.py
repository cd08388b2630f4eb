"""Pins of RPC and object versions in the values of releases, which would hold services back. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

# The section that Nova and others read for the RPC version of each of their parts.
_LEVELS = "upgrade_levels"
# Ironic's option of section DEFAULT, which counts for its RPC and its objects.
_PINNED = "pin_release_version"
# With this, services find the version that all of them know.
_AUTO = "auto"


def version_pins(bundles: list[dict[str, Any]]) -> list[str]:
    """Each pin by its release and path, with its value."""
    return [
        f"{path} of {release['name']} ({value})"
        for bundle in bundles
        for release in (bundle.get("spec") or {}).get("releases") or ()
        for path, value in _pins((release.get("values") or {}).get("conf"))
    ]


def _pins(conf: Any) -> Iterator[tuple[str, str]]:
    for name, sections in sorted((conf if isinstance(conf, Mapping) else {}).items()):
        if not isinstance(sections, Mapping):
            continue
        for part, value in sorted(_section(sections, _LEVELS).items()):
            if value and value != _AUTO:
                yield f"conf.{name}.{_LEVELS}.{part}", str(value)
        if value := _section(sections, "DEFAULT").get(_PINNED):
            yield f"conf.{name}.DEFAULT.{_PINNED}", str(value)


def _section(sections: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = sections.get(name)
    return found if isinstance(found, Mapping) else {}
