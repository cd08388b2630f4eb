"""Checks an object against its CustomResourceDefinition as an API server would, without one.

The definition is the single source: structure is checked by jsonschema from its OpenAPI schema, defaults
are applied as the server applies them, and its CEL rules are evaluated. What a server
alone can know, rules about the object before the change, is left to it.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jsonschema

from controller.domain.api.object_meta import a
from controller.domain.api.spec_rules import definition as rules
from controller.domain.shared.plurals import count
from controller.domain.validation.definitions.cel_rules import holds, is_transition
from controller.domain.validation.definitions.crd_defaults import OPEN, completed_value, with_defaults
from controller.domain.values.chart_values import DocumentPath, format_path
from controller.errors import ControllerError, Problem

MAX_PROBLEMS = 100
_INT_OR_STRING = "x-kubernetes-int-or-string"
_WORDS = {
    "object": "a map",
    "array": "a list",
    "string": "a string",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
}
# What is said, and the noun that is counted, if any.
_LIMITS = {
    "minimum": ("must be at least", ""),
    "maximum": ("must be at most", ""),
    "minLength": ("must have at least", "character"),
    "maxLength": ("must have at most", "character"),
    "minItems": ("must have at least", "item"),
    "maxItems": ("must have at most", "item"),
    "minProperties": ("must have at least", "key"),
    "maxProperties": ("must have at most", "key"),
}
_KEPT = ("type", "enum", "required", *_LIMITS)


class DefinitionInvalid(ControllerError):
    """A CustomResourceDefinition of ours cannot be used: a defect of the installation, not of an input."""


@dataclass(frozen=True)
class ResourceSchema:
    """A compiled definition of one kind. `root` is its openAPIV3Schema. Made by `compile_schema`."""

    api_version: str
    kind: str
    root: Mapping[str, Any]
    validator: jsonschema.Draft202012Validator

    def defaulted(self, obj: Mapping[str, Any]) -> dict[str, Any]:
        """A copy of the object with the defaults that the API server would store in its spec."""
        result = dict(obj)
        spec = self.root["properties"]["spec"]
        if "spec" in obj:
            result["spec"] = with_defaults(obj["spec"], spec)
        return result

    def problems(self, obj: Mapping[str, Any]) -> list[Problem]:
        """What is wrong with an object whose defaults are applied; at most MAX_PROBLEMS."""
        checked = {key: value for key, value in obj.items() if key not in ("metadata", "status")}
        found: dict[Problem, None] = {}
        for error in self.validator.iter_errors(checked):
            for problem in _translate(error):
                found[problem] = None
                if len(found) == MAX_PROBLEMS:
                    return list(found)
        if found:
            return sorted(found, key=lambda problem: problem.path)
        return [*_rule_problems(obj, {**self.root, "properties": {}}, ()), *self._spec_rules(obj)]

    def completed(self, path: Sequence[str], value: Any) -> Any:
        """A copy of the value at a path such as ("spec", "features") in which every known field exists.

        A field that is not set has its default; without one it is None, an empty list, an empty map, or
        for an object the same again; an object that has required fields is None when it is not set.
        """
        node: Mapping[str, Any] = self.root
        for key in path:
            node = node["properties"][key]
        return completed_value(value, node)

    def _spec_rules(self, obj: Mapping[str, Any]) -> Iterator[Problem]:
        return _rule_problems(obj["spec"], self.root["properties"]["spec"], ("spec",))


def compile_schema(crd: Mapping[str, Any], version: str = "v1alpha1") -> ResourceSchema:
    """Prepares a definition for use. Raises DefinitionInvalid when it has no schema of that version."""
    try:
        spec = crd["spec"]
        stored = next(item for item in spec["versions"] if item["name"] == version)
        root = stored["schema"]["openAPIV3Schema"]
        kind, group = spec["names"]["kind"], spec["group"]
        converted = _json_schema(root)
    except (KeyError, TypeError, StopIteration) as error:
        raise DefinitionInvalid(
            f"not a CustomResourceDefinition with version {version}: {error!r}"
        ) from error
    return ResourceSchema(f"{group}/{version}", kind, root, jsonschema.Draft202012Validator(converted))


def nearest(word: str, candidates: Sequence[str]) -> str:
    """The candidate that was probably meant, or an empty string."""
    matches = difflib.get_close_matches(word[:100], candidates, n=1, cutoff=0.6)
    if matches:
        return matches[0]
    lowered = {candidate.lower().replace("_", "").replace("-", ""): candidate for candidate in candidates}
    return lowered.get(word.lower().replace("_", "").replace("-", ""), "")


def _json_schema(node: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON Schema that accepts what the API server accepts, unknown fields refused."""
    result: dict[str, Any] = {key: node[key] for key in _KEPT if key in node}
    result["description"] = node.get("description", "")
    if node.get(_INT_OR_STRING):
        result["type"] = ["integer", "string"]
    if "pattern" in node:
        # Go's $ is the end of the text and its \s is ASCII; Python needs flags for that.
        pattern = node["pattern"]
        result["pattern"] = "(?a)" + (pattern[:-1] + r"\Z" if pattern.endswith("$") else pattern)
    if "items" in node:
        result["items"] = _json_schema(node["items"])
    if "properties" in node:
        result["properties"] = {key: _json_schema(value) for key, value in node["properties"].items()}
        result["additionalProperties"] = bool(node.get(OPEN))
    elif "additionalProperties" in node:
        result["additionalProperties"] = _json_schema(node["additionalProperties"])
    return result


def _translate(error: jsonschema.ValidationError) -> Iterator[Problem]:
    """One error of jsonschema in our words. The wrong value itself is shown only where it is a choice."""
    path: DocumentPath = tuple(error.absolute_path)
    schema: Mapping[str, Any] = error.schema if isinstance(error.schema, Mapping) else {}
    where, rule = format_path(path) or "$", str(error.validator)
    value: Any = error.instance
    limit: Any = error.validator_value
    if rule == "additionalProperties":
        known = sorted(schema.get("properties", ()))
        for key in value:
            if key not in known:
                meant = nearest(str(key), known)
                remedy = f'did you mean "{meant}"?' if meant else f"known here: {', '.join(known)}"
                yield rules.FIELD_UNKNOWN.at(
                    format_path((*path, _short(key))), key=_short(key), suggestion=remedy
                )
    elif rule == "required":
        for key in limit:
            if key not in value:
                about = schema.get("properties", {}).get(key, {}).get("description", "")
                yield rules.FIELD_REQUIRED.at(format_path((*path, key)), suggestion=_sentence(about))
    elif rule == "type":
        types = [limit] if isinstance(limit, str) else limit
        expected = " or ".join(_WORDS[one] for one in types)
        yield rules.FIELD_TYPE.at(where, expected=expected, got=a(value), suggestion=_quoting(schema, value))
    elif rule == "enum":
        if isinstance(value, str):  # else the type is wrong, and that is said already
            choices = ", ".join(str(choice) for choice in limit)
            meant = nearest(value, limit)
            remedy = f'did you mean "{meant}"?' if meant else ""
            yield rules.FIELD_CHOICE.at(where, choices=choices, got=_short(value), suggestion=remedy)
    elif rule == "pattern":
        form = str(limit).removeprefix("(?a)").replace(r"\Z", "$")
        yield rules.FIELD_FORM.at(where, form=form, suggestion=_sentence(schema.get("description", "")))
    else:
        words, noun = _LIMITS[rule]
        yield rules.FIELD_LIMIT.at(where, limits=words, limit=count(limit, noun) if noun else limit)


def _quoting(schema: Mapping[str, Any], value: Any) -> str:
    if schema["type"] != "string" or not isinstance(value, bool | int | float):
        return ""
    if isinstance(value, bool):
        return "put it in quotes: YAML reads words such as yes, no, on and off as booleans"
    return f'put it in quotes: "{_short(value)}"'


def _short(text: object) -> str:
    """A key or a choice as messages show it: on one line, never long."""
    shown = "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in str(text)[:61])
    return shown if len(shown) <= 60 else f"{shown[:60]}…"


def _sentence(description: str) -> str:
    """The first sentence of a description, as a remedy."""
    return description.split(". ", maxsplit=1)[0].rstrip(".")


def _rule_problems(value: Any, node: Mapping[str, Any], path: DocumentPath) -> Iterator[Problem]:
    """What the definition's rules and list types object to, from the outside in."""
    for rule in node.get("x-kubernetes-validations", ()):
        if not is_transition(rule["rule"]) and not holds(rule["rule"], value):
            field = tuple(part for part in rule.get("fieldPath", "").split(".") if part)
            if rule["rule"].startswith("self.metadata.name."):
                field = ("metadata", "name")  # no fieldPath may say so: metadata has no schema
            yield Problem(format_path((*path, *field)) or "$", rule["message"])
    if isinstance(value, Mapping) and not node.get(OPEN):
        properties = node.get("properties", {})
        for key, item in value.items():
            child = properties.get(key, node.get("additionalProperties"))
            if isinstance(child, Mapping):
                yield from _rule_problems(item, child, (*path, key))
    elif isinstance(value, list):
        yield from _repeated(value, node, path)
        for index, item in enumerate(value):
            yield from _rule_problems(item, node["items"], (*path, index))


def _repeated(value: list[Any], node: Mapping[str, Any], path: DocumentPath) -> Iterator[Problem]:
    """Items of a list-map or a set that are there before."""
    kind = node.get("x-kubernetes-list-type")
    keys = node.get("x-kubernetes-list-map-keys", ())
    seen = set()
    for index, item in enumerate(value):
        identity = tuple(item.get(key) for key in keys) if kind == "map" else item
        if kind in ("map", "set") and identity in seen:
            yield rules.ITEM_TWICE.at(format_path((*path, index)))
        elif kind in ("map", "set"):
            seen.add(identity)
