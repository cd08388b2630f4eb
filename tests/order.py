"""How tests with servers share the machine: what takes longest begins first, and the rest fills the gaps.

A long group that begins last leaves one worker at work and the others without any. Servers that one group has
to itself end with its last test. All of this is for `--dist loadgroup` alone: everything else keeps the order
of the files, and a group is not together there.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from _pytest.fixtures import FixtureDef, SubRequest

GROUP = "xdist_group"
# Groups, and files with a test that is long by itself, in the order of their time.
LONGEST = (
    "region-life",
    "shared-region",
    "planted",
    "osctl",
    "openstack",
    "outages",
    "tests/cluster/regions/test_adoption.py",
    "ceph",
    "demo",
    "reader",
    "kills",
    "health",
    "bundle-hooks",
    "hosts",
    "tests/sandbox/test_sandbox_life.py",
    "chart-life",
    "tests/cluster/releases/test_charts_account.py",
    "tests/cluster/releases/test_missing_rights.py",
    "tests/cluster/releases/test_namespace_deleted.py",
    "tests/chaos/test_faults.py",
    "hostile-charts",
    "certificates",
    "secrets",
    "tests/cluster/releases/test_drift.py",
    "releases",
    "broker",
    "tests/adapters/system/test_lease_process.py",
    "tests/world/releases/test_search.py",
    "tests/world/test_search.py",
    "tests/domain/credentials/test_amphora_certificates.py",
    "tests/domain/credentials/test_authority.py",
    "tests/reconcile/credentials/test_reader.py",
)
# Fixtures of the session with such servers.
SERVERS_OF_A_GROUP = ("shared_region", "planted", "helmbundle_alone", "cloud", "_hosts_place", "empty_region")
# Of a run's time with servers more than half is waiting.
WORKERS_PER_CORE = 2.5
MOST_WORKERS = 12
MEMORY_OF_A_WORKER = 2 * 1024**3


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Of `-n auto`: by cores, and no more than the memory is enough for."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(int(WORKERS_PER_CORE * cores), memory // MEMORY_OF_A_WORKER, MOST_WORKERS))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Before xdist writes the group behind the name of each test."""
    if not getattr(config.option, "loadgroup", False):
        return
    for item in items:
        if _only_computes(item) or _shares_of_its_module(item):
            # One worker has what its tests share: regions that are rendered once, servers that run once.
            item.add_marker(pytest.mark.xdist_group(f"{item.path.parent.name}/{item.path.stem}"))
    places = {name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: min(places.get(name, _unlisted(item)) for name in _names(item)))


def _only_computes(item: pytest.Item) -> bool:
    """Long sweeps are shared out one by one."""
    marks = {mark.name for mark in item.iter_markers()}
    return "slow" in marks and not marks & {GROUP, "cluster", "exhaustive", "upstream"}


def _shares_of_its_module(item: pytest.Item) -> bool:
    """Whether it has a fixture that is made once a module, and would be made once a worker."""
    fixtures = getattr(item, "_fixtureinfo", None)
    made = chain.from_iterable(fixtures.name2fixturedefs.values()) if fixtures else ()
    alone = _groups(item) or item.get_closest_marker("exhaustive")
    return not alone and any(one.scope == "module" for one in made)


_running: list[tuple[FixtureDef[Any], SubRequest]] = []


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef: FixtureDef[Any], request: SubRequest) -> Iterator[Any]:
    """Remembers servers that are to end before the session does."""
    made = yield
    if fixturedef.argname in SERVERS_OF_A_GROUP:
        _running.append((fixturedef, request))
    return made


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Behind the last test of a group: its idle servers take from the others' processor time."""
    together = nextitem is None or _groups(item) == _groups(nextitem)
    while _running and not together and getattr(item.config.option, "loadgroup", False):
        fixture, request = _running.pop()
        fixture.finish(request)


def _unlisted(item: pytest.Item) -> int:
    """Servers come first: what only computes fills the time in which others wait."""
    return len(LONGEST) + (0 if item.get_closest_marker("cluster") else 1)


def _names(item: pytest.Item) -> list[str]:
    return [*_groups(item), _file(item)]


def _groups(item: pytest.Item) -> list[str]:
    return [str(mark.args[0]) for mark in item.iter_markers(GROUP)]


def _file(item: pytest.Item) -> str:
    return Path(item.location[0]).as_posix()
