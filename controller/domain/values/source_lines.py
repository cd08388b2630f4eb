"""The line of a file that a value comes from."""

from __future__ import annotations

from collections.abc import Mapping

from controller.domain.values.chart_values import DocumentPath


def nearest_line(lines: Mapping[DocumentPath, int], path: DocumentPath) -> int:
    """The line of the path, or of the nearest path above it that has one; 0 if there is none."""
    for length in range(len(path), 0, -1):
        line = lines.get(path[:length])
        if line is not None:
            return line
    return 0
