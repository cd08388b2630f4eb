"""What the demo says and finds, without starting it."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest
import yaml

from sandbox import demo, demo_real
from sandbox.build import Binaries
from sandbox.cluster import Sandbox
from sandbox.demo_real import RealDemo
from sandbox.node.plan import VOLUMES, NodeLayout
from sandbox.paths import Layout
from sandbox.ports import Ports
from sandbox.state import State


@pytest.fixture
def box(tmp_path: Path) -> Sandbox:
    tools = tmp_path / "bin"
    binaries = Binaries(
        tools / "sandbox", tools / "kwok", tools / "helm", tools / "kubectl", tools / "stages"
    )
    state = State(demo.NAME, "single", Ports(*range(20000, 20006)))
    return Sandbox(Layout(tmp_path / "demo"), state, binaries)


def test_the_containers_are_those_of_this_checkout():
    found = demo.existing_containers()
    assert {"core", "helmbundle", "secrets"} <= set(found)
    assert all((demo.ROOT / "containers" / f"{name}.py").exists() for name in found)


def test_the_region_that_is_named_is_the_one_of_the_example():
    example = yaml.safe_load(demo.EXAMPLE.read_text(encoding="utf-8"))
    assert (example["metadata"]["name"], example["metadata"]["namespace"]) == (demo.REGION, demo.NAMESPACE)


def test_what_to_try_next_names_kubeconfig_tools_edit_logs_and_the_end(box: Sandbox):
    text = demo.next_steps(box)
    assert f"export KUBECONFIG={box.kubeconfig}" in text
    assert str(box.binaries.kubectl.parent) in text
    assert "make demo-down" in text
    assert str(demo.controllers_of(box).log_file("core").parent) in text


def test_the_edit_to_try_is_one_that_the_shell_takes_as_it_is(box: Sandbox):
    (line,) = [line for line in demo.next_steps(box).splitlines() if "patch osdpl" in line]
    patch = yaml.safe_load(shlex.split(line)[-1])
    assert patch["spec"]["services"]["identity"]["keystone"]["values"]["pod"]["replicas"]["api"] == 2


def test_its_controllers_end_with_its_sandbox(box: Sandbox):
    assert demo.controllers_of(box).directory.parent == box.layout.directory


def test_the_real_demo_is_the_example_as_it_is(box: Sandbox):
    demo = RealDemo()
    assert demo.write(box) == demo_real.EXAMPLE
    assert demo.region() == yaml.safe_load(demo_real.EXAMPLE.read_text(encoding="utf-8"))
    assert demo.settings() == ()


def test_the_hypervisor_of_the_real_region_is_the_same_one_when_its_pod_starts_again():
    """Nova's other fake drivers draw the identity of their node at each start, and Nova then refuses to."""
    nova = RealDemo().region()["spec"]["services"]["compute"]["nova"]["values"]["conf"]["nova"]
    assert nova["DEFAULT"]["compute_driver"] == "fake.FakeDriverWithoutFakeNodes"


def test_a_region_whose_servers_boot_has_libvirt_and_no_fake_driver():
    services = RealDemo(boots=True).region()["spec"]["services"]
    assert "fake" not in json.dumps(services)
    assert "daemonset_libvirt" not in json.dumps(services)
    assert services["networking"]["neutron"]["values"]["conf"]["plugins"]["ml2_conf"]["ml2"] == {
        "mechanism_drivers": "osctl_tap"
    }


def test_a_checkout_is_in_the_controllers_containers_where_the_region_names_it(box: Sandbox, tmp_path: Path):
    charts = tmp_path / "openstack-helm"
    (charts / "nova").mkdir(parents=True)
    (charts / ".git").mkdir()
    box.layout.directory.mkdir()
    chosen = RealDemo("2026.1", charts)
    region = yaml.safe_load(chosen.write(box).read_text(encoding="utf-8"))
    assert region["spec"]["openstackVersion"] == "2026.1"
    assert region["spec"]["charts"]["repository"] == f"file://{charts}"
    volume, mount = (json.loads(setting.partition("=")[2].partition("=")[2]) for setting in chosen.settings())
    assert mount[0]["mountPath"] == str(charts)
    assert volume[0]["hostPath"]["path"] == f"{VOLUMES}/charts"
    assert [path.name for path in (NodeLayout(box.layout.node).volumes / "charts").iterdir()] == ["nova"]
