"""No silent no-op: what Helm makes of a release changes with every value that ours set.

Maps that a chart passes on whole, such as the sections of an oslo.config file, show it too: what is in them
comes out in a file.
"""

from __future__ import annotations

import copy
import fnmatch
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from helm_python import Chart
from helm_python.errors import HelmError

from controller.domain.values.chart_values import Path as Keys
from controller.domain.values.secret_refs import resolve
from tests.charts_controller.upstream_rights import recorded_rights
from tests.upstream.covering import covering
from tests.upstream.regions import MADE_UP, NAMESPACE, region, releases, specs, store

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
    "nova: conf.ceph.cinder.secret_uuid": "the chart's is the same in every region; libvirt reads it",
    "nova: conf.nova.vnc.enabled": "written by the chart from console.console_kind",
    "nova: manifests.*_serialproxy": "off by console.console_kind, too",
    "nova: manifests.*_spiceproxy": "off by console.console_kind, too",
}


@cache
def _releases(charts: Path) -> Mapping[str, list[tuple[str, str]]]:
    """By chart, name and values as JSON of every release that differs from the others."""
    found: dict[str, dict[tuple[str, str], None]] = defaultdict(dict)
    for spec in {**covering(), **specs()}.values():
        for release in releases(region(charts, spec)):
            values = resolve(release.spec.values, lambda name, key: f"{MADE_UP}-{name}-{key}").values
            found[release.spec.chart.name][release.spec.name, json.dumps(values, sort_keys=True)] = None
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


def _another(leaf: Any) -> Any:
    if isinstance(leaf, bool):
        return not leaf
    if isinstance(leaf, int | float):
        return leaf + 1
    if isinstance(leaf, list):
        return leaf[1:] or ["another"]
    return f"{leaf}x" if isinstance(leaf, str) else {"another": "x"}


class _Renderer:
    def __init__(self, charts: Path, chart: str) -> None:
        [some, *_] = (
            release.spec.chart
            for spec in specs().values()
            for release in releases(region(charts, spec))
            if release.spec.chart.name == chart
        )
        self._chart = Chart.load(store().locate(some))
        self._base: dict[tuple[str, str], Mapping[str, str]] = {}

    def reads(self, release: str, text: str, path: Keys) -> bool:
        """Whether objects differ, or there are none at all, with another leaf."""
        base = self._base.setdefault((release, text), {}) or self._made(release, json.loads(text))
        self._base[release, text] = base
        for values in _otherwise(json.loads(text), path):
            try:
                if self._made(release, values) != base:
                    return True
            except HelmError:
                return True
        return False

    def _made(self, release: str, values: Any) -> Mapping[str, str]:
        texts = self._chart.render(values, name=release, namespace=NAMESPACE)
        return {name: text for name, text in texts.items() if not name.endswith("NOTES.txt")}


def _excused(chart: str, path: Keys) -> bool:
    shown = f"{chart}: {'.'.join(map(str, path))}"
    return any(fnmatch.fnmatch(shown, pattern) for pattern in UNREAD)


@pytest.mark.parametrize("chart", sorted(recorded_rights()))
def test_every_value_makes_a_difference(charts: Path, chart: str) -> None:
    render = _Renderer(charts, chart)
    places: dict[Keys, list[tuple[str, str]]] = defaultdict(list)
    for release, text in _releases(charts)[chart]:
        for path in _leaves(json.loads(text)):
            places[path].append((release, text))
    unread = [
        ".".join(map(str, path))
        for path, found in places.items()
        if not _excused(chart, path) and not any(render.reads(*one, path) for one in found)
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
