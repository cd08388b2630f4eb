"""What services of a region tell each other and Kubernetes of themselves: URLs, keys, probes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.charts.lean import LEAN, decoded, nest, objects, options, pod_specs, the

pytestmark = pytest.mark.slow


def registered(name: str) -> dict[str, str]:
    """The URLs that a chart writes into the catalogue, by interface."""
    if name == "keystone":
        job = the(objects(name), "Job", "keystone-domain-manage")
        (container,) = job["spec"]["template"]["spec"]["containers"]
        return {
            one["name"].split("_")[1].lower(): one["value"]
            for one in container["env"]
            if one["name"].startswith("IDENTITY_")
        }
    job = the(objects(name), "Job", f"{name}-ks-endpoints")
    (container,) = job["spec"]["template"]["spec"]["containers"]
    desired = json.loads({one["name"]: one["value"] for one in container["env"]}["WANTED"])
    return {one["interface"]: one["url"] for one in desired}


@pytest.mark.parametrize("interface", ["internal", "admin"])
@pytest.mark.parametrize("name", ["keystone", "placement", "glance", "nova", "neutron"])
def test_a_url_inside_the_region_names_a_service_of_its_chart_with_its_port(
    name: str, interface: str
) -> None:
    url = urlsplit(registered(name)[interface])
    service = the(objects(name), "Service", str(url.hostname).split(".")[0])
    assert url.port in [port["port"] for port in service["spec"]["ports"]]


def test_an_admin_endpoint_that_values_name_stays_theirs() -> None:
    job = the(
        objects("keystone", nest("endpoints.identity.hosts.admin", "keystone-admin")),
        "Job",
        "keystone-db-sync",
    )
    env = job["spec"]["template"]["spec"]["containers"][0]["env"]
    (url,) = [one["value"] for one in env if one["name"] == "OS_BOOTSTRAP_ADMIN_URL"]
    assert urlsplit(url).hostname == "keystone-admin.openstack.svc.cluster.local"


@pytest.mark.parametrize("workload", ["Deployment/keystone-api", "Job/keystone-db-sync"])
def test_keystones_keys_are_for_its_user_only(workload: str) -> None:
    spec = dict(pod_specs(objects("keystone")))[workload]
    modes = [one["secret"]["defaultMode"] for one in spec["volumes"] if one["name"].endswith("-keys")]
    assert modes == [0o440, 0o440]
    assert spec["securityContext"]["fsGroup"] == spec["securityContext"]["runAsUser"] == 42424


def test_networks_can_be_made_before_an_agent_has_reported() -> None:
    text = decoded(the(objects("neutron"), "Secret", "neutron-etc"))["neutron.conf"]
    assert "default_availability_zones" not in options(text)["DEFAULT"]


@pytest.mark.parametrize("name", ["nova", "neutron"])
def test_no_worker_is_killed_because_its_broker_or_database_is_away(name: str) -> None:
    for workload, spec in pod_specs(objects(name)):
        for container in spec["containers"]:
            probe = container.get("livenessProbe", {}).get("exec", {}).get("command", [])
            if probe:
                assert probe[2:] == ["5672", "--unless-away", "rabbitmq.openstack.svc.cluster.local"], (
                    workload
                )


@pytest.mark.parametrize(
    ("name", "workload"),
    [
        ("glance", "Deployment/glance-api"),
        ("neutron", "Deployment/neutron-server"),
        ("placement", "Deployment/placement-api"),
    ],
)
def test_liveness_asks_the_server_and_not_a_worker_that_may_be_busy(name: str, workload: str) -> None:
    """One that takes in a large image, or still loads the application, is well."""
    probe = dict(pod_specs(objects(name)))[workload]["containers"][0]["livenessProbe"]
    assert probe["httpGet"] == {"path": "/", "port": 1717}


@pytest.mark.parametrize("name", LEAN)
def test_no_busy_node_makes_liveness_kill_what_answers_late(name: str) -> None:
    """A second, which Kubernetes gives where nothing is said, a node at its limits needs to switch tasks."""
    for workload, spec in pod_specs(objects(name)):
        for container in spec["containers"]:
            if probe := container.get("livenessProbe"):
                assert probe.get("timeoutSeconds", 1) >= 5, f"{workload} {container['name']}"


def test_where_the_server_shows_no_statistics_that_it_listens_is_enough() -> None:
    values = {"conf": {"glance_api_uwsgi": {"uwsgi": {"stats": None}}}}
    spec = dict(pod_specs(objects("glance", values)))["Deployment/glance-api"]
    assert spec["containers"][0]["livenessProbe"]["tcpSocket"] == {"port": 9292}


def test_an_idle_rpc_server_is_ready() -> None:
    """It holds a connection to the broker only."""
    spec = dict(pod_specs(objects("neutron")))["Deployment/neutron-rpc-server"]
    probe = spec["containers"][0]["readinessProbe"]["exec"]["command"]
    assert probe == ["/scripts/connected.py", "neutron-rpc-server", "5672"]


def probed() -> Iterator[tuple[str, dict[str, Any]]]:
    """Every container of the lean charts that runs on, with where it is."""
    for name in LEAN:
        for workload, spec in pod_specs(objects(name)):
            for container in spec["containers"]:
                if "livenessProbe" in container:
                    yield f"{name} {workload} {container['name']}", container


def test_a_start_that_takes_minutes_is_not_cut_off() -> None:
    """On a busy node applications load for minutes: liveness counts from when they are there."""
    for place, container in probed():
        startup = container["startupProbe"]
        assert startup["failureThreshold"] * startup["periodSeconds"] >= 600, place


def test_readiness_is_asked_as_soon_as_a_start_is_over() -> None:
    """The start has a probe of its own: a delay after it keeps a pod from serving that could."""
    for place, container in probed():
        if "startupProbe" in container:
            assert not container.get("readinessProbe", {}).get("initialDelaySeconds"), place


def test_what_starts_processes_to_ask_has_time_for_it() -> None:
    """One second, or three, is nothing on a busy node."""
    for place, container in probed():
        for kind in ("livenessProbe", "readinessProbe", "startupProbe"):
            probe = container.get(kind, {})
            if "exec" in probe:
                assert probe["timeoutSeconds"] >= 10, (place, kind)
                own = [int(word.split("=")[1]) for word in probe["exec"]["command"] if "--timeout=" in word]
                assert all(5 <= seconds < probe["timeoutSeconds"] for seconds in own), (place, kind)


def test_liveness_that_starts_python_has_the_minute_that_it_takes_where_there_is_too_much_to_do() -> None:
    """At a load of thirty for each core a probe that reads connections took longer than 25 s, three times."""
    for place, container in probed():
        probe = container["livenessProbe"]
        if "/scripts/connected.py" in probe.get("exec", {}).get("command", ()):
            assert probe["timeoutSeconds"] >= 50, place


def test_liveness_kills_only_after_minutes_and_within_ten() -> None:
    for place, container in probed():
        probe = container["livenessProbe"]
        seconds = probe["periodSeconds"] * probe.get("failureThreshold", 3)
        assert 60 <= seconds <= 600, place


def test_times_of_the_values_stand_above_those_of_the_chart() -> None:
    values = nest("pod.probes.libvirt.libvirt.liveness.params", {"failureThreshold": 7, "periodSeconds": 11})
    spec = dict(pod_specs(objects("libvirt", values)))["DaemonSet/libvirt-libvirt-default"]
    probe = spec["containers"][0]["livenessProbe"]
    assert (probe["failureThreshold"], probe["periodSeconds"]) == (7, 11)


@pytest.mark.parametrize("name", ["keystone", "placement", "glance", "nova", "neutron"])
def test_a_pod_that_goes_serves_on_for_as_long_as_requests_are_led_to_it(name: str) -> None:
    found = objects(name)
    selectors = [one["spec"]["selector"] for one in found if one["kind"] == "Service"]
    behind = [
        one
        for one in found
        if one["kind"] == "Deployment"
        and any(
            wanted.items() <= one["spec"]["template"]["metadata"]["labels"].items() for wanted in selectors
        )
    ]
    assert behind
    for one in behind:
        pod = one["spec"]["template"]["spec"]
        # Seconds that kube-proxies take to hear of it, of those that the whole end may take.
        assert pod.get("terminationGracePeriodSeconds", 30) >= 30, one["metadata"]["name"]
        serving = [box["lifecycle"]["preStop"] for box in pod["containers"] if "ports" in box]
        assert serving, one["metadata"]["name"]
        assert all("exec" in stop or stop["sleep"]["seconds"] >= 5 for stop in serving)
