"""Fields of a spec that differ between two versions of it, and what each makes the controller do. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from controller.domain.api.region_spec import SHOWN_WITH_RELEASES, fields_in, spec_in_force
from controller.domain.region.deployment import OpenStackDeployment, parse_deployment
from controller.domain.releases.release_settings import SettingChange
from controller.domain.validation.definitions.crd_schema import ResourceSchema
from controller.domain.values.chart_values import Path, format_path, is_map, lookup
from controller.errors import SpecInvalid

_FEATURES = "features"
_DEFAULT = re.compile(r"\s*(?:Default:|Required\.|Restarts:)")
_SWITCH = "enabled"
_NOTHING = object()


def spec_changes(
    old: OpenStackDeployment, new: OpenStackDeployment, schema: Mapping[str, Any]
) -> tuple[SettingChange, ...]:
    """Every field of the spec that is another now, a list as a whole; of features those whose value differs
    with all defaults in place. `schema` is that of the spec."""
    found = []
    for path in _different(old.document, new.document, ()):
        if path[0] in SHOWN_WITH_RELEASES:
            continue
        before, after = _value(old, path), _value(new, path)
        if before != after:
            found.append(SettingChange(format_path(path), before, after, _does(schema, path)))
    return tuple(found)


def pending_changes(
    osdpl: Mapping[str, Any],
    schema: ResourceSchema,
    parsed: Callable[[Mapping[str, Any]], OpenStackDeployment],
) -> tuple[SettingChange, ...]:
    """The fields of an osdpl's spec that are others than those approved last; none where that is not known.

    `parsed` gives the osdpl as this pass has read it, and raises SpecInvalid."""
    applied = (osdpl.get("status") or {}).get("appliedFields")
    if not isinstance(applied, Mapping) or applied == fields_in(osdpl.get("spec")):
        return ()
    try:
        before = parse_deployment({**osdpl, "spec": spec_in_force(osdpl)}, schema)
        after = parsed(osdpl)
    except SpecInvalid:  # By the rules of an earlier version; and of a wrong spec there is no plan.
        return ()
    return spec_changes(before, after, schema.root["properties"]["spec"])


def _different(old: Any, new: Any, path: Path) -> Iterator[Path]:
    if is_map(old) and is_map(new):
        for key in dict.fromkeys((*old, *new)):
            yield from _different(old.get(key, _NOTHING), new.get(key, _NOTHING), (*path, key))
    elif path and is_map(old if new is _NOTHING else new) and (old is _NOTHING or new is _NOTHING):
        inner = old if new is _NOTHING else new
        for key in inner:
            yield from _different(
                _NOTHING if old is _NOTHING else old[key],
                _NOTHING if new is _NOTHING else new[key],
                (*path, key),
            )
    elif old != new:
        yield path


def _value(deployment: OpenStackDeployment, path: Path) -> Any:
    if path[0] == _FEATURES:
        return lookup(deployment.spec.features.tree, path[1:])
    return lookup(deployment.document, path)


def _does(schema: Mapping[str, Any], path: Path) -> str:
    """What the definition says of the field, or of the nearest one around it, as of what a field `enabled`
    switches on: without default and restarts."""
    node: Any = schema
    text = ""
    for key in path:
        properties = node.get("properties") or {}
        more = node.get("additionalProperties")
        node = properties.get(key) or (more if isinstance(more, Mapping) else None)
        if node is None:
            break
        text = (node.get("description") if key != _SWITCH else "") or text
    return _DEFAULT.split(" ".join(text.split()), maxsplit=1)[0]
