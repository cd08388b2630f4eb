"""What is read and written again and again in a long search, once for each text.

A pass reads the same records of Helm as the one before it, and exports the same clouds.yaml. A search asks
for both some hundred times in each of thousands of sequences.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import lru_cache
from typing import Any
from unittest.mock import patch

from controller.adapters.helm import manifests
from controller.adapters.helm.records import record_texts
from controller.domain.api import region_spec
from controller.domain.credentials import clouds_yaml
from controller.domain.values.chart_values import copied
from controller.ports.kubernetes import KubeObject

MOST = 4096
_RECORDS = "controller.adapters.helm.records.release_records"
_HOOKS = "controller.adapters.helm.records.recorded_hooks"
_HELM = "tests.fakes.stored_helm"
_EXPORT = "controller.reconcile.credentials.exchange.clouds_export"
_parsed = lru_cache(MOST)(manifests.parse_manifests)
_decoded = lru_cache(MOST)(record_texts.decode_record)
_exports: dict[tuple[str, str], str] = {}
# With what each was read from, so that no other has its id: no one changes what the store holds.
_features: dict[int, tuple[Any, region_spec.Features]] = {}
_parse = region_spec.parse_features


def _parse_manifests(text: str) -> tuple[KubeObject, ...]:
    return tuple(map(copied, _parsed(text)))


def _decode_record(data: str, name: str) -> dict[str, Any]:
    return dict(copied(_decoded(data, name)))


def _clouds_yaml(admin: clouds_yaml.Administrator, password: str) -> str:
    place = (repr(admin), password)
    if place not in _exports:
        if len(_exports) > MOST:
            _exports.clear()
        _exports[place] = clouds_yaml.clouds_yaml(admin, password)
    return _exports[place]


def _parse_features(features: Mapping[str, Any] | None) -> region_spec.Features:
    found = _features.get(id(features))
    if found is None:
        if len(_features) > MOST:
            _features.clear()
        found = _features[id(features)] = (features, _parse(features))
    return found[1]


@contextmanager
def known_texts() -> Iterator[None]:
    """While it lasts, what was read or written once is remembered."""
    known = {
        f"{_RECORDS}.parse_manifests": _parse_manifests,
        f"{_HOOKS}.parse_manifests": _parse_manifests,
        f"{_HELM}.parse_manifests": _parse_manifests,
        "controller.adapters.helm.records.record_secrets.decode_record": _decode_record,
        f"{_HELM}.decode_record": _decode_record,
        f"{_EXPORT}.clouds_yaml": _clouds_yaml,
        "controller.domain.api.region_spec.parse_features": _parse_features,
    }
    with ExitStack() as stack:
        for where, what in known.items():
            stack.enter_context(patch(where, what))
        yield
