"""The part of a CustomResourceDefinition's schema that decides how writes merge.

Schemas are plain OpenAPI mappings, as a CRD holds them. What a schema leaves open is treated as the API
server treats it: maps merge key by key, lists are replaced whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from controller.domain.values.chart_values import copied
from controller.errors import ObjectRefused

Schema = Mapping[str, Any]

OPEN: Schema = {"x-kubernetes-preserve-unknown-fields": True}

METADATA: Schema = {
    "x-kubernetes-preserve-unknown-fields": True,
    "properties": {
        "ownerReferences": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["uid"],
            "items": OPEN,
        },
        "finalizers": {"type": "array", "x-kubernetes-list-type": "set"},
    },
}

CONDITIONS: Schema = {
    "type": "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["type"],
    "items": OPEN,
}

RELEASES: Schema = {
    "type": "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["name"],
    "items": {
        "x-kubernetes-preserve-unknown-fields": True,
        "properties": {"values": {"type": "object", "x-kubernetes-map-type": "atomic", **OPEN}},
    },
}

STATUS: Schema = {
    "x-kubernetes-preserve-unknown-fields": True,
    "properties": {"conditions": CONDITIONS, "releases": RELEASES},
}

OBJECT: Schema = {
    "x-kubernetes-preserve-unknown-fields": True,
    "properties": {
        "metadata": METADATA,
        "spec": {"x-kubernetes-preserve-unknown-fields": True, "properties": {"releases": RELEASES}},
        "status": STATUS,
    },
}


def of_crd(crd: Mapping[str, Any], version: str = "") -> Schema:
    """The whole object's schema of one served version (default: the stored one) of a CRD manifest."""
    for served in crd["spec"]["versions"]:
        if served["name"] == version or (not version and served["storage"]):
            schema = dict(served["schema"]["openAPIV3Schema"])
            own = {"apiVersion": {"type": "string"}, "kind": {"type": "string"}}
            schema["properties"] = {**own, **schema.get("properties", {}), "metadata": METADATA}
            return schema
    raise LookupError(f"no version {version!r} in {crd['metadata']['name']}")


def child(schema: Schema, key: str) -> Schema:
    """Schema of one key of a map."""
    if schema is OPEN:
        return OPEN
    properties = schema.get("properties")
    if properties and key in properties:
        found: Schema = properties[key]
        return found
    extra = schema.get("additionalProperties")
    return extra if extra.__class__ is dict else OPEN


def items(schema: Schema) -> Schema:
    found: Schema = schema.get("items", OPEN)
    return found


def is_atomic_map(schema: Schema) -> bool:
    return schema.get("x-kubernetes-map-type") == "atomic"


def list_type(schema: Schema) -> str:
    """`map`, `set` or `atomic`."""
    return str(schema.get("x-kubernetes-list-type", "atomic"))


def item_key(schema: Schema, item: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
    """What tells this item of a list-map from its siblings."""
    names = schema["x-kubernetes-list-map-keys"]
    return tuple(
        (name, item.get(name, items(schema).get("properties", {}).get(name, {}).get("default")))
        for name in names
    )


def is_open(schema: Schema) -> bool:
    """Whether it says nothing of what is inside."""
    return schema is OPEN or not (
        "properties" in schema or "items" in schema or "additionalProperties" in schema
    )


# By the id of a schema whether any default is in it; with it the schema, so that no other has its id.
_DEFAULTS: dict[int, tuple[Schema, bool]] = {}


def _has_defaults(schema: Schema) -> bool:
    known = _DEFAULTS.get(id(schema))
    if known is None:
        inside = [
            *(schema.get("properties") or {}).values(),
            schema.get("items"),
            schema.get("additionalProperties"),
        ]
        parts = [part for part in inside if isinstance(part, dict)]
        known = (schema, any("default" in part or _has_defaults(part) for part in parts))
        _DEFAULTS[id(schema)] = known
    return known[1]


def with_defaults(value: Any, schema: Schema) -> Any:
    """The value with the defaults of the schema where keys are missing; it is not changed, and parts to which
    the schema adds nothing are the same in both."""
    if not _has_defaults(schema):
        return value
    if isinstance(value, dict):
        filled = {key: with_defaults(part, child(schema, key)) for key, part in value.items()}
        for key, part in (schema.get("properties") or {}).items():
            if key not in filled and "default" in part:
                filled[key] = with_defaults(copied(part["default"]), part)
        return filled
    if isinstance(value, list):
        return [with_defaults(part, items(schema)) for part in value]
    return value


def undeclared(value: Any, schema: Schema, path: str = "") -> Iterator[str]:
    """Paths of keys that the schema neither declares nor leaves open."""
    if is_open(schema):
        return
    if isinstance(value, dict):
        closed = (
            "properties" in schema
            and not schema.get("x-kubernetes-preserve-unknown-fields")
            and "additionalProperties" not in schema
        )
        for key, part in value.items():
            if closed and key not in schema["properties"]:
                yield f"{path}.{key}"
            else:
                yield from undeclared(part, child(schema, key), f"{path}.{key}")
    elif isinstance(value, list):
        for index, part in enumerate(value):
            yield from undeclared(part, items(schema), f"{path}[{index}]")


def check_declared(obj: Mapping[str, Any], schema: Schema) -> None:
    """Raises ObjectRefused naming every undeclared field."""
    unknown = list(undeclared(obj, schema))
    if unknown:
        raise ObjectRefused("; ".join(f"{path}: field not declared in schema" for path in unknown))
