"""Secrets that one namespace offers to another: when a copy is filled, and when it is emptied.

Pure. Both sides must agree, each naming the other: the offered Secret, and the one that requests it and gets
the copy. Neither is ever created or deleted here, and a Secret without a request is never changed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from controller.domain.api.names import (
    COPIED_FROM_ANNOTATION,
    MANAGED_BY,
    NOT_COPIED_ANNOTATION,
    OFFER,
    OFFERED_TO_ANNOTATION,
    REQUEST,
    REQUESTED_FROM_ANNOTATION,
    SHARED_LABEL,
)
from controller.domain.values.secret_refs import reserved

_PLACE = re.compile(r"([a-z0-9]([-a-z0-9]*[a-z0-9])?)/([a-z0-9]([-.a-z0-9]*[a-z0-9])?)")


@dataclass(frozen=True, order=True)
class Place:
    """A Secret by its namespace and name."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


class Step(StrEnum):
    """The step for a copy."""

    FILL = "fill"
    EMPTY = "empty"
    NOTHING = "nothing"


@dataclass(frozen=True)
class CopyDecision:
    """`message`: the problem and the remedy; empty if the copy is right, or becomes right."""

    step: Step
    message: str = ""


def parse_place(text: str) -> Place | None:
    """The place of `NAMESPACE/NAME`; None for another text."""
    found = _PLACE.fullmatch(text.strip())
    return Place(found[1], found[3]) if found else None


def offered_to(secret: Mapping[str, Any]) -> tuple[Place, ...]:
    """The Secrets that this one is offered to, without malformed ones."""
    if _word(secret) != OFFER:
        return ()
    texts = _annotation(secret, OFFERED_TO_ANNOTATION).split(",")
    return tuple(sorted({place for place in map(parse_place, texts) if place}))


def requested_from(secret: Mapping[str, Any]) -> Place | None:
    """The Secret that this one requests; None without a request, or if it is malformed."""
    return parse_place(_annotation(secret, REQUESTED_FROM_ANNOTATION)) if _word(secret) == REQUEST else None


def misread(secret: Mapping[str, Any]) -> str:
    """The problem with the labels and annotations for sharing of a Secret, or empty."""
    word, namespace = _word(secret), secret["metadata"]["namespace"]
    name = {OFFER: OFFERED_TO_ANNOTATION, REQUEST: REQUESTED_FROM_ANNOTATION}.get(word)
    if name is None:
        return f"the label {SHARED_LABEL} is neither {OFFER} nor {REQUEST}"
    texts = _annotation(secret, name).split(",") if word == OFFER else [_annotation(secret, name)]
    if all(place and place.namespace != namespace for place in map(parse_place, texts)):
        return ""
    return f"the annotation {name} must be NAMESPACE/NAME, in another namespace"


def copied_from(secret: Mapping[str, Any]) -> Place | None:
    """The source of this Secret's copy, or None."""
    return parse_place(_annotation(secret, COPIED_FROM_ANNOTATION))


def decide_copy(
    source: Place, offer: Mapping[str, Any] | None, target: Place, request: Mapping[str, Any] | None
) -> CopyDecision:
    """The step for `request`, the Secret at `target`, with `offer`, the one at `source`; None for a
    missing one.
    """
    if request is None or requested_from(request) != source:
        return CopyDecision(Step.NOTHING, _way_to_ask(source, target, there=request is not None))
    if obstacle := _in_the_way(request):
        return CopyDecision(Step.NOTHING, f"Secret {target}: {obstacle}")
    filled = copied_from(request) is not None
    if refused := _not_offered(source, offer, target):
        return CopyDecision(Step.EMPTY if filled else Step.NOTHING, refused)
    if not filled and request.get("data"):
        text = "has other content, which is not overwritten; empty it, or use another Secret for the request"
        return CopyDecision(Step.NOTHING, f"Secret {target} {text}")
    same = copied_from(request) == source and (request.get("data") or {}) == ((offer or {}).get("data") or {})
    return CopyDecision(Step.NOTHING if same else Step.FILL)


def filled(request: Mapping[str, Any], offer: Mapping[str, Any], source: Place) -> dict[str, Any]:
    """The request with the copy."""
    return _with(request, dict(offer.get("data") or {}), {COPIED_FROM_ANNOTATION: str(source)})


def emptied(request: Mapping[str, Any], why: str = "") -> dict[str, Any]:
    """The request without its copied content, with the reason `why` for its owner."""
    return _with(request, {}, {NOT_COPIED_ANNOTATION: why})


def explained(request: Mapping[str, Any], source: Place, why: str) -> dict[str, Any] | None:
    """The request with the reason `why` it has no copy, or without it; None if nothing changes, or nothing
    may be written.
    """
    meta = request["metadata"]
    annotations = meta.get("annotations") or {}
    same = annotations.get(NOT_COPIED_ANNOTATION, "") == why
    if same or requested_from(request) != source or _in_the_way(request):
        return None
    others = {key: text for key, text in annotations.items() if key != NOT_COPIED_ANNOTATION}
    notes = {**others, **({NOT_COPIED_ANNOTATION: why} if why else {})}
    return {**request, "metadata": {**meta, "annotations": notes}}


def _with(request: Mapping[str, Any], data: dict[str, str], notes: Mapping[str, str]) -> dict[str, Any]:
    meta = dict(request["metadata"])
    ours = (COPIED_FROM_ANNOTATION, NOT_COPIED_ANNOTATION)
    others = {key: text for key, text in (meta.get("annotations") or {}).items() if key not in ours}
    meta["annotations"] = {**others, **{key: text for key, text in notes.items() if text}}
    return {**request, "metadata": meta, "data": data}


def _not_offered(source: Place, offer: Mapping[str, Any] | None, target: Place) -> str:
    if offer is None:
        return f"Secret {source}, which {target} requests, does not exist"
    what = reserved(source.name, str(offer.get("type") or ""))
    if what:
        return f"Secret {source} is {what}, and is never shared"
    if target not in offered_to(offer):
        return (
            f"Secret {source} is not offered to {target}; its owner can offer it with the label "
            f"{SHARED_LABEL}={OFFER} and the annotation {OFFERED_TO_ANNOTATION}={target}"
        )
    return ""


def _way_to_ask(source: Place, target: Place, *, there: bool) -> str:
    state = "does not ask for" if there else "does not exist, which would have"
    return (
        f"Secret {target} {state} {source}; create an empty one with the label "
        f"{SHARED_LABEL}={REQUEST} and the annotation {REQUESTED_FROM_ANNOTATION}={source}"
    )


def _in_the_way(request: Mapping[str, Any]) -> str:
    meta = request["metadata"]
    if (meta.get("labels") or {}).get(MANAGED_BY) or meta.get("ownerReferences"):
        return "another program writes it; use a separate Secret for the request"
    if "deletionTimestamp" in meta:
        return "the Secret is being deleted"
    return "the Secret is immutable; delete it, and create it again" if request.get("immutable") else ""


def _word(secret: Mapping[str, Any]) -> str:
    return str((secret["metadata"].get("labels") or {}).get(SHARED_LABEL) or "")


def _annotation(secret: Mapping[str, Any], name: str) -> str:
    return str((secret["metadata"].get("annotations") or {}).get(name) or "")
