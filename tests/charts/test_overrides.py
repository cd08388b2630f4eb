"""Other values on labelled or named nodes, in upstream's two shapes."""

from __future__ import annotations

from typing import Any

import pytest

from tests.charts.lean import decoded, nest, objects, options, the

GPU = {
    "label": {"key": "example.org/gpu", "values": ["yes"]},
    "conf": {"nova": {"libvirt": {"virt_type": "kvm"}}},
}
FAST = {"label": {"key": "fast", "values": ["yes"]}, "conf": {"hypervisor": {"host_interface": "bond7"}}}
HOST = {"name": "node7", "conf": {"nova": {"DEFAULT": {"cpu_allocation_ratio": 1}}}}


def daemonsets(found: list[dict[str, Any]], component: str) -> dict[str, dict[str, Any]]:
    """DaemonSets of a component by name."""
    return {
        item["metadata"]["name"]: item
        for item in found
        if item["kind"] == "DaemonSet" and item["metadata"]["labels"]["component"] == component
    }


def expressions(daemonset: dict[str, Any]) -> list[tuple[str, str, tuple[str, ...]]]:
    affinity = daemonset["spec"]["template"]["spec"].get("affinity", {}).get("nodeAffinity", {})
    terms = affinity.get("requiredDuringSchedulingIgnoredDuringExecution", {}).get("nodeSelectorTerms", [])
    return [
        (item["key"], item["operator"], tuple(item["values"]))
        for term in terms
        for item in term["matchExpressions"]
    ]


def compute(overrides: dict[str, Any]) -> tuple[list[dict[str, Any]], dict[str, dict[str, Any]]]:
    found = objects("nova", nest("conf.overrides.nova_compute", overrides))
    return found, daemonsets(found, "compute")


def test_without_overrides_there_is_one_daemonset_for_all_nodes() -> None:
    sets = daemonsets(objects("nova"), "compute")
    assert list(sets) == ["nova-compute-default"]
    assert expressions(sets["nova-compute-default"]) == []


@pytest.mark.slow
def test_a_labelled_node_gets_a_daemonset_and_a_secret_of_its_own() -> None:
    found, sets = compute({"labels": [GPU]})
    (name,) = set(sets) - {"nova-compute-default"}
    assert name.startswith("nova-compute-gpu-")
    volumes = sets[name]["spec"]["template"]["spec"]["volumes"]
    assert {"name": "config", "secret": {"secretName": name, "defaultMode": 0o444}} in volumes
    changed = options(decoded(the(found, "Secret", name))["nova.conf"])
    assert changed["libvirt"]["virt_type"] == ["kvm"]
    assert "database" not in changed
    untouched = options(decoded(the(found, "Secret", "nova-compute-default"))["nova.conf"])
    assert "virt_type" not in untouched["libvirt"]


@pytest.mark.slow
def test_every_node_is_taken_by_exactly_one_daemonset() -> None:
    _, sets = compute({"labels": [GPU, FAST], "hosts": [HOST]})
    gpu, fast = ("example.org/gpu", ("yes",)), ("fast", ("yes",))
    host = ("kubernetes.io/hostname", ("node7",))
    by_prefix = {name.rsplit("-", 1)[0]: expressions(item) for name, item in sets.items()}
    # A host is stronger than a label, a later label than an earlier one.
    assert by_prefix == {
        "nova-compute-node7": [(host[0], "In", host[1])],
        "nova-compute-fast": [(fast[0], "In", fast[1]), (host[0], "NotIn", host[1])],
        "nova-compute-gpu": [
            (gpu[0], "In", gpu[1]),
            (host[0], "NotIn", host[1]),
            (fast[0], "NotIn", fast[1]),
        ],
        "nova-compute": [
            (host[0], "NotIn", host[1]),
            (fast[0], "NotIn", fast[1]),
            (gpu[0], "NotIn", gpu[1]),
        ],
    }


@pytest.mark.slow
def test_an_override_renames_no_other_daemonset() -> None:
    _, one = compute({"labels": [GPU]})
    _, two = compute({"labels": [GPU, FAST]})
    assert set(one) < set(two)


@pytest.mark.slow
def test_daemonsets_of_one_component_select_different_pods() -> None:
    _, sets = compute({"labels": [GPU, FAST]})
    selectors = {tuple(sorted(item["spec"]["selector"]["matchLabels"].items())) for item in sets.values()}
    assert len(selectors) == len(sets)


@pytest.mark.slow
def test_what_a_node_learns_about_itself_follows_its_override() -> None:
    _, sets = compute({"labels": [FAST]})
    reported = {}
    for name, item in sets.items():
        init = next(
            box
            for box in item["spec"]["template"]["spec"]["initContainers"]
            if box["name"] == "nova-compute-init"
        )
        reported[name.rsplit("-", 1)[0]] = {env["name"]: env.get("value") for env in init["env"]}[
            "MY_IP_INTERFACE"
        ]
    assert reported == {"nova-compute-fast": "bond7", "nova-compute": ""}


@pytest.mark.slow
def test_neutrons_agents_take_the_same_shape() -> None:
    conf = {"plugins": {"openvswitch_agent": {"ovs": {"bridge_mappings": "public:br-dc"}}}}
    override = {"labels": [{"label": {"key": "rack", "values": ["r1", "r2"]}, "conf": conf}]}
    found = objects("neutron", nest("conf.overrides.neutron_ovs-agent", override))
    (name,) = set(daemonsets(found, "neutron-ovs-agent")) - {"neutron-ovs-agent-default"}
    mapped = options(decoded(the(found, "Secret", name))["openvswitch_agent.ini"])
    assert mapped["ovs"]["bridge_mappings"] == ["public:br-dc"]


def test_any_value_of_libvirt_can_differ_by_label() -> None:
    values = {
        "conf": {"qemu": {"group": "root"}},
        "images": {"tags": {"libvirt": "example.org/libvirt:other"}},
    }
    override = nest("overrides.libvirt_libvirt.labels", {"example.org/gpu::yes": {"values": values}})
    found = objects("libvirt", override)
    sets = daemonsets(found, "libvirt")
    (name,) = set(sets) - {"libvirt-libvirt-default"}
    assert expressions(sets[name]) == [("example.org/gpu", "In", ("yes",))]
    assert expressions(sets["libvirt-libvirt-default"]) == [("example.org/gpu", "NotIn", ("yes",))]
    assert sets[name]["spec"]["template"]["spec"]["containers"][0]["image"] == "example.org/libvirt:other"
    assert 'group = "root"' in decoded(the(found, "Secret", f"{name}-etc"))["qemu.conf"]
    assert 'group = "kvm"' in decoded(the(found, "Secret", "libvirt-libvirt-default-etc"))["qemu.conf"]


def test_libvirt_can_run_on_labelled_nodes_only() -> None:
    override = {"overrides_default": False, "labels": {"gpu::yes": {"values": {}}}}
    sets = daemonsets(objects("libvirt", nest("overrides.libvirt_libvirt", override)), "libvirt")
    assert [name for name in sets if name.endswith("-default")] == []
    assert len(sets) == 1
