"""The values that a check of a service looks at: those of all nodes, or those of nodes with a label. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from controller.domain.values.chart_values import DocumentPath, Path, Values, coalesced, lookup
from controller.domain.values.layer_order import LayerKind
from controller.domain.values.merge import MergedValues

_OURS = (LayerKind.VERSION, LayerKind.PRESET, LayerKind.SIZE, LayerKind.SERVICE, LayerKind.EVERY_RELEASE)
_NOTHING = object()


@dataclass(frozen=True)
class CheckedValues:
    """Final values of a release. `root` is where those of a label lie in it, empty for those of all nodes."""

    merged: MergedValues
    values: Values
    root: DocumentPath = ()

    def chosen(self, path: Path) -> bool:
        """Whether anything but the chart has set the value, or something below it."""
        return self._is_of_label(path) or self.merged.history.layer_of(path) is not None

    def own(self, path: Path) -> bool:
        """Whether the operator has set the value, or something below it."""
        return self._is_of_label(path) or is_operators(self.merged, *path)

    def place(self, path: Path) -> tuple[str, str]:
        """The field of the spec that sets the value, and its line; empty where none does."""
        history = self.merged.history
        if self.root:
            setting = history.setting_of(self.root)
            at = (*self.root, *path) if self._is_of_label(path) else self.root
            return (setting.origin.full_path(at), setting.origin.place(at)) if setting else ("", "")
        set_by = history.setting_of(path)
        layer = set_by.origin if set_by is not None else history.layer_of(path)
        if layer is None or layer.root[:1] != ("spec",):
            return "", ""
        return layer.full_path(path), layer.place(path)

    def _is_of_label(self, path: Path) -> bool:
        return bool(self.root) and lookup(self.merged.values, (*self.root, *path), _NOTHING) is not _NOTHING


def checked_values(release: str, merged: MergedValues, daemonset: str = "") -> Iterator[CheckedValues]:
    """The values of all nodes, and with a DaemonSet those of nodes with each label of spec.nodes."""
    yield CheckedValues(merged, merged.values)
    key = f"{release}_{daemonset}"
    labels = lookup(merged.values, ("conf", "overrides", key, "labels")) if daemonset else ()
    for index, body in enumerate(labels if isinstance(labels, list) else ()):
        own = {"conf": body.get("conf") or {}}
        yield CheckedValues(
            merged, coalesced(merged.values, own), ("conf", "overrides", key, "labels", index)
        )
    named = lookup(merged.values, ("overrides", key, "labels")) if daemonset else ()
    for label, body in named.items() if isinstance(named, dict) else ():
        root: DocumentPath = ("overrides", key, "labels", label, "values")
        yield CheckedValues(merged, coalesced(merged.values, _values_of(body)), root)


def is_operators(merged: MergedValues, *path: str) -> bool:
    """Whether a value, or something below it, is neither the chart's nor ours."""
    layer = merged.history.layer_of(path)
    if layer is not None and layer.name == LayerKind.IMAGES and path[:2] == ("images", "tags"):
        # A registry has a copy of the same image. Only an image that the spec names is another one.
        return path in layer.origins
    return layer is not None and not any(f"{layer.name} ".startswith(f"{kind} ") for kind in _OURS)


def _values_of(body: Any) -> Values:
    found = body.get("values") if isinstance(body, dict) else None
    return found if isinstance(found, dict) else {}
