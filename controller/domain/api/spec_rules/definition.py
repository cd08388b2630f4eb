"""Rules about the shape of the object: what the resource definition says, and its metadata."""

from __future__ import annotations

from controller.domain.api.spec_rules.rule import refusal, warning

WRONG_KIND = refusal(
    "wrong-kind",
    "kind",
    "expected {wanted}",
    "{suggestion}",
)
SPEC_TOO_LARGE = refusal(
    "spec-too-large",
    "spec",
    "is {size:,} bytes long, more than the {max_spec_bytes:,} that fit into a Kubernetes object",
    "most of it is in spec.{largest}; move files and long texts into ConfigMaps of your own",
)
SPEC_TOO_DEEP = refusal(
    "spec-too-deep",
    "spec",
    "is nested more than 100 levels deep",
    "write flatter values",
)
SPEC_NOT_JSON = refusal(
    "spec-not-json",
    "spec",
    "contains a value that JSON cannot hold: {name}",
    "use plain YAML values",
)
MAIN_FIELD_UNKNOWN = refusal(
    "main-field-unknown",
    "spec.*",
    'unknown value "{value}"',
    "{suggestion}",
)
DRIFT_RELEASE_UNKNOWN = warning(
    "drift-release-unknown",
    "spec.driftRules[*].release",
    'the region has no release "{name}"',
    "{suggestion}",
)
FIELD_UNKNOWN = refusal(
    "field-unknown",
    "*",
    'unknown field "{key}"',
    "{suggestion}",
)
FIELD_TYPE = refusal(
    "field-type",
    "*",
    "expected {expected}, got {got}",
    "{suggestion}",
)
FIELD_REQUIRED = refusal(
    "field-required",
    "*",
    "required, and not set",
    "{suggestion}",
)
FIELD_CHOICE = refusal(
    "field-choice",
    "*",
    'must be one of {choices}, got "{got}"',
    "{suggestion}",
)
FIELD_FORM = refusal(
    "field-form",
    "*",
    "does not have the required form",
    "{suggestion} (as a pattern: {form})",
)
FIELD_LIMIT = refusal(
    "field-limit",
    "*",
    "{limits} {limit}",
)
ITEM_TWICE = refusal(
    "item-twice",
    "*[*]",
    "is already in the list",
)
METADATA_UNKNOWN = refusal(
    "metadata-unknown",
    "metadata.*",
    'unknown field "{key}"',
    "{suggestion}",
)
NAME_REQUIRED = refusal(
    "name-required",
    "metadata.name",
    "required, and not set",
    "{suggestion}",
)
NAME_FORM = refusal(
    "name-form",
    "metadata.name",
    "must be a DNS subdomain name: at most 253 lower-case letters, digits, - and .",
    "such as region-one",
)
NAMESPACE_FORM = refusal(
    "namespace-form",
    "metadata.namespace",
    "must be a DNS label: at most 63 lower-case letters, digits and -",
    "such as openstack",
)
METADATA_KEY_FORM = refusal(
    "metadata-key-form",
    "metadata.labels.*",
    "must have a key of the form name or domain/name, with at most 63 characters in name",
    "such as example.org/team",
)
METADATA_VALUE_TYPE = refusal(
    "metadata-value-type",
    "metadata.labels.*",
    "expected a string, got {got}",
    "{suggestion}",
)
LABEL_VALUE_FORM = refusal(
    "label-value-form",
    "metadata.labels.*",
    "must have at most 63 letters, digits, - _ and .",
    "use annotations for longer texts",
)
OBJECT_NAME_FORM = refusal(
    "object-name-form",
    "spec.*",
    '"{text}" cannot be the name of an object',
    "use lower-case letters, digits, - and ., such as my-secret",
)
DATA_KEY_FORM = refusal(
    "data-key-form",
    "spec.*.key",
    '"{text}" cannot be a key of a Secret',
    "use letters, digits, and - _ .",
)
LABEL_KEY_FORM = refusal(
    "label-key-form",
    "spec.*",
    '"{text}" cannot be the key of a label or a taint',
    "write name or domain/name, with at most 63 letters, digits, - _ and . in name",
)
SELECTED_VALUE_FORM = refusal(
    "selected-value-form",
    "spec.*",
    '"{text}" cannot be the value of a label or a taint',
    "use at most 63 letters, digits, - _ and .",
)
