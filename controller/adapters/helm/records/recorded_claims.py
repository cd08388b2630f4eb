"""Marks volumes in a release's record so that Helm keeps them."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any

from controller.adapters.helm.manifests import annotations_of, items_of, parse_document, split_documents
from controller.domain.releases.kept_claims import (
    KEEP,
    KEEP_ANNOTATION,
    VOLUME_KINDS,
    VolumeId,
    identify,
    is_kept,
)
from controller.errors import ChartInvalid


def keep_volumes(record: dict[str, Any], namespace: str, volumes: Collection[VolumeId]) -> bool:
    """Marks these volumes in the manifest so that Helm keeps them. Other documents stay unchanged."""
    documents = split_documents(str(record.get("manifest", "")))
    kept = [_kept(document, namespace, volumes) for document in documents]
    if kept == list(documents):
        return False
    record["manifest"] = "".join(f"---\n{document.strip()}\n" for document in kept)
    return True


def _kept(document: str, namespace: str, volumes: Collection[VolumeId]) -> str:
    if not any(kind in document for kind in VOLUME_KINDS):
        return document
    try:
        obj = parse_document(document)
    except ChartInvalid:
        return document
    if not isinstance(obj, dict):
        return document
    items = items_of(obj)
    objects = [obj] if items is None else items
    marked = [_mark(one, namespace, volumes) for one in objects]
    if marked == objects:
        return document
    comments = [line for line in document.strip().splitlines() if line.startswith("# Source:")]
    # JSON is YAML that Go and Python read alike: no plain `y` that turns into true. For objects in a List,
    # Helm ignores their keep annotation, so they become separate documents here.
    texts = ["\n".join([*comments, json.dumps(one, ensure_ascii=False)]) for one in marked]
    return "\n---\n".join(texts)


def _mark(obj: Any, namespace: str, volumes: Collection[VolumeId]) -> Any:
    if not isinstance(obj, dict) or obj.get("kind") not in VOLUME_KINDS:
        return obj
    if identify(obj, namespace) not in volumes or is_kept(obj.get("metadata") or {}):
        return obj
    notes = {**annotations_of(obj), KEEP_ANNOTATION: KEEP}
    return {**obj, "metadata": {**obj["metadata"], "annotations": notes}}
