"""Removes objects that now belong to another release from the manifest in a record."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any

from controller.adapters.helm.manifests import items_of, parse_document, split_documents
from controller.domain.releases.drift.difference import ObjectId
from controller.errors import ChartInvalid
from controller.reconcile.releases.drift.compare import identify, is_named


def leave_out(record: dict[str, Any], namespace: str, objects: Collection[ObjectId]) -> bool:
    """Removes these objects from the manifest. Other documents stay unchanged."""
    documents = split_documents(str(record.get("manifest", "")))
    names = {object_.name for object_ in objects}
    remaining = [
        _without(document, namespace, objects) if any(name in document for name in names) else document
        for document in documents
    ]
    if remaining == list(documents):
        return False
    record["manifest"] = "".join(f"---\n{document.strip()}\n" for document in remaining if document)
    return True


def _without(document: str, namespace: str, objects: Collection[ObjectId]) -> str:
    """The rest of a document, or empty."""
    try:
        obj = parse_document(document)
    except ChartInvalid:
        return document
    if not isinstance(obj, dict) or "kind" not in obj:
        return document
    items = items_of(obj)
    if items is not None:
        remaining = [one for one in items if not _is_one_of(one, namespace, objects)]
        if len(remaining) == len(items):
            return document
        return json.dumps({**obj, "items": remaining}, ensure_ascii=False) if remaining else ""
    return "" if _is_one_of(obj, namespace, objects) else document


def _is_one_of(obj: Any, namespace: str, objects: Collection[ObjectId]) -> bool:
    return isinstance(obj, dict) and is_named(obj) and identify(obj, namespace) in objects
