"""Digests that decide whether anything has to be done, and that may be published."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Mapping
from typing import Any

from controller.domain.releases.bundle import ChartRef
from controller.domain.values.chart_values import Values
from controller.errors import ControllerError


class NotJson(ControllerError):
    """Something that JSON cannot carry stands where values were expected."""


def canonical_json(value: Any) -> bytes:
    """The one JSON text of a value: keys sorted, no spaces, UTF-8.

    Equal values give equal octets whatever the order of their keys. Raises NotJson for keys that are
    no texts, for NaN and infinities, and for types that JSON lacks: each would let two different
    values have one text.
    """
    _check_keys(value)
    try:
        text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
        return text.encode()
    except (TypeError, ValueError) as error:
        # Only the kind of the mistake is reported: the value may be a secret.
        raise NotJson(f"not a JSON value ({type(error).__name__})") from None


def _check_keys(value: Any) -> None:
    if isinstance(value, Mapping):
        for key, part in value.items():
            if not isinstance(key, str):
                raise NotJson(f"a key is of type {type(key).__name__}, not a text")
            _check_keys(part)
    elif isinstance(value, list | tuple):
        for part in value:
            _check_keys(part)


def values_digest(chart_digest: str, chart_version: str, values: Values, key: bytes) -> str:
    """The digest of a release's chart and values, as 64 hex digits.

    `values` are resolved and contain secrets. The digest is published, so it is keyed (HMAC-SHA256) with
    `key`, the installation's own; without the key, passwords cannot be tested against it.
    """
    return _keyed(key, "release", [chart_digest, chart_version, values])


def spec_digest(chart: ChartRef, values: Values, key: bytes) -> str:
    """What a release is asked to be, as 64 hex digits, keyed as `values_digest`.

    It need not read the chart itself.
    """
    # What runs without such files is not to be upgraded for the name of an empty list.
    omitted = [list(chart.omit_templates)] if chart.omit_templates else []
    return _keyed(key, "spec", [chart.name, chart.version, chart.repository, values, *omitted])


def secret_digest(texts: Mapping[str, str], key: bytes) -> str:
    """What a Secret holds, as 64 hex digits, keyed as `values_digest`. `texts`: key to text."""
    return _keyed(key, "secret", texts)


def fingerprint(spec: Mapping[str, Any]) -> str:
    """`sha256:` and 64 hex digits of an effective spec, which refers to secrets and holds none."""
    return f"sha256:{hashlib.sha256(canonical_json(spec)).hexdigest()}"


def _keyed(key: bytes, purpose: str, value: Any) -> str:
    # The purpose keeps a digest of one kind from ever equalling one of another.
    return hmac.new(key, canonical_json([purpose, value]), hashlib.sha256).hexdigest()
