"""Charts packed into archives in memory."""

from __future__ import annotations

import gzip
import io
import tarfile
from collections.abc import Mapping


def packed(name: str, files: Mapping[str, str | bytes]) -> bytes:
    """The archive of a chart; the same octets for the same files."""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w") as archive:
        for path, content in sorted(files.items()):
            data = content.encode() if isinstance(content, str) else content
            member = tarfile.TarInfo(f"{name}/{path}")
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return gzip.compress(raw.getvalue(), mtime=0)


def small_chart(name: str = "web", version: str = "0.1.0", values: str = "size: 1\n") -> bytes:
    """A chart of one ConfigMap, packed."""
    return packed(
        name,
        {
            "Chart.yaml": f"apiVersion: v2\nname: {name}\nversion: {version}\n",
            "values.yaml": values,
            "templates/a.yaml": (
                "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Release.Name }}}\n"
                "data: {size: {{ .Values.size | quote }}}\n"
            ),
        },
    )
