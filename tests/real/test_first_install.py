"""The first installation of a region, by a controller that is killed in the middle of it."""

from __future__ import annotations

import pytest

from sandbox.cluster import Sandbox
from sandbox.demo import CONTROLLER_NAMESPACE, NAMESPACE, REGION, RELEASE, install_chart
from sandbox.demo_real import EXAMPLE, run_smoke
from tests.real.region import is_ready, items, wait_ready, wait_until

pytestmark = [pytest.mark.real, pytest.mark.timeout(5400)]
CONTROLLER = ("pods", "-l", f"app.kubernetes.io/name={RELEASE}")


@pytest.fixture
def empty(region: Sandbox) -> Sandbox:
    """The sandbox with the controller and nothing of a region: volumes and passwords are gone, too."""
    region.kubectl("delete", "osdpl", REGION, "--namespace", NAMESPACE, "--timeout=900s", timeout=960)
    region.kubectl("delete", "namespace", NAMESPACE, "--timeout=300s", timeout=360)
    # The namespace is the chart's, and with it go the controller's rights there.
    install_chart(region)
    return region


def releases(box: Sandbox) -> dict[str, str]:
    """State of each release, by its name."""
    return {
        release["name"]: release["state"]
        for bundle in items(box, "helmbundles")
        for release in bundle.get("status", {}).get("releases", ())
    }


def test_a_controller_that_is_killed_in_the_middle_of_the_first_installation_ends_it(empty: Sandbox) -> None:
    empty.kubectl("apply", "-f", str(EXAMPLE))

    def in_the_middle() -> bool:
        seen = releases(empty)
        return seen.get("keystone") == "Deployed" and "Installing" in seen.values()

    wait_until(in_the_middle, "the installation does not get that far", 1200)
    (pod,) = items(empty, *CONTROLLER, namespace=CONTROLLER_NAMESPACE)
    there = ("--namespace", CONTROLLER_NAMESPACE)
    empty.kubectl("delete", "pod", pod["metadata"]["name"], *there, "--grace-period=0", "--force")
    print(f"killed while these were installed: {releases(empty)}")
    took = wait_ready(empty)
    (other,) = items(empty, *CONTROLLER, namespace=CONTROLLER_NAMESPACE)
    assert other["metadata"]["uid"] != pod["metadata"]["uid"]
    assert is_ready(other)
    print(f"Ready {took:.0f} s after that")
    run_smoke(empty)
