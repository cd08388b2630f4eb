"""Nodes of each profile carry the role labels that charts select."""

from __future__ import annotations

import pytest

from sandbox.errors import SandboxError
from sandbox.profiles import STORAGE_CLASSES, node_object, parse_profile, storage_class_object

ROLES = {
    "openstack-control-plane",
    "openstack-compute-node",
    "openstack-network-node",
    "openvswitch",
    "l3-agent",
}


def test_the_single_node_plays_every_role() -> None:
    (node,) = parse_profile("single")
    assert set(node.roles) == ROLES
    labels = node_object(node, "single")["metadata"]["labels"]
    assert {labels[role] for role in ROLES} == {"enabled"}


def test_small_has_three_control_and_three_compute_nodes() -> None:
    nodes = parse_profile("small")
    control = [node.name for node in nodes if "openstack-control-plane" in node.roles]
    compute = [node.name for node in nodes if "openstack-compute-node" in node.roles]
    assert (control, compute) == (["ctl1", "ctl2", "ctl3"], ["cmp1", "cmp2", "cmp3"])


def test_large_has_as_many_nodes_as_asked() -> None:
    nodes = parse_profile("large:40")
    assert len({node.name for node in nodes}) == 40


@pytest.mark.parametrize(
    "profile", ["", "tiny", "large", "large:", "large:5", "large:x", "large:-7", "large:²"]
)
def test_any_other_profile_is_refused_with_the_choices(profile: str) -> None:
    with pytest.raises(SandboxError, match="use none, single, small or large:N with N between 6 and 1000"):
        parse_profile(profile)


def test_nodes_are_taken_up_by_kwok() -> None:
    (node,) = parse_profile("single")
    assert node_object(node, "single")["metadata"]["annotations"]["kwok.x-k8s.io/node"] == "fake"


def test_one_storage_class_is_the_default_one() -> None:
    mark = "storageclass.kubernetes.io/is-default-class"
    defaults = [
        name for name in STORAGE_CLASSES if mark in storage_class_object(name)["metadata"]["annotations"]
    ]
    assert defaults == [STORAGE_CLASSES[0]]
