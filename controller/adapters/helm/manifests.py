"""Rendered manifests, read as Helm reads them.

Helm turns YAML into JSON with Go's YAML 1.1 rules, and if a chart writes a key twice, the last one wins.
Every object in the cluster must be readable here too, so style errors are accepted.
"""

from __future__ import annotations

import re
from typing import Any

import yaml

from controller.domain.shared.lenient_yaml import read_document
from controller.domain.values.yaml_reader import resolve_scalar
from controller.errors import ChartInvalid
from controller.ports.kubernetes import KubeObject

KEEP_ANNOTATION = "helm.sh/resource-policy"
HOOK_ANNOTATION = "helm.sh/hook"

# As helm.sh/helm/v4/pkg/release/v1/util, SplitManifests.
_SEPARATOR = re.compile(r"^---[ \t]*", re.MULTILINE)
_TEXT = "tag:yaml.org,2002:str"
_PLAIN = tuple(f"tag:yaml.org,2002:{name}" for name in ("int", "float", "bool", "null", "timestamp"))


def split_documents(text: str) -> tuple[str, ...]:
    """The documents of a manifest as text, without empty ones."""
    return tuple(part for part in _SEPARATOR.split(text) if part.strip())


def parse_document(text: str) -> Any:
    """The content of one YAML document. Raises ChartInvalid if it is not YAML."""
    try:
        return read_document(text, _scalar, _key)
    except yaml.MarkedYAMLError as error:
        # The message does not contain the text around the fault, which may be a secret.
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise ChartInvalid(f"a rendered manifest is not YAML in line {line}: {error.problem}") from None
    except (yaml.YAMLError, ValueError) as error:
        raise ChartInvalid(f"a rendered manifest is not YAML ({type(error).__name__})") from None


def _scalar(event: Any) -> Any:
    """Go's meaning of plain scalars. Raises ValueError for any other tag than those of JSON's values."""
    if event.implicit[0] or event.tag in _PLAIN:
        try:
            return resolve_scalar(event.value)
        except ValueError:
            return event.value
    if event.tag in (None, _TEXT):
        return event.value
    raise ValueError("a tag that is not supported")


def _key(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) or value is None else str(value)


def parse_manifests(text: str) -> tuple[KubeObject, ...]:
    """All Kubernetes objects of a manifest in its order. Lists (kind `List`) are expanded."""
    objects: list[KubeObject] = []
    for document in split_documents(text):
        # Helm trims each document and ends it with a newline: without that a text at its very end, written
        # with `|`, would lack its own last newline.
        parsed = parse_document(f"{document.strip()}\n")
        if not isinstance(parsed, dict) or "kind" not in parsed:
            continue
        items = items_of(parsed)
        objects.extend([parsed] if items is None else (item for item in items if isinstance(item, dict)))
    return tuple(objects)


def items_of(document: KubeObject) -> list[Any] | None:
    """The objects of a list, None of what is none. Those of a typed one, such as a PersistentVolumeClaimList,
    need not name their kind (k8s.io/apimachinery, UnstructuredJSONScheme)."""
    kind, items = str(document.get("kind")), document.get("items")
    if not kind.endswith("List") or not isinstance(items, list):
        return None
    given = {"apiVersion": document.get("apiVersion"), "kind": kind.removesuffix("List")}
    if not given["kind"]:
        return items
    return [{**given, **item} if isinstance(item, dict) else item for item in items]


def annotations_of(obj: KubeObject) -> dict[str, Any]:
    """The object's annotations; if it has none, a new map that is not part of it."""
    metadata = obj.get("metadata")
    found = metadata.get("annotations") if isinstance(metadata, dict) else None
    return found if isinstance(found, dict) else {}
