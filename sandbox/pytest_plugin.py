"""Fixtures for tests that need a real API server.

`sandbox`: one control plane shared by all tests, all xdist workers and all pytest sessions of the user;
the last session that leaves takes it down, if tests had started it. `namespace`: a clean namespace of
one test. `private_sandbox`: a control plane of one test's own, for tests that kill servers.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from sandbox.build import ensure_binaries
from sandbox.cli import BuildDisplay, stderr_console
from sandbox.cluster import Sandbox
from sandbox.errors import NotBuilt
from sandbox.existing import ExistingCluster
from sandbox.paths import Layout, sandbox_directory
from sandbox.take_down import take_down
from sandbox.visitors import Visitors

DEFAULT_NAME = "tests"
TEST_LABEL = "sandbox.osctl.dev/test"
_SESSION_PID = "sandbox_session_pid"
_FIXTURES = {"sandbox", "private_sandbox"}

AnyCluster = Sandbox | ExistingCluster


def pytest_addoption(parser: pytest.Parser) -> None:
    """Which cluster the tests use."""
    group = parser.getgroup("sandbox")
    group.addoption(
        "--sandbox",
        default=os.environ.get("OSCTL_SANDBOX_NAME", DEFAULT_NAME),
        metavar="NAME",
        help="the sandbox shared by the tests, started if it does not run [tests]",
    )
    group.addoption(
        "--keep-sandbox", action="store_true", help="leave the shared sandbox running for the next session"
    )
    group.addoption(
        "--existing-cluster",
        nargs="?",
        const="",
        default=None,
        metavar="KUBECONFIG",
        help="use this cluster and build nothing; without a value, the one that $KUBECONFIG names",
    )


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tells each xdist worker which process the session is."""
    node.workerinput[_SESSION_PID] = os.getpid()


def pytest_collection_finish(session: pytest.Session) -> None:
    """Builds the binaries if a test needs them: minutes that must not count in that test's own timeout.

    Raises UsageError where tests that share what they change would run at the same time.
    """
    demand_groups(bool(getattr(session.config.option, "loadgroup", False)), session.items)
    if session.config.getoption("existing_cluster") is not None or session.config.option.collectonly:
        return
    if any(_FIXTURES & set(getattr(item, "fixturenames", ())) for item in session.items):
        with _shown(session.config) as report, contextlib.suppress(NotBuilt):
            ensure_binaries(report)


def demand_groups(grouped: bool, items: Sequence[pytest.Item]) -> None:
    """Raises UsageError if xdist keeps groups of tests together, but a test has no group.

    It writes the group behind the name of each; with a pytest that it does not know, nowhere.
    """
    for item in items if grouped else ():
        if item.get_closest_marker("xdist_group") and "@" not in item.nodeid.rpartition("]")[2]:
            raise pytest.UsageError(
                f"{item.nodeid} would run beside others of its group: pytest {pytest.__version__} and this "
                "pytest-xdist do not work together; make setup installs those that do"
            )


def pytest_unconfigure(config: pytest.Config) -> None:
    """The session leaves; the last one out takes down what tests had started."""
    if hasattr(config, "workerinput") or config.getoption("existing_cluster") is not None:
        return
    name = config.getoption("sandbox")
    keep = bool(config.getoption("keep_sandbox"))
    Visitors(Layout(sandbox_directory(name))).leave(os.getpid(), None if keep else lambda: take_down(name))


@contextlib.contextmanager
def _shown(config: pytest.Config) -> Iterator[BuildDisplay]:
    """A display of a build that is seen in spite of pytest's capture."""
    capture = config.pluginmanager.getplugin("capturemanager")
    display = BuildDisplay(stderr_console())
    with capture.global_and_fixture_disabled() if capture else contextlib.nullcontext():
        try:
            yield display
        finally:
            display.close()


@pytest.fixture(scope="session")
def sandbox(request: pytest.FixtureRequest) -> AnyCluster:
    """The shared control plane, running and healthy (or the existing cluster that was asked for)."""
    config = request.config
    existing = config.getoption("existing_cluster")
    if existing is not None:
        return ExistingCluster.open(existing)
    name = config.getoption("sandbox")
    session_pid = getattr(config, "workerinput", {}).get(_SESSION_PID, os.getpid())
    with _shown(config) as report:
        visitors = Visitors(Layout(sandbox_directory(name)))
        return visitors.enter(session_pid, lambda: Sandbox.up(name, report=report))


@pytest.fixture
def audit_log(sandbox: AnyCluster) -> Path:
    """The shared control plane's audit log, for `sandbox.audit`; skips the test on an existing cluster."""
    if isinstance(sandbox, ExistingCluster):
        pytest.skip("the test counts requests at the API server: not on an existing cluster")
    return sandbox.audit_log


@pytest.fixture
def namespace(sandbox: AnyCluster) -> Iterator[str]:
    """The name of a new, empty namespace; deleted after the test without waiting for it."""
    name = f"test-{secrets.token_hex(4)}"
    sandbox.create_namespace(name, {TEST_LABEL: "true"})
    yield name
    sandbox.delete_namespace(name)


@pytest.fixture
def private_sandbox(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Sandbox]:
    """A control plane of this test's own, which may be broken at will; it dies with the test process."""
    if request.config.getoption("existing_cluster") is not None:
        pytest.skip("the test kills servers: not on an existing cluster")
    name = f"private-{secrets.token_hex(3)}"
    directory = tmp_path_factory.mktemp("sandbox") / name
    try:
        yield Sandbox.up(name, directory, private=True)
    finally:
        take_down(name, directory)
