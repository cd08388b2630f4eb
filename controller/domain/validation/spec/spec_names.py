"""Names, keys and labels in a spec that Kubernetes does not accept: nothing can have them. Pure.

The fields go by their names, wherever they are: Secrets, keys of these, taints, labels. Values of charts have
some as well: references to Secrets, labels of nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from controller.domain.api.spec_rules import definition as rules
from controller.domain.api.spec_rules.rule import Finding
from controller.domain.shared.object_forms import is_data_key, is_label_key, is_label_value, is_subdomain
from controller.domain.values.chart_values import SECRET_REF, DocumentPath, format_path
from controller.errors import Problem

Form = Callable[[str], Finding | None]


def _name(text: str) -> Finding | None:
    return None if is_subdomain(text) else Finding(rules.OBJECT_NAME_FORM, {"text": text})


def _data_key(text: str) -> Finding | None:
    return None if is_data_key(text) else Finding(rules.DATA_KEY_FORM, {"text": text})


def _key(text: str) -> Finding | None:
    return None if is_label_key(text) else Finding(rules.LABEL_KEY_FORM, {"text": text})


def _value(text: str) -> Finding | None:
    return None if is_label_value(text) else Finding(rules.SELECTED_VALUE_FORM, {"text": text})


# Fields with the name of an object, and lists of them.
_NAMES = frozenset(
    (
        "authoritySecret",
        "caSecret",
        "certificatesSecret",
        "credentialsSecret",
        "issuer",
        "pullSecrets",
        "secretName",
        "storageClass",
    )
)
_OF_FIELDS: Mapping[str, Form] = {
    **dict.fromkeys(_NAMES, _name),
    "byLabel": _key,
    "node_selector_key": _key,
    "node_selector_value": _value,
}
# Below these stand options and documents of others, where only references to Secrets are ours.
_FREE = frozenset(("conf", "mapping", "metadata", "settings"))
_LABELS = frozenset(("podLabels", "matchLabels"))


def name_problems(spec: Mapping[str, Any]) -> Iterator[Problem]:
    """Every one of them, with its path."""
    yield from _below(spec, ("spec",))


def _below(value: Any, path: DocumentPath) -> Iterator[Problem]:
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from _below(item, (*path, index))
        return
    if not isinstance(value, Mapping):
        return
    if SECRET_REF in value or (set(value) == {"name", "key"} and _FREE.isdisjoint(path)):
        yield from _of_reference(value, path)
        return
    free = not _FREE.isdisjoint(path)
    for key, part in value.items():
        here: DocumentPath = (*path, str(key))
        if free:
            yield from _below(part, here)
        elif key in _LABELS and isinstance(part, Mapping):
            yield from _of_labels(part, here)
        elif key == "tolerations" and isinstance(part, list):
            yield from _of_tolerations(part, here)
        elif key in _OF_FIELDS:
            if key == "issuer" and "tls" not in path:
                continue  # the address of a provider
            for at, text in _texts(part, here):
                yield from _checked(text, at, _OF_FIELDS[str(key)])
        else:
            yield from _below(part, here)


def _texts(value: Any, path: DocumentPath) -> list[tuple[DocumentPath, Any]]:
    if isinstance(value, list):
        return [((*path, index), one) for index, one in enumerate(value)]
    return [(path, value)]


def _of_reference(value: Mapping[str, Any], path: DocumentPath) -> Iterator[Problem]:
    inner = value.get(SECRET_REF, value)
    at = (*path, SECRET_REF) if SECRET_REF in value else path
    if isinstance(inner, Mapping):
        yield from _checked(inner.get("name"), (*at, "name"), _name)
        yield from _checked(inner.get("key"), (*at, "key"), _data_key)


def _of_labels(labels: Mapping[str, Any], path: DocumentPath) -> Iterator[Problem]:
    for key, value in labels.items():
        yield from _checked(str(key), (*path, str(key)), _key)
        yield from _checked(value, (*path, str(key)), _value)


def _of_tolerations(tolerations: list[Any], path: DocumentPath) -> Iterator[Problem]:
    for index, one in enumerate(tolerations):
        if isinstance(one, Mapping):
            yield from _checked(one.get("key"), (*path, index, "key"), _key)
            yield from _checked(one.get("value"), (*path, index, "value"), _value)


def _checked(text: Any, path: DocumentPath, form: Form) -> Iterator[Problem]:
    if isinstance(text, str) and text and "{{" not in text:
        finding = form(text)
        if finding is not None:
            yield finding.at(format_path(path))
