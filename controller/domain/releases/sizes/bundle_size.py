"""Whether etcd takes a HelmBundle, known before the API server is asked to store it. Pure.

An object is stored as one JSON text with all releases of a service. etcd refuses a request above 1.5 MiB
(`--max-request-bytes`); a dry run does not get that far. helmbundle's status lies in the same object.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from controller.domain.api.spec_rules.rule import Finding
from controller.domain.api.spec_rules.values import BUNDLE_TOO_LARGE
from controller.domain.releases.bundle import BundleSpec
from controller.domain.releases.bundle_object import bundle_object
from controller.errors import Problem

LIMIT = 1536 * 1024
# The status, who manages which field, and the keys of the request.
_ROOM = 128 * 1024
MOST = LIMIT - _ROOM
# So many of the largest parts are named, and none that is far smaller than the first.
_NAMED = 3
_WORTH_A_WORD = 0.1


def object_octets(obj: Any) -> int:
    """Size of an object as the API server stores it: Go's JSON has six octets for each `<`, `>` and `&`."""
    text = json.dumps(obj, ensure_ascii=False, separators=(",", ":"), default=str)
    return len(text.encode("utf-8", "surrogatepass")) + 5 * sum(map(text.count, "<>&"))


def bundle_too_large(obj: Mapping[str, Any]) -> str:
    """Why etcd does not take this HelmBundle, empty where it does."""
    found = _excess(obj)
    return found.message if found is not None else ""


def size_problem(service: str, spec: BundleSpec) -> Problem | None:
    """The same of the bundle of a service that is to be made."""
    obj = bundle_object(name=service, namespace="", spec=spec, labels={})
    found = _excess(obj)
    return found.at(f"spec.services.{service}") if found is not None else None


def _excess(obj: Mapping[str, Any]) -> Finding | None:
    octets = object_octets(obj)
    if octets <= MOST:
        return None
    largest = _largest((str(one.get("name")), one) for one in _releases(obj["spec"]))
    named = "; ".join(f"{name} {_kib(size)}{_keys(release)}" for name, size, release in largest)
    return Finding(BUNDLE_TOO_LARGE, {"octets": _kib(octets), "most": _kib(MOST), "named": named})


def _releases(spec: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Also those of a plan, which stand beside what runs."""
    planned = (spec.get("planned") or {}).get("releases") or ()
    return [*(spec.get("releases") or ()), *planned]


def _keys(release: Mapping[str, Any]) -> str:
    """Of a release the keys that most of it is under."""
    largest = _largest((release.get("values") or {}).items())
    return f" ({', '.join(f'{key} {_kib(size)}' for key, size, _ in largest)})" if largest else ""


def _largest(parts: Iterable[tuple[str, Any]]) -> list[tuple[str, int, Any]]:
    sized = sorted(
        ((name, object_octets(part), part) for name, part in parts), key=lambda one: (-one[1], one[0])
    )
    return [one for one in sized if one[1] >= sized[0][1] * _WORTH_A_WORD][:_NAMED]


def _kib(octets: int) -> str:
    return f"{-(-octets // 1024)} KiB"
