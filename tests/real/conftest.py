"""One sandbox with a real node for all tests of this directory."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sandbox.cluster import Sandbox, take_down
from sandbox.errors import SandboxError
from sandbox.images.build import ensure_image
from sandbox.images.oci import ImageConfig
from sandbox.images.recipes import BASE, Recipe
from sandbox.node.prepare import check_machine
from sandbox.paths import Layout, sandbox_directory
from tests.real.machine import Machine, observe_machine

NAME = "real-tests"
IMAGE = "sandbox.local/base:1"


@pytest.fixture(scope="session")
def untouched() -> Machine:
    """The machine as it was before any node."""
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
        box.images().load(ensure_image(Recipe("base", (BASE,), ImageConfig(("bash",))), print), [IMAGE])
        yield box
    finally:
        take_down(NAME)


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
