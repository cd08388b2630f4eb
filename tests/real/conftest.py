"""One sandbox with a real node for all tests of this directory."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sandbox.cluster import Sandbox
from sandbox.demo_real import run_real_demo
from sandbox.errors import SandboxError
from sandbox.images.build import ensure_image
from sandbox.images.oci import ImageConfig
from sandbox.images.recipes import BASE, Recipe
from sandbox.node.prepare import check_machine
from sandbox.paths import Layout, sandbox_directory
from sandbox.take_down import take_down
from tests.real.failing_migration import IMAGE
from tests.real.machine import Machine, observe_machine
from tests.real.region import client_pod

# A sandbox that runs already, such as the demo's, `real`: it is used as it is, and left running.
KEPT = os.environ.get("OSCTL_REAL_SANDBOX", "")
NAME = KEPT or "real-tests"
# What stands on what: a node, a region on it, what becomes of it; the last has it made again. That of
# OpenStack-Helm and the two nodes have sandboxes of their own, which are gone before.
ORDER = (
    *(
        "test_upstream_region",
        "test_two_nodes",
        "test_packets",
        "test_node",
        "test_region",
        "test_schema_before_code",
        "test_lived_with",
        "test_backup",
        "test_boots",
        "test_empty_cluster",
    ),
    "test_first_install",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Has the tests of this directory run in their order."""
    here = Path(__file__).parent
    items.sort(key=lambda item: ORDER.index(item.path.stem) if item.path.parent == here else -1)


def load_base(box: Sandbox) -> None:
    """Gives its node the image `IMAGE`."""
    box.images().load(ensure_image(Recipe("base", (BASE,), ImageConfig(("bash",))), print), [IMAGE])


@pytest.fixture(scope="session")
def untouched() -> Machine:
    """The machine as it was before any node."""
    if not KEPT:
        take_down(NAME)
    return observe_machine()


@pytest.fixture(scope="session")
def node(untouched: Machine) -> Iterator[Sandbox]:
    """A sandbox with a real node that has the image `IMAGE`: Debian with Python."""
    try:
        check_machine(Layout(sandbox_directory(NAME)))
    except SandboxError as error:
        pytest.skip(str(error))
    try:
        box = Sandbox.up(NAME, real=True)
        load_base(box)
        yield box
    finally:
        if not KEPT:
            take_down(NAME)


@pytest.fixture(scope="session")
def region(node: Sandbox) -> Sandbox:
    """The sandbox with the region of the example, Ready, and shown to serve."""
    if not KEPT:
        run_real_demo(node, print)
    return node


@pytest.fixture(scope="session")
def client(region: Sandbox) -> Iterator[Callable[[str], str]]:
    """Runs Python beside openstacksdk in a pod that has the exported clouds.yaml."""
    with client_pod(region, "client") as run:
        yield run


@pytest.fixture
def apply(node: Sandbox, namespace: str) -> Callable[..., None]:
    """Applies objects in the test's namespace."""

    def work(*objects: dict[str, Any]) -> None:
        node.kubectl(
            *("apply", "--namespace", namespace, "-f", "-"),
            input=json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)}),
        )

    return work


@pytest.fixture
def namespace(node: Sandbox, request: pytest.FixtureRequest) -> Iterator[str]:
    """A namespace of the test's own."""
    name = request.node.name.replace("_", "-")[:50].strip("-").lower()
    node.create_namespace(name, {})
    yield name
    node.kubectl("delete", "namespace", name, "--wait=true", "--timeout=120s")


def volumes_of(node: Sandbox) -> list[Path]:
    """The directories behind the volumes that there are."""
    return list((node.layout.node / "volumes").iterdir())
