"""The region with OpenStack-Helm's charts, of a checkout in CHARTS: with volumes, stacks and a dashboard."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sandbox.cluster import Sandbox
from sandbox.demo_real import RealDemo, run_real_demo, run_smoke
from sandbox.take_down import take_down
from tests.real.conftest import load_base
from tests.real.failing_migration import assert_no_request_fails
from tests.real.region import client_pod, deployment, is_ready, items

pytestmark = [pytest.mark.real, pytest.mark.timeout(5400)]

CHARTS = os.environ.get("CHARTS", "")
SERIES = "2026.1"
# A sandbox with such a region that runs already: it is used as it is, and left running.
KEPT = os.environ.get("OSCTL_REAL_UPSTREAM_SANDBOX", "")
NAME = KEPT or "real-upstream"

STACK = """
import openstack
cloud = openstack.connect(cloud="default")
template = {
    "heat_template_version": "2021-04-16",
    "resources": {
        "secret": {"type": "OS::Heat::RandomString", "properties": {"length": 12}},
        "network": {"type": "OS::Neutron::Net", "properties": {"name": "of-a-stack"}},
    },
    "outputs": {"length": {"value": {"get_attr": ["secret", "value"]}}},
}
stack = cloud.orchestration.create_stack(name="tried", template=template)
try:
    stack = cloud.orchestration.wait_for_status(stack, "CREATE_COMPLETE", ["CREATE_FAILED"], wait=300)
    (output,) = cloud.orchestration.get_stack(stack.id).outputs
    print(stack.status, len(output["output_value"]), cloud.network.find_network("of-a-stack") is not None)
finally:
    cloud.orchestration.delete_stack(stack)
    cloud.orchestration.wait_for_delete(stack, wait=300)
print(cloud.network.find_network("of-a-stack"))
"""
LOGIN = """
import re, requests
web = requests.Session()
page = web.get("http://horizon-int.openstack.svc.cluster.local/", timeout=60)
print(page.status_code, page.url)
for field in ("username", "password", "csrfmiddlewaretoken"):
    print(field, bool(re.search(f'name="{field}"', page.text)))
style = re.search(r'href="([^"]+[.]css)"', page.text).group(1)
print(web.get(requests.compat.urljoin(page.url, style), timeout=60).status_code)
"""


@pytest.fixture(scope="module")
def upstream() -> Iterator[Sandbox]:
    """A sandbox of its own with the region of OpenStack-Helm's charts, Ready, and shown to serve."""
    if not CHARTS:
        pytest.skip("CHARTS names no checkout of OpenStack-Helm")
    try:
        box = Sandbox.up(NAME, real=True)
        if not KEPT:
            run_real_demo(box, print, RealDemo(SERIES, Path(CHARTS).resolve(strict=True)))
        load_base(box)
        yield box
    finally:
        if not KEPT:
            take_down(NAME)


@pytest.fixture(scope="module")
def user(upstream: Sandbox) -> Iterator[Callable[[str], str]]:
    with client_pod(upstream, "client", series=SERIES) as run:
        yield run


def test_every_release_of_openstack_helm_runs_by_its_own_probes(upstream: Sandbox) -> None:
    pods = [pod for pod in items(upstream, "pods") if pod["status"]["phase"] != "Succeeded"]
    assert [pod["metadata"]["name"] for pod in pods if not is_ready(pod)] == []
    assert is_ready(deployment(upstream))


def test_who_leads_clients_to_one_database_is_not_corrected(upstream: Sandbox) -> None:
    (service,) = [one for one in items(upstream, "services") if one["metadata"]["name"] == "mariadb"]
    assert service["spec"]["selector"]["statefulset.kubernetes.io/pod-name"] == "mariadb-server-0"
    told = [one["message"] for one in items(upstream, "events") if one["reason"] == "DriftRecurs"]
    assert told == []


def test_no_request_fails_while_a_migration_fails_and_is_mended(
    upstream: Sandbox, user: Callable[[str], str]
) -> None:
    assert_no_request_fails(upstream, user)


def test_a_volume_is_attached_to_a_server(upstream: Sandbox) -> None:
    run_smoke(upstream)


def test_a_stack_is_made_and_removed(user: Callable[[str], str]) -> None:
    assert user(STACK).splitlines() == ["CREATE_COMPLETE 12 True", "None"]


def test_the_dashboard_shows_its_login_with_its_styles(user: Callable[[str], str]) -> None:
    page, *fields, style = user(LOGIN).splitlines()
    assert page.split()[0] == "200"
    assert "/auth/login/" in page
    assert fields == ["username True", "password True", "csrfmiddlewaretoken True"]
    assert style == "200"
