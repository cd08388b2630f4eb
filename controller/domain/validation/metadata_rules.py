"""What an API server wants of an object's metadata, for objects of files. Pure.

Names and labels: RFC 1123 and apimachinery's rules for qualified names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from controller.domain.api.object_meta import a
from controller.domain.api.spec_rules import definition as rules
from controller.domain.shared.object_forms import is_label, is_label_key, is_label_value, is_subdomain
from controller.domain.values.chart_values import DocumentPath, format_path
from controller.domain.values.suggestion import suggestion
from controller.errors import Problem

_KNOWN = (
    "name",
    "namespace",
    "generateName",
    "labels",
    "annotations",
    "finalizers",
    "ownerReferences",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "selfLink",
    "managedFields",
)
_SMALL = "lower-case letters, digits and - within"


def metadata_problems(obj: Mapping[str, Any]) -> list[Problem]:
    """Everything that an API server would refuse, and unknown fields. No value is quoted."""
    metadata = obj.get("metadata")
    if not isinstance(metadata, Mapping):
        return []  # parse_meta reports this
    return [
        *_name(metadata),
        *_namespace(metadata.get("namespace")),
        *_marks(metadata, "labels"),
        *_marks(metadata, "annotations"),
        *(
            rules.METADATA_UNKNOWN.at(
                format_path(("metadata", str(key))), key=key, suggestion=suggestion(str(key), _KNOWN)
            )
            for key in metadata
            if key not in _KNOWN
        ),
    ]


def _name(metadata: Mapping[str, Any]) -> Iterator[Problem]:
    name = metadata.get("name")
    if name is None:
        remedy = (
            "generateName would create another object at every apply" if "generateName" in metadata else ""
        )
        yield rules.NAME_REQUIRED.at("metadata.name", suggestion=remedy)
    elif isinstance(name, str) and name and not is_subdomain(name):
        yield rules.NAME_FORM.at("metadata.name")


def _namespace(value: Any) -> Iterator[Problem]:
    if isinstance(value, str) and value and not is_label(value):
        yield rules.NAMESPACE_FORM.at("metadata.namespace")


def _marks(metadata: Mapping[str, Any], field: str) -> Iterator[Problem]:
    """Labels or annotations: maps of strings."""
    given = metadata.get(field)
    for key, value in given.items() if isinstance(given, Mapping) else ():
        path: DocumentPath = ("metadata", field, str(key))
        if not isinstance(key, str) or not is_label_key(key):
            yield rules.METADATA_KEY_FORM.at(format_path(path))
        elif not isinstance(value, str):
            remedy = "put it in quotes" if isinstance(value, bool | int | float) else ""
            yield rules.METADATA_VALUE_TYPE.at(format_path(path), got=a(value), suggestion=remedy)
        elif field == "labels" and not is_label_value(value):
            yield rules.LABEL_VALUE_FORM.at(format_path(path))
