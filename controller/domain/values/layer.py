"""One layer of values: what one place sets, and the file and line of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from controller.domain.values.chart_values import DocumentPath, Values, format_path
from controller.domain.values.source_lines import nearest_line


@dataclass(frozen=True)
class Layer:
    """Values from one place.

    `name` is what people call it (`size small`, `services`), `source` the file it was read from (empty
    for an object that came from the API), `root` where its values lie in that file or object, and
    `lines` the line of each path of the file, counted from 1. `origins` are given where values do not lie
    in the file as they are: the field of the file behind each path of the values, and all below it.
    """

    name: str
    values: Values
    source: str = ""
    root: DocumentPath = ()
    lines: Mapping[DocumentPath, int] = field(default_factory=dict)
    origins: Mapping[DocumentPath, DocumentPath] = field(default_factory=dict)

    def place(self, path: DocumentPath) -> str:
        """Where this layer sets the path: `values/sizes/small.yaml:41`; the source if no line is known.

        Empty for a field that the file does not have: its default counts then.
        """
        origin = self._origin(path)
        if origin and self.lines and origin not in self.lines:
            return ""
        line = nearest_line(self.lines, origin or (*self.root, *path))
        return f"{self.source}:{line}" if self.source and line else self.source

    def full_path(self, path: DocumentPath) -> str:
        """The path as seen from the top of the source: `spec.services.compute.nova.values.conf…`"""
        return format_path(self._origin(path) or (*self.root, *path))

    def _origin(self, path: DocumentPath) -> DocumentPath:
        """The field behind the path, empty where the path is the field."""
        for length in range(len(path), 0, -1) if self.origins else ():
            if path[:length] in self.origins:
                return self.origins[path[:length]]
        return ()
