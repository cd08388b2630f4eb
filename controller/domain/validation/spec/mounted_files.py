"""Files that options of an operator name, and that no pod of the release has: its service fails, or goes on
without them. Pure.

A pod has what its containers mount from ConfigMaps, Secrets, claims and the host, and what an init container
may have written into an empty volume.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from controller.domain.api.spec_rules import effects as rules
from controller.domain.validation.dangling import CONFIGMAP, SECRET, Made, pod_of, sources_of
from controller.domain.values.chart_values import DocumentPath, format_path
from controller.domain.values.merge import MergedValues
from controller.domain.values.names.file_options import files_of_options, is_in_images
from controller.domain.values.option_files import OptionFiles
from controller.errors import Problem

Object = Mapping[str, Any]
_FEATURES = ("spec", "features")
_KEYSTONE = "keystone"
# How names of directives of mod_auth_openidc end whose words are files; a cookie's path is of an address.
_FILE_DIRECTIVES = ("path", "file", "files", "cert", "key", "template", "templates")
_OF_BROWSERS = ("oidccookiepath",)


@dataclass(frozen=True)
class _Mount:
    """A place in a container, with the files that it certainly has alone; None for any."""

    path: str
    names: frozenset[str] | None

    def has(self, file: str) -> bool:
        if file == self.path:
            return True
        below = file.removeprefix(self.path.rstrip("/") + "/")
        return below != file and (self.names is None or below.partition("/")[0] in self.names)


@dataclass(frozen=True)
class NamedFile:
    """A file, and where the operator names it."""

    file: str
    path: str
    source: str = ""


def named_files(
    chart: str, merged: MergedValues, files: OptionFiles, features: Mapping[str, Any]
) -> list[NamedFile]:
    """Those that options of a release name, as the spec sets them: in values, in values for labelled nodes,
    and in fields of its features."""
    of_features = {file: path for path, file in _texts(features, _FEATURES) if file.startswith("/")}
    found: dict[tuple[str, str], NamedFile] = {}
    for path, file in files_of_options(merged.values, files.with_chart(chart)):
        setting = merged.history.setting_of(path)
        if setting is None:
            continue
        if setting.path.startswith("spec."):
            place = setting.origin.full_path(path), setting.origin.place(path)
        elif file in of_features:
            place = format_path(of_features[file]), ""
        else:
            continue
        found[file, place[0]] = NamedFile(file, *place)
    return [*found.values(), *(_of_directives(features) if chart == _KEYSTONE else ())]


def unmounted(
    release: str, named: Iterable[NamedFile], objects: Iterable[Object], made: Made
) -> Iterator[Problem]:
    """A warning for each of them that no pod among the objects of the release has."""
    mounts = [mount for obj in objects for mount in _mounts(obj, made)]
    for one in named:
        if not any(mount.has(one.file) for mount in mounts):
            yield rules.FILE_NOT_MOUNTED.at(one.path, source=one.source, file=one.file, release=release)


def _of_directives(features: Mapping[str, Any]) -> Iterator[NamedFile]:
    """Those of lines for Apache's module of sign-in providers."""
    for index, line in enumerate(features["identity"]["federation"]["directives"]):
        name, *words = line.split()
        if not name.lower().endswith(_FILE_DIRECTIVES) or name.lower() in _OF_BROWSERS:
            continue
        path = format_path((*_FEATURES, "identity", "federation", "directives", index))
        for file in (word.strip("\"'").rpartition("#")[2] for word in words):
            if file.startswith("/") and not is_in_images(file):
                yield NamedFile(file, path)


def _texts(value: Any, path: DocumentPath) -> Iterator[tuple[DocumentPath, str]]:
    parts = (
        value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else ()
    )
    for key, part in parts:
        yield from _texts(part, (*path, key))
    if isinstance(value, str):
        yield path, value


def _mounts(obj: Object, made: Made) -> Iterator[_Mount]:
    pod, claims = pod_of(obj)
    if pod is None:
        return
    first, rest = list(pod.get("initContainers") or ()), list(pod.get("containers") or ())
    volumes = {one["name"]: one for one in pod.get("volumes") or ()}
    filled = {mount["name"] for one in first for mount in one.get("volumeMounts") or ()}
    for container in (*first, *rest):
        for mount in container.get("volumeMounts") or ():
            volume = volumes.get(mount["name"])
            place = posixpath.normpath(str(mount["mountPath"]))
            if mount.get("subPath"):
                yield _Mount(place, None)
            elif mount["name"] in claims or (volume is not None and "emptyDir" not in volume):
                yield _Mount(place, _names(volume, made) if volume is not None else None)
            elif mount["name"] in filled:
                yield _Mount(place, None)


def _names(volume: Mapping[str, Any], made: Made) -> frozenset[str] | None:
    """The files that a volume shows; None where that is not known."""
    known: set[str] = set()
    found = list(sources_of(volume))
    for kind, name, source in found:
        if kind not in (CONFIGMAP, SECRET):
            return None
        items = source.get("items")
        keys = made.keys.get((kind, name))
        if items:
            known |= {str(item["path"]).partition("/")[0] for item in items}
        elif keys is None:
            return None
        else:
            known |= keys
    return frozenset(known) if found else None
