"""Fills in the defaults of fields as an API server does.

The defaults themselves are in the resource definitions (`charts/openstack-controller/files/crds`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from controller.domain.values.chart_values import copied

OPEN = "x-kubernetes-preserve-unknown-fields"


def with_defaults(value: Any, node: Mapping[str, Any]) -> Any:
    """A copy of the value with the defaults of its fields, as an API server stores it."""
    if isinstance(value, Mapping):
        if node.get(OPEN):
            return copied(dict(value))
        properties = node.get("properties", {})
        result = {}
        for key, item in value.items():
            child = properties.get(key, node.get("additionalProperties"))
            if item is None and isinstance(child, Mapping):
                continue  # the server takes a null for a field that it knows as not said
            result[key] = with_defaults(item, child) if isinstance(child, Mapping) else copied(item)
        for key, child in properties.items():
            if key not in result and "default" in child:
                result[key] = with_defaults(child["default"], child)
        return result
    if isinstance(value, list) and isinstance(node.get("items"), Mapping):
        return [with_defaults(item, node["items"]) for item in value]
    return copied(value)


def completed_value(value: Any, node: Mapping[str, Any]) -> Any:
    """A copy of the value in which every known field exists."""
    if node.get(OPEN):
        return copied(value) if value is not None else {}
    if node.get("type") == "object":
        if value is None and node.get("required"):
            return None
        given = value or {}
        if "additionalProperties" in node:
            return {key: completed_value(item, node["additionalProperties"]) for key, item in given.items()}
        return {
            key: completed_value(given.get(key), child) for key, child in node.get("properties", {}).items()
        }
    if value is None:
        value = node.get("default")
    if node.get("type") == "array":
        return [completed_value(item, node["items"]) for item in value or ()]
    return value
