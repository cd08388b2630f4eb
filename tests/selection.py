"""What `pytest` runs without `-m`: nothing exhaustive, and nothing that must be built first.

With `-m`, as in every target of the Makefile, all of this is off.

- Without arguments: what needs no server and is fast, as `make test-fast`.
- With directories or files: also slow tests, and those with servers where the sandbox's programs are built.
- With a test by its name (`file.py::test`): that one, whatever its marks.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import pytest_timeout

from sandbox.builds import BUILDS
from sandbox.errors import NotBuilt
from sandbox.patience import slowness

# Never without being asked for by `-m`, or by the name of the test.
FAR = ("exhaustive", "real", "image", "upstream", "openstack")
SERVERS = ("cluster", "slow")
ROOT = Path(__file__).parents[1]


def pytest_configure(config: pytest.Config) -> None:
    if not config.option.markexpr:
        os.environ[BUILDS] = "never"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.option.markexpr:
        return
    left_out = FAR if _with_paths(config) else (*FAR, *SERVERS)
    named = tuple(_named(config))
    gone = [one for one in items if _has_one_of(one, left_out) and not one.nodeid.startswith(named)]
    if gone:
        without = set(map(id, gone))
        items[:] = [one for one in items if id(one) not in without]
        config.hook.pytest_deselected(items=gone)


def _with_paths(config: pytest.Config) -> bool:
    return any(_path(config, one) not in (ROOT, ROOT / "tests") for one in config.args)


def _path(config: pytest.Config, argument: str) -> Path:
    return (config.invocation_params.dir / argument.partition("::")[0]).resolve()


def _named(config: pytest.Config) -> Iterator[str]:
    """Names of tests among the arguments, as pytest writes them."""
    for one in config.args:
        if "::" in one:
            place = _path(config, one).relative_to(config.rootpath.resolve()).as_posix()
            yield f"{place}::{one.partition('::')[2]}"


def _has_one_of(item: pytest.Item, marks: tuple[str, ...]) -> bool:
    return any(item.get_closest_marker(one) for one in marks)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup() -> Iterator[None]:
    """What would have to be built first is skipped, with the command that builds it."""
    return (yield from _skipped_where_not_built())


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Iterator[None]:
    """The same where a test asks by itself."""
    return (yield from _skipped_where_not_built())


def _skipped_where_not_built() -> Iterator[Any]:
    try:
        return (yield)
    except NotBuilt as error:
        pytest.skip(str(error))


@pytest.hookimpl(tryfirst=True)
def pytest_timeout_set_timer(item: pytest.Item, settings: Any) -> bool:
    """A test's own time is that of a quiet machine, as every deadline within it."""
    scaled = settings._replace(timeout=settings.timeout * slowness())
    return bool(pytest_timeout.pytest_timeout_set_timer(item, scaled))
