"""The text of one of Helm's records: JSON, gzipped, in base64, in the Secret's own base64.

Source: helm.sh/helm/v4/pkg/storage/driver/util.go.
"""

from __future__ import annotations

import base64
import binascii
import gzip
import json
import zlib
from collections.abc import Mapping
from typing import Any

from controller.errors import HelmFailed

# More than any Secret can hold: the API server's limit is 1 MiB.
LARGEST_PACKED = 2 * 1024 * 1024
# More than any unpacked release: YAML compresses about 1:10. Larger content is not a release but a bomb.
LARGEST_RECORD = 24 * 1024 * 1024
# Separators of JSON values, also those inside strings: each value takes some hundred octets here.
MOST_SEPARATORS = 1_500_000


def decode_record(data: str, name: str) -> dict[str, Any]:
    """The release in a record. `data` is from the Secret. Raises HelmFailed if it is unreadable."""
    if len(data) > LARGEST_PACKED:
        raise HelmFailed(f"Helm's record {name} is too large to be read")
    try:
        packed = base64.b64decode(base64.b64decode(data, validate=True), validate=True)
        if packed[:2] == b"\x1f\x8b":
            unpacking = zlib.decompressobj(wbits=31)
            packed = unpacking.decompress(packed, LARGEST_RECORD)
            if unpacking.unconsumed_tail:
                raise ValueError("too large")
        if len(packed) > LARGEST_RECORD or sum(map(packed.count, (b",", b"[", b"{"))) > MOST_SEPARATORS:
            raise ValueError("too large")
        record = json.loads(packed)
    except (binascii.Error, zlib.error, ValueError, RecursionError) as error:
        # The error's text could quote the record, which contains secrets.
        raise HelmFailed(f"Helm's record {name} cannot be read ({type(error).__name__})") from None
    if not isinstance(record, dict) or not _is_a_release(record):
        raise HelmFailed(f"Helm's record {name} holds no release")
    return record


def _is_a_release(record: dict[str, Any]) -> bool:
    """Whether the fields that we read have the types of Helm (pkg/release/v1/release.go)."""
    hooks = record.get("hooks") or []
    if not isinstance(hooks, list) or not all(isinstance(hook, dict) for hook in hooks):
        return False
    texts = [record.get("manifest", ""), *(hook.get("manifest", "") for hook in hooks)]
    chart = record.get("chart") or {}
    maps = [record.get("info"), record.get("config"), chart]
    maps += [chart.get("values")] if isinstance(chart, dict) else []
    return all(isinstance(one or {}, dict) for one in maps) and all(isinstance(text, str) for text in texts)


def encode_record(record: Mapping[str, Any]) -> str:
    """The record as `data.release` of its Secret. The same record gives the same text."""
    text = json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode()
    return base64.b64encode(base64.b64encode(gzip.compress(text, mtime=0))).decode()
