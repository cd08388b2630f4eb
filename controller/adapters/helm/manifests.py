"""Rendered manifests, read as Helm reads them.

Helm turns YAML into JSON with Go's YAML 1.1 rules, and where a chart writes a key twice the last one
wins: what it put into the cluster must be readable here too, so nothing is refused for style.
"""

from __future__ import annotations

import re
from collections.abc import Hashable
from typing import Any

import yaml

from controller.domain.values.yaml_reader import resolve_scalar
from controller.errors import ChartInvalid
from controller.ports.kubernetes import KubeObject

KEEP_ANNOTATION = "helm.sh/resource-policy"
HOOK_ANNOTATION = "helm.sh/hook"

# As helm.sh/helm/v4/pkg/release/v1/util, SplitManifests.
_SEPARATOR = re.compile(r"(?:^|\s*\n)---\s*")
_PLAIN, _MERGE, _TEXT = "tag:osctl.dev,2026:plain", "tag:yaml.org,2002:merge", "tag:yaml.org,2002:str"


class _GoLoader(yaml.CSafeLoader):
    """PyYAML's parser with Go's meaning of plain scalars, and keys that are always strings."""

    def resolve(self, kind: Any, value: Any, implicit: Any) -> Any:
        if kind is yaml.ScalarNode:
            if implicit[0]:
                return _MERGE if value == "<<" else _PLAIN
            return _TEXT
        return super().resolve(kind, value, implicit)  # type: ignore[no-untyped-call]

    def construct_object(self, node: Any, deep: bool = False) -> Any:
        # Most of a manifest are plain scalars and texts: PyYAML's way costs them twice as much.
        if node.__class__ is yaml.ScalarNode:
            if node.tag == _PLAIN:
                return _plain(node.value)
            if node.tag == _TEXT:
                return node.value
        return super().construct_object(node, deep=deep)

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Hashable, Any]:
        mapping = super().construct_mapping(node, deep=deep)
        return {key if isinstance(key, str) else _key(key): value for key, value in mapping.items()}


def _plain(text: str) -> Any:
    try:
        return resolve_scalar(text)
    except ValueError:
        return text


def _key(key: Hashable) -> str:
    return str(key).lower() if isinstance(key, bool) or key is None else str(key)


def split_documents(text: str) -> tuple[str, ...]:
    """The documents of a manifest as text, empty ones left out."""
    return tuple(part for part in _SEPARATOR.split(text) if part.strip())


def parse_document(text: str) -> Any:
    """What one YAML document says. Raises ChartInvalid when it is not YAML."""
    try:
        return yaml.load(text, Loader=_GoLoader)  # noqa: S506 - a safe loader of our own
    except yaml.MarkedYAMLError as error:
        # The text around the fault stays out of the message: it may hold a secret.
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise ChartInvalid(f"a rendered manifest is not YAML in line {line}: {error.problem}") from None
    except (yaml.YAMLError, ValueError) as error:
        raise ChartInvalid(f"a rendered manifest is not YAML ({type(error).__name__})") from None


def parse_manifests(text: str) -> tuple[KubeObject, ...]:
    """All Kubernetes objects of a manifest in its order. Lists (kind `List`) are taken apart."""
    objects: list[KubeObject] = []
    for document in split_documents(text):
        # Helm trims each document and ends it with a newline: without that a text at its very end, written
        # with `|`, would lack its own last newline.
        parsed = parse_document(f"{document.strip()}\n")
        if not isinstance(parsed, dict) or "kind" not in parsed:
            continue
        if str(parsed["kind"]).endswith("List") and isinstance(parsed.get("items"), list):
            objects.extend(item for item in parsed["items"] if isinstance(item, dict))
        else:
            objects.append(parsed)
    return tuple(objects)


def annotations_of(obj: KubeObject) -> dict[str, Any]:
    """The object's annotations; the map is not its own where it has none."""
    metadata = obj.get("metadata")
    found = metadata.get("annotations") if isinstance(metadata, dict) else None
    return found if isinstance(found, dict) else {}
