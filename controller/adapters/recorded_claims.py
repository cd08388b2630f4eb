"""Claims as a release's record tells of them: those in its manifest, and those its StatefulSets make."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

from controller.adapters.manifests import KEEP_ANNOTATION, annotations_of, parse_document, split_documents
from controller.errors import ChartInvalid
from controller.helm_port import RenderedRelease
from controller.ports import KubeObject


def keep_claims(record: dict[str, Any]) -> bool:
    """Marks the claims in the manifest as Helm's to keep; every other document stays as it is."""
    documents = split_documents(str(record.get("manifest", "")))
    kept = [_kept(document) for document in documents]
    if kept == list(documents):
        return False
    record["manifest"] = "".join(f"---\n{document.strip()}\n" for document in kept)
    return True


def _kept(document: str) -> str:
    if "PersistentVolumeClaim" not in document:
        return document
    try:
        obj = parse_document(document)
    except ChartInvalid:
        return document
    if not isinstance(obj, dict) or obj.get("kind") != "PersistentVolumeClaim":
        return document
    if annotations_of(obj).get(KEEP_ANNOTATION) == "keep":
        return document
    obj.setdefault("metadata", {})["annotations"] = {**annotations_of(obj), KEEP_ANNOTATION: "keep"}
    comments = [line for line in document.strip().splitlines() if line.startswith("# Source:")]
    # JSON is YAML that Go and Python read alike: no plain `y` that turns into true.
    return "\n".join([*comments, json.dumps(obj, ensure_ascii=False)])


def statefulsets(objects: RenderedRelease, namespace: str) -> Iterable[KubeObject]:
    return [obj for obj in objects.manifest if obj["kind"] == "StatefulSet" and belongs(obj, namespace)]


def belongs(obj: KubeObject, namespace: str) -> bool:
    return str(obj.get("metadata", {}).get("namespace") or namespace) == namespace


def claim_patterns(statefulset: KubeObject) -> list[re.Pattern[str]]:
    """Names of its claims: `<template>-<set>-<ordinal>` (Kubernetes: StatefulSet, Stable Storage)."""
    name = re.escape(str(statefulset["metadata"]["name"]))
    templates = statefulset.get("spec", {}).get("volumeClaimTemplates") or []
    return [re.compile(rf"{re.escape(str(one['metadata']['name']))}-{name}-[0-9]+") for one in templates]
