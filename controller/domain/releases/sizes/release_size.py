"""How large Helm's record of a release will be, known before Helm is asked to write it. Pure.

Helm keeps a revision in one Secret: the release as JSON (its chart with every template, the values, the
manifest, the hooks), gzipped, in base64 (helm.sh/helm/v4/pkg/storage/driver). The API server refuses a
Secret whose values are larger than 1 MiB together (k8s.io/api/core/v1, MaxSecretSize); base64 of the
Secret's own JSON does not count there.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Mapping

from controller.domain.values.chart_values import Values

LIMIT = 1024 * 1024
WARN_FROM = 0.7
# What the record holds beside: names, times, the status and description of the revision.
_FRAME = 220
_LARGEST_COMPRESSION = 9
_NO_TIME = "2026-01-01T00:00:00Z"


def release_octets(files: Mapping[str, bytes], defaults: Values, values: Values, manifest: str) -> int:
    """Size of the record's content in its Secret, as the API server counts it; right to a few per cent.

    `files` are those of the chart by name, `defaults` its values.yaml as read, `values` what is sent to
    Helm with secrets resolved, `manifest` everything rendered, hooks included.
    """
    templates: list[dict[str, str]] = []
    others: list[dict[str, str]] = []
    for name, content in sorted(files.items()):
        # Subcharts are rendered from, and not recorded.
        if name.startswith("charts/") or name in ("values.yaml", "Chart.yaml", "Chart.lock"):
            continue
        entry = {"name": name, "modtime": _NO_TIME, "data": base64.b64encode(content).decode()}
        (templates if name.startswith("templates/") else others).append(entry)
    schema = files.get("values.schema.json")
    record = {
        "chart": {
            "metadata": files.get("Chart.yaml", b"").decode(errors="replace"),
            "lock": files.get("Chart.lock", b"").decode(errors="replace"),
            "templates": templates,
            "values": defaults,
            "schema": base64.b64encode(schema).decode() if schema else None,
            "files": others,
        },
        "config": values,
        "manifest": manifest,
    }
    text = json.dumps(record, ensure_ascii=False, separators=(",", ":"), default=str).encode()
    packed = len(gzip.compress(text, compresslevel=_LARGEST_COMPRESSION, mtime=0)) + _FRAME
    return (packed + 2) // 3 * 4


def too_large(octets: int) -> str:
    """Why a release of this size cannot be written, and what to do; empty when it can."""
    if octets <= LIMIT:
        return ""
    return (
        f"Helm's record of the release would take {_kib(octets)}, and a Secret holds at most "
        f"{_kib(LIMIT)}: Helm is "
        "not called, and running pods are untouched; make its values smaller (move large files into "
        "your own ConfigMaps, use fewer extraObjects), or divide the release"
    )


def nearly_too_large(octets: int) -> str:
    """The warning of a release that comes near the limit; empty below that."""
    if octets < WARN_FROM * LIMIT or octets > LIMIT:
        return ""
    share = round(100 * octets / LIMIT)
    return (
        f"Helm's record of the release takes {_kib(octets)}, {share} % of what a Secret can "
        "hold; the controller refuses a larger record"
    )


def _kib(octets: int) -> str:
    return f"{round(octets / 1024)} KiB"
