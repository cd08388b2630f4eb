"""No silent no-op: what Helm makes of a release changes with every value that ours set.

Maps that a chart passes on whole, such as the sections of an oslo.config file, show it too: what is in them
comes out in a file. So each is given a mark of its own, and what is seen of the marks is read; the others are
changed and taken away, one after the other.
"""

from __future__ import annotations

import base64
import copy
import fnmatch
import json
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from controller.domain.releases.bundle import ChartRef
from controller.domain.values.chart_values import Path as Keys
from controller.domain.values.secret_refs import resolve
from tests.fakes.option_files import option_files
from tests.helm_program import Chart, HelmError
from tests.upstream.covering import covering
from tests.upstream.regions import MADE_UP, NAMESPACE, region, releases, specs, store
from tools.upstream_rights import recorded_rights

pytestmark = [pytest.mark.upstream, pytest.mark.timeout(1800)]

# What makes no difference in any region, with the reason; `chart: path`, in which `*` stands for anything.
UNREAD: Mapping[str, str] = {
    "*: pod.resources.*": "of Jobs that are off, too; test_production.py looks at each container",
    "*: images.tags.*": "a version names the images of all Jobs, also of those that are off",
    "*: endpoints.oci_image_registry.auth.*": "an example of the chart, taken away",
    "*: endpoints.cluster_domain_suffix": "not every chart speaks to another service",
    "*: endpoints.*.host_fqdn_override.public.host": "all releases know all public names; few link to them",
    "*: endpoints.*.port.*.public": "the same",
    "*: endpoints.*.scheme.*": "the same",
    "*: endpoints.*.auth.*": "accounts of Jobs and backends that are off have no password of the chart's",
    "*: endpoints.oslo_db.host_fqdn_override.default.tls.secretName": "of a client the chart names it itself",
    "mariadb: endpoints.identity.auth.*": "its Job for an account is off",
    "cinder: backup.posix.volume.class_name": "of a claim that is never made",
    "cinder: bootstrap.volume_types.name": "an example of the chart, taken away",
    "cinder: pod.replicas.backup": "backups are a feature of their own",
    "cinder: storage": "read by helm-toolkit's Ceph scripts of older builds",
    "cinder: manifests.pvc_backup": "backups on a claim are off by their driver, too",
    "designate: pod.replicas.sink": "its sink is off unless values switch it on",
    "horizon: conf.horizon.local_settings.config.keystone_domains.example_domain": "an example, taken away",
    "manila: endpoints.identity.auth.test.*": "its test is off",
    "neutron: manifests.daemonset_ovs_agent": "with OVN off by network.backend, too",
    "neutron: pod.priorityClassName.bgp_dragent": "of an agent that an extension switches on",
    "neutron: pod.priorityClassName.neutron_ovn_agent": "of an agent that people switch on",
    "neutron: pod.priorityClassName.neutron_sriov_agent": "the same; a recipe does",
    "ovn: pod.tolerations.ovn_bgp_agent.*": "of an agent that a recipe switches on (test_hypervisor_pods.py)",
    "nova: conf.ceph.cinder.secret_uuid": "the chart's is the same in every region; libvirt reads it",
    "nova: conf.nova.vnc.enabled": "written by the chart from console.console_kind",
    "nova: manifests.*_serialproxy": "off by console.console_kind, too",
    "nova: manifests.*_spiceproxy": "off by console.console_kind, too",
}
# Short enough for Helm to write them out, and no part of a digest.
_FIRST_MARK = 731000
_MARK = re.compile(r"zq(\d{6})q|(?<![0-9a-f])(73[1-9]\d{3})(?![0-9a-f])")
_ENCODED = re.compile(r"[A-Za-z0-9+/]{16,}={0,2}")


class _Release(NamedTuple):
    """One that Helm is given: some without a template of the chart."""

    name: str
    chart: ChartRef


@cache
def _releases(charts: Path) -> Mapping[str, list[tuple[_Release, str]]]:
    """By chart, every release that differs from the others, and its values as JSON."""
    found: dict[str, dict[tuple[_Release, str], None]] = defaultdict(dict)
    for spec in {**covering(), **specs()}.values():
        for release in releases(region(charts, spec)):
            values = resolve(
                release.spec.values, lambda name, key: f"{MADE_UP}-{name}-{key}", option_files()
            ).values
            given = _Release(release.spec.name, release.spec.chart)
            found[given.chart.name][given, json.dumps(values, sort_keys=True)] = None
    return {chart: list(each) for chart, each in found.items()}


def _leaves(value: Any, path: Keys = ()) -> Iterator[Keys]:
    if isinstance(value, dict) and value:
        for key, item in value.items():
            yield from _leaves(item, (*path, key))
    else:
        yield path


def _otherwise(values: Any, path: Keys) -> Iterator[Any]:
    """The values with another leaf there, and without it."""
    for change in (_another, None):
        changed = copy.deepcopy(values)
        below = changed
        for key in path[:-1]:
            below = below[key]
        if change is None:
            del below[path[-1]]
        elif below[path[-1]] is None:
            continue  # a deletion: what there is without it says whether it is read
        else:
            below[path[-1]] = change(below[path[-1]])
        yield changed


def _at(values: Any, path: Keys) -> Any:
    for key in path:
        values = values[key]
    return values


def _marks(made: Mapping[str, str]) -> set[int]:
    """Those in texts, and in what Secrets hold of files."""
    texts = list(made.values())
    for text in made.values():
        for encoded in _ENCODED.findall(text):
            with suppress(ValueError):
                texts.append(base64.b64decode(encoded, validate=True).decode(errors="replace"))
    return {int(one or other) for text in texts for one, other in _MARK.findall(text)}


def _markable(path: Keys, leaf: Any) -> bool:
    """Not numbers of replicas: charts count up to them, and would never come to an end."""
    return isinstance(leaf, str | int) and not isinstance(leaf, bool) and "replicas" not in path


def _another(leaf: Any) -> Any:
    if isinstance(leaf, bool):
        return not leaf
    if isinstance(leaf, int | float):
        return leaf + 1
    if isinstance(leaf, list):
        return leaf[1:] or ["another"]
    return f"{leaf}x" if isinstance(leaf, str) else {"another": "x"}


class _Renderer:
    def __init__(self) -> None:
        self._charts: dict[ChartRef, Chart] = {}
        self._base: dict[tuple[_Release, str], Mapping[str, str]] = {}

    def reads(self, release: _Release, text: str, path: Keys) -> bool:
        """Whether objects differ, or there are none at all, with another leaf."""
        base = self._unchanged(release, text)
        for values in _otherwise(json.loads(text), path):
            try:
                if self._made(release, values) != base:
                    return True
            except HelmError:
                return True
        return False

    def shown(self, release: _Release, text: str, paths: Iterable[Keys]) -> set[Keys]:
        """Of these leaves, those whose marks come out somewhere, with all of a part of the values marked."""
        values, before = json.loads(text), _marks(self._unchanged(release, text))
        parts: dict[str, list[Keys]] = defaultdict(list)
        for path in paths:
            if _markable(path, _at(values, path)):
                parts[path[0]].append(path)
        found: set[Keys] = set()
        for part in parts.values():
            found |= self._shown(release, values, part, before)
        return found

    def _shown(self, release: _Release, values: Any, paths: list[Keys], before: Collection[int]) -> set[Keys]:
        marked = copy.deepcopy(values)
        free = (mark for mark in count(_FIRST_MARK) if mark not in before)
        marks = dict(zip(paths, free, strict=False))
        for path, mark in marks.items():
            leaf = _at(values, path)
            _at(marked, path[:-1])[path[-1]] = mark if isinstance(leaf, int) else f"{leaf}zq{mark}q"
        try:
            made = self._made(release, marked)
        except HelmError:
            # Some may be no number, or name what has to be there.
            half = len(paths) // 2
            parts = (paths[:half], paths[half:]) if half else ()
            return {path for part in parts for path in self._shown(release, values, part, before)}
        there = _marks(made)
        return {path for path, mark in marks.items() if mark in there}

    def _unchanged(self, release: _Release, text: str) -> Mapping[str, str]:
        if (release, text) not in self._base:
            self._base[release, text] = self._made(release, json.loads(text))
        return self._base[release, text]

    def _made(self, release: _Release, values: Any) -> Mapping[str, str]:
        if release.chart not in self._charts:
            self._charts[release.chart] = Chart.load(store().locate(release.chart))
        texts = self._charts[release.chart].render(values, name=release.name, namespace=NAMESPACE)
        return {name: text for name, text in texts.items() if not name.endswith("NOTES.txt")}


def _excused(chart: str, path: Keys) -> bool:
    shown = f"{chart}: {'.'.join(map(str, path))}"
    return any(fnmatch.fnmatch(shown, pattern) for pattern in UNREAD)


@pytest.mark.parametrize("chart", sorted(recorded_rights()))
def test_every_value_makes_a_difference(charts: Path, chart: str) -> None:
    render = _Renderer()
    places: dict[Keys, list[tuple[_Release, str]]] = defaultdict(list)
    for release, text in _releases(charts)[chart]:
        for path in _leaves(json.loads(text)):
            places[path].append((release, text))
    left = {path for path in places if not _excused(chart, path)}
    first: dict[tuple[_Release, str], list[Keys]] = defaultdict(list)
    for path in left:
        first[places[path][0]].append(path)
    for variant, paths in first.items():
        left -= render.shown(*variant, paths)
    unread = [
        ".".join(map(str, path))
        for path in places
        if path in left and not any(render.reads(*one, path) for one in places[path])
    ]
    assert unread == []


def test_every_excuse_is_of_a_value_that_is_set(charts: Path) -> None:
    shown = {
        f"{chart}: {'.'.join(map(str, path))}"
        for chart, found in _releases(charts).items()
        for _, text in found
        for path in _leaves(json.loads(text))
    }
    assert [pattern for pattern in UNREAD if not fnmatch.filter(shown, pattern)] == []
