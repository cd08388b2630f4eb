"""libvirtd in its pod, with the configuration that the chart gives it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.charts.node import Node, Pod, Running, a_hypervisor

pytestmark = pytest.mark.slow


@pytest.fixture
def node() -> Iterator[Node]:
    with a_hypervisor() as made:
        yield made


def started(node: Node) -> Running:
    pod = Pod(node, "libvirt", "DaemonSet/libvirt-libvirt")
    code, said = pod.run("init-dynamic-options")
    assert code == 0, said
    running = pod.start("libvirt")
    # The probe asks for the version of an emulator, which is in the image of the chart only.
    running.until("virsh", "--connect", "qemu:///system", "--quiet", "uri")
    return running


def test_libvirt_runs_ends_at_sigterm_and_starts_again(node: Node) -> None:
    started(node).terminate(within=20)
    started(node)


def test_libvirt_starts_again_after_it_was_killed(node: Node) -> None:
    started(node).kill()
    started(node)
