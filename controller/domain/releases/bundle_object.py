"""HelmBundle between its two forms: the object that the API stores, and the spec that we act on."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from typing import Any

from controller.domain.api.names import API_VERSION, MANAGED_BY, MANAGED_BY_US
from controller.domain.api.object_meta import ObjectMeta, a, parse_meta
from controller.domain.releases.bundle import (
    DEFAULT_TIMEOUT_SECONDS,
    BundleSpec,
    ChartRef,
    DriftIgnore,
    PlannedSpec,
    ReleaseSpec,
)
from controller.domain.releases.drift.ignore_rules import ignore_objects
from controller.domain.shared.durations import format_duration, parse_duration
from controller.domain.shared.nesting import deeper_than
from controller.domain.values.chart_values import copied
from controller.errors import Problem, SpecInvalid

KIND = "HelmBundle"
SHORTEST_TIMEOUT_SECONDS = 10
LONGEST_TIMEOUT_SECONDS = 24 * 3600
# More than an OpenStackDeployment may have, whose values are a few levels deeper here.
MAX_LEVELS = 120
_MODES = ("Apply", "Plan", "Paused")
_VOLUMES = ("Retain", "Delete")
_DRIFT = ("Correct", "Warn", "Ignore")
# A file of the chart's own that Helm renders.
_TEMPLATE = re.compile(r"templates/[A-Za-z0-9._/-]{1,240}")


@dataclass(frozen=True, kw_only=True)
class Bundle(ObjectMeta):
    """One HelmBundle: who it is, and what is desired of its releases."""

    spec: BundleSpec


def parse_bundle(obj: Mapping[str, Any]) -> Bundle:
    """Reads a HelmBundle. Raises SpecInvalid with every problem found.

    Keys that this version does not know are left to the API server, which refuses them: an object that
    a newer one stored must not stop us from uninstalling its releases.
    """
    meta = parse_meta(obj)
    reader = _Reader()
    spec = reader.mapping(obj, "spec", "spec", required=True)
    if deeper_than(spec, MAX_LEVELS):
        reader.refuse("spec", f"is nested more than {MAX_LEVELS} levels deep", "write flatter values")
        raise SpecInvalid(reader.problems)
    parsed = BundleSpec(
        releases=reader.releases(spec, "spec", meta.namespace),
        mode=reader.choice(spec, "mode", "spec.mode", _MODES),
        volumes=reader.choice(spec, "volumes", "spec.volumes", _VOLUMES),
        planned=reader.planned(spec, meta.namespace),
    )
    if reader.problems:
        raise SpecInvalid(reader.problems)
    return Bundle(**vars(meta), spec=parsed)


def bundle_object(
    *,
    name: str,
    namespace: str,
    spec: BundleSpec,
    labels: Mapping[str, str],
    annotations: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """The HelmBundle to apply. Deterministic, and `parse_bundle` of it gives `spec` again.

    It names no owner: Kubernetes would delete it with an osdpl that a restore has made again, under another
    uid, and its releases would be uninstalled. Whose it is its labels tell.
    """
    metadata: dict[str, Any] = {
        "name": name,
        "namespace": namespace,
        "labels": {MANAGED_BY: MANAGED_BY_US, **labels},
    }
    if annotations:
        metadata["annotations"] = dict(annotations)
    return {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "metadata": metadata,
        "spec": {"mode": spec.mode, **_releases_object(spec), **_planned_object(spec)},
    }


def _releases_object(spec: BundleSpec | PlannedSpec) -> dict[str, Any]:
    return {"volumes": spec.volumes, "releases": [_release_object(release) for release in spec.releases]}


def _planned_object(spec: BundleSpec) -> dict[str, Any]:
    return {"planned": _releases_object(spec.planned)} if spec.planned is not None else {}


def _release_object(release: ReleaseSpec) -> dict[str, Any]:
    chart = {
        "name": release.chart.name,
        "version": release.chart.version,
        "path": release.chart.path,
        "repository": release.chart.repository,
        "credentialsSecret": release.chart.credentials_secret,
        "caSecret": release.chart.ca_secret,
        "omitTemplates": list(release.chart.omit_templates),
    }
    return {
        "name": release.name,
        "namespace": release.namespace,
        "chart": {key: value for key, value in chart.items() if value},
        "values": copied(dict(release.values)),
        "dependsOn": list(release.depends_on),
        "timeout": format_duration(release.timeout),
        "drift": release.drift,
        **({"driftIgnore": ignore_objects(release.drift_ignore)} if release.drift_ignore else {}),
        "suspend": release.suspend,
    }


@dataclass
class _Reader:
    """Reads raw fields, and gathers what is wrong with them instead of stopping at the first."""

    problems: list[Problem] = field(default_factory=list)

    def refuse(self, path: str, message: str, remedy: str = "") -> None:
        self.problems.append(Problem(path, message, remedy))

    def mapping(self, parent: Mapping[str, Any], key: str, path: str, *, required: bool = False) -> Any:
        value = parent.get(key)
        if isinstance(value, Mapping):
            return value
        if value is not None or required:
            self.refuse(path, f"expected a map, got {a(value)}")
        return {}

    def items(self, parent: Mapping[str, Any], key: str, path: str, *, required: bool = False) -> list[Any]:
        value = parent.get(key)
        if isinstance(value, list):
            return value
        if value is not None or required:
            self.refuse(path, f"expected a list, got {a(value)}")
        return []

    def text(self, parent: Mapping[str, Any], key: str, path: str, *, required: bool = False) -> str:
        value = parent.get(key)
        if isinstance(value, str) and (value or not required):
            return value
        if value is not None or required:
            self.refuse(path, f"expected a string, got {a(value)}" if value != "" else "must not be empty")
        return ""

    def choice(self, parent: Mapping[str, Any], key: str, path: str, choices: Sequence[str]) -> Any:
        """One of the choices; the first is the default."""
        value = self.text(parent, key, path) or choices[0]
        if value not in choices:
            self.refuse(path, f"must be one of {', '.join(choices)}")
            return choices[0]
        return value

    def truth(self, parent: Mapping[str, Any], key: str, path: str) -> bool:
        value = parent.get(key)
        if not isinstance(value, bool | None):
            self.refuse(path, f"expected true or false, got {a(value)}")
        return value is True

    def seconds(self, parent: Mapping[str, Any], key: str, path: str) -> int:
        text = self.text(parent, key, path)
        if not text:
            return DEFAULT_TIMEOUT_SECONDS
        try:
            seconds = parse_duration(text)
        except ValueError as error:
            self.refuse(path, str(error))
            return DEFAULT_TIMEOUT_SECONDS
        if not SHORTEST_TIMEOUT_SECONDS <= seconds <= LONGEST_TIMEOUT_SECONDS:
            self.refuse(path, "the timeout must be between 10s and 24h")
        return seconds

    def unique(self, names: Sequence[str], path: str) -> None:
        for name in sorted({name for name in names if name and names.count(name) > 1}):
            self.refuse(path, f'release "{name}" is listed more than once')

    def release(self, item: object, path: str, namespace: str) -> ReleaseSpec:
        if not isinstance(item, Mapping):
            self.refuse(path, f"expected a map, got {a(item)}")
            item = {"name": "?", "chart": {"name": "?", "path": "?"}}
        name = self.text(item, "name", f"{path}.name", required=True)
        desired = self.items(item, "dependsOn", f"{path}.dependsOn")
        depends_on = tuple(dependency for dependency in desired if isinstance(dependency, str))
        if len(depends_on) < len(desired):
            self.refuse(f"{path}.dependsOn", "expected names of releases")
        if name and name in depends_on:
            self.refuse(f"{path}.dependsOn", "a release cannot depend on itself")
        return ReleaseSpec(
            name=name,
            namespace=self.namespace(item, f"{path}.namespace", namespace),
            chart=self.chart(item, f"{path}.chart"),
            values=self.mapping(item, "values", f"{path}.values"),
            depends_on=depends_on,
            timeout=self.seconds(item, "timeout", f"{path}.timeout"),
            drift=self.choice(item, "drift", f"{path}.drift", _DRIFT),
            drift_ignore=self.drift_ignore(item, f"{path}.driftIgnore"),
            suspend=self.truth(item, "suspend", f"{path}.suspend"),
        )

    def drift_ignore(self, item: Mapping[str, Any], path: str) -> tuple[DriftIgnore, ...]:
        rules = []
        for place, rule in enumerate(self.items(item, "driftIgnore", path)):
            where = f"{path}[{place}]"
            if not isinstance(rule, Mapping):
                self.refuse(where, f"expected a map, got {a(rule)}")
                continue
            paths = self.items(rule, "paths", f"{where}.paths", required=True)
            if not all(isinstance(one, str) and one.startswith("/") for one in paths):
                self.refuse(f"{where}.paths", "expected JSON pointers", "write /spec/replicas, for example")
                paths = []
            kind = self.text(rule, "kind", f"{where}.kind")
            rules.append(DriftIgnore(kind, self.text(rule, "name", f"{where}.name"), tuple(paths)))
        return tuple(rules)

    def namespace(self, item: Mapping[str, Any], path: str, own: str) -> str:
        """The bundle's own: rights, Secrets and dependencies all end at the namespace."""
        value = self.text(item, "namespace", path) or own
        if value != own:
            self.refuse(
                path,
                f'a release must be in the namespace of its bundle, "{own}", not in "{value}"',
                f'omit it, or move the bundle to "{value}"',
            )
        return own

    def releases(self, given: Mapping[str, Any], path: str, namespace: str) -> tuple[ReleaseSpec, ...]:
        path = f"{path}.releases"
        found = tuple(
            self.release(item, f"{path}[{index}]", namespace)
            for index, item in enumerate(self.items(given, "releases", path, required=True))
        )
        self.unique([release.name for release in found], path)
        self.acyclic(found, path)
        return found

    def planned(self, spec: Mapping[str, Any], namespace: str) -> PlannedSpec | None:
        if spec.get("planned") is None:
            return None
        path = "spec.planned"
        given = self.mapping(spec, "planned", path)
        return PlannedSpec(
            releases=self.releases(given, path, namespace),
            volumes=self.choice(given, "volumes", f"{path}.volumes", _VOLUMES),
        )

    def acyclic(self, releases: Sequence[ReleaseSpec], path: str) -> None:
        """No release may wait, over others of the bundle, for itself."""
        places = {release.name: place for place, release in enumerate(releases)}
        order: TopologicalSorter[str] = TopologicalSorter()
        for release in releases:
            # What depends on itself is reported by its own problem.
            inside = [name for name in release.depends_on if name in places and name != release.name]
            order.add(release.name, *inside)
        try:
            order.prepare()
        except CycleError as error:
            # Each name is a predecessor of the next, and the first is also the last.
            circle = list(reversed(error.args[1]))[1:]
            first = circle.index(min(circle, key=places.__getitem__))
            named = [*circle[first:], *circle[:first]]
            self.refuse(
                f"{path}[{places[named[0]]}].dependsOn",
                f"the dependencies form a circle: {' → '.join([*named, named[0]])}",
                "remove one of them from dependsOn",
            )

    def templates(self, given: Mapping[str, Any], path: str) -> tuple[str, ...]:
        found = self.items(given, "omitTemplates", path)
        if not all(isinstance(one, str) and _TEMPLATE.fullmatch(one) for one in found):
            remedy = "write templates/certificates.yaml, for example"
            self.refuse(path, "expected names of files below templates/", remedy)
            return ()
        return tuple(found)

    def chart(self, item: Mapping[str, Any], path: str) -> ChartRef:
        given = self.mapping(item, "chart", path, required=True)
        chart = ChartRef(
            name=self.text(given, "name", f"{path}.name", required=True),
            version=self.text(given, "version", f"{path}.version"),
            path=self.text(given, "path", f"{path}.path"),
            repository=self.text(given, "repository", f"{path}.repository"),
            credentials_secret=self.text(given, "credentialsSecret", f"{path}.credentialsSecret"),
            ca_secret=self.text(given, "caSecret", f"{path}.caSecret"),
            omit_templates=self.templates(given, f"{path}.omitTemplates"),
        )
        if given and bool(chart.path) == bool(chart.repository):
            self.refuse(path, "exactly one of path and repository must be set")
        if chart.repository and not chart.version and not chart.repository.startswith("file:"):
            self.refuse(f"{path}.version", "a chart from a network repository needs an exact version")
        return chart
