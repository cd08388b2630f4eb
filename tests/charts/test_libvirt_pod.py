"""libvirtd in its pod, with the configuration that the chart gives it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.charts.lean import nest, objects
from tests.charts.node import Node, Pod, Running, a_hypervisor
from tests.render.region import core_spec, render

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


def test_what_libvirt_ends_of_is_in_the_log_of_its_pod(node: Node) -> None:
    """It ends with 0, too: without that, a container that starts again and again says nothing."""
    release = render(core_spec(charts={})).release("libvirt")
    assert release is not None
    conf = {"libvirt": release.spec.values["conf"].get("libvirt", {}), "qemu": {"group": "absent"}}
    pod = Pod(node, "libvirt", "DaemonSet/libvirt-libvirt", {"conf": conf})
    pod.run("init-dynamic-options")
    _, said = pod.run("libvirt")
    assert "Failed to parse group 'absent'" in said


def test_guests_stay_in_the_group_of_the_pod_where_no_controller_is_named() -> None:
    made = objects("libvirt", nest("conf.kubernetes.cgroup_controllers", []))
    (script,) = (one["data"]["libvirt.sh"] for one in made if "libvirt.sh" in one.get("data", {}))
    assert "/sys/fs/cgroup" not in script
