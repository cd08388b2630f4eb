"""What a real node is reported, and what it is refused for."""

from __future__ import annotations

import ipaddress
import itertools
import json
import os
import tomllib
from pathlib import Path

import pytest
import yaml

from sandbox.certificates import CLIENTS
from sandbox.control_plane import POD_RANGE
from sandbox.errors import SandboxError
from sandbox.node import cgroups, plan, prepare
from sandbox.node.gateway import parse_connect
from sandbox.node.hosts import GATEWAY, MOST_NODES, SIDES, RealNode, real_nodes
from sandbox.paths import Layout

OTHER = RealNode(2)


def files() -> dict[str, str]:
    return plan.configuration_files("osctl-sandbox-1", OTHER, real_nodes(2), ("10.244.0.0/16", "10.0.0.0/16"))


def test_every_file_has_the_form_that_its_reader_expects() -> None:
    written = files()
    assert tomllib.loads(written["containerd.toml"])["version"] == 3
    assert json.loads(written["cni/10-pods.conflist"])["plugins"][0]["type"] == "ptp"
    assert yaml.safe_load(written["kubelet.yaml"])["cgroupRoot"] == "/osctl-sandbox-1"
    assert yaml.safe_load(written["kube-proxy.yaml"])["clusterCIDR"] == "10.244.0.0/16"


def test_what_is_sent_out_of_the_node_is_rejected_and_what_goes_to_services_is_not() -> None:
    rule = 'oifname "eth0" ip daddr != { 10.200.0.1/24, 10.244.0.0/16, 10.0.0.0/16 } reject'
    assert files()["reject.nft"].count(rule) == 2


def test_kube_proxy_leaves_the_machines_connection_table_alone() -> None:
    conntrack = yaml.safe_load(files()["kube-proxy.yaml"])["conntrack"]
    assert (conntrack["maxPerCore"], conntrack["min"]) == (0, 0)
    assert {conntrack["tcpEstablishedTimeout"], conntrack["tcpCloseWaitTimeout"]} == {"0s"}


def test_what_a_kubelet_sets_for_the_whole_machine_is_shadowed() -> None:
    assert {"kernel/panic", "kernel/panic_on_oops", "vm/overcommit_memory"} <= set(plan.SYSCTLS)


def test_each_program_of_the_node_is_a_client_with_a_certificate() -> None:
    users = [
        Path(json.loads(content)["users"][0]["user"]["client-certificate"]).stem
        for name, content in files().items()
        if name.endswith(".kubeconfig")
    ]
    assert set(users) <= set(CLIENTS)
    # The API server lets a kubelet see the pods of the node whose name its certificate bears.
    assert CLIENTS[users[0]] == (f"system:node:{OTHER.name}", "system:nodes")


def test_kubeconfigs_lead_to_the_gateway_and_expect_the_api_servers_name() -> None:
    cluster = json.loads(files()["kubelet.kubeconfig"])["clusters"][0]["cluster"]
    assert cluster["server"] == f"https://{GATEWAY}:{plan.API_PORT}"
    assert cluster["tls-server-name"] == "kubernetes"


def test_containerd_starts_before_the_kubelet_that_needs_it() -> None:
    first, *_, last = plan.commands()
    assert (first, last) == ("containerd", "kubelet")


def test_each_node_of_each_sandbox_has_a_control_group_of_its_own() -> None:
    places = (Path("/one"), Path("/two"))
    assert len({plan.cgroup_name(place, node) for place in places for node in real_nodes(2)}) == 4


def test_nodes_share_no_address_no_range_of_pods_and_no_port_of_a_switch() -> None:
    nodes = real_nodes(MOST_NODES)
    ranges = [ipaddress.ip_network(one.pod_range) for one in nodes]
    assert not any(one.overlaps(other) for one, other in itertools.combinations(ranges, 2))
    assert all(one.subnet_of(ipaddress.ip_network(POD_RANGE)) for one in ranges)
    links = [address for one in nodes for address in one.links().values()]
    ports = [one.port(side) for one in nodes for side in SIDES]
    assert len(set(links)) == len(set(ports)) == len(nodes) * len(SIDES)
    # The kernel cuts names of links at 15 letters.
    assert max(map(len, ports)) <= 15


def test_each_node_is_known_to_the_others_by_name() -> None:
    assert "10.200.0.2 real1.sandbox.local real1\n10.200.0.3 real2.sandbox.local real2\n" in files()["hosts"]


# -- refusals -------------------------------------------------------------------------------------------


def test_a_user_without_privileges_is_reported_that_root_is_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(SandboxError, match="a real node cannot run here:\n  - it needs root"):
        prepare.check_machine(Layout(tmp_path))


def test_everything_that_is_missing_is_reported_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(prepare.shutil, "which", lambda tool, path=None: None)
    monkeypatch.setattr(prepare, "missing_controllers", lambda: ("memory",))
    with pytest.raises(SandboxError) as reported:
        prepare.check_machine(Layout(tmp_path / ("x" * 90)))
    text = str(reported.value)
    for expected in ("no command ip", "no command unshare", "no controller memory", "too long for a socket"):
        assert expected in text


# -- control groups -------------------------------------------------------------------------------------


def old_groups(mount: Path) -> None:
    for controller in ("cpu", "cpuset", "memory", "pids"):
        (mount / controller).mkdir()
        (mount / controller / "cgroup.procs").write_text("")
    for setting, value in (("cpuset.cpus", "0-1"), ("cpuset.mems", "0")):
        (mount / "cpuset" / setting).write_text(value)


def test_with_version_1_the_group_is_made_in_every_hierarchy_and_removed(tmp_path: Path) -> None:
    old_groups(tmp_path)
    cgroups.make_cgroup("one", tmp_path)
    cgroups.make_cgroup("one", tmp_path)
    assert {path.parent.name for path in tmp_path.glob("*/one")} == {"cpu", "cpuset", "memory", "pids"}
    (tmp_path / "memory/one/pods/pod1").mkdir(parents=True)
    cgroups.remove_cgroup("one", tmp_path)
    assert not list(tmp_path.glob("*/one"))


def test_with_version_2_the_controllers_must_be_given_to_groups_below(tmp_path: Path) -> None:
    (tmp_path / "cgroup.controllers").write_text("cpuset cpu io memory pids\n")
    (tmp_path / "cgroup.subtree_control").write_text("cpu pids\n")
    assert cgroups.missing_controllers(tmp_path) == ("memory",)


def test_with_version_1_each_controller_is_a_hierarchy(tmp_path: Path) -> None:
    old_groups(tmp_path)
    assert cgroups.missing_controllers(tmp_path) == ()
    (tmp_path / "pids/cgroup.procs").unlink()
    assert cgroups.missing_controllers(tmp_path) == ("pids",)


# -- the way to pods ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        (b"CONNECT 10.200.0.2:10250 HTTP/1.1\r\nHost: x\r\n\r\n", ("10.200.0.2", 10250)),
        (b"CONNECT example.org:443 HTTP/1.1\r\n\r\n", None),
        (b"CONNECT 10.0.0.1:0 HTTP/1.1\r\n\r\n", None),
        (b"CONNECT 10.0.0.1:99999 HTTP/1.1\r\n\r\n", None),
        (b"GET / HTTP/1.1\r\n\r\n", None),
        (b"\xff\r\n\r\n", None),
        (b"", None),
    ],
)
def test_the_egress_proxy_connects_to_addresses_only(head: bytes, expected: tuple[str, int] | None) -> None:
    assert parse_connect(head) == expected


def test_the_api_server_reaches_pods_and_kubelets_through_the_socket() -> None:
    configured = yaml.safe_load(plan.egress_configuration(Path("/x/egress.sock")))
    (selection,) = configured["egressSelections"]
    assert selection["name"] == "cluster"
    assert selection["connection"]["transport"]["uds"]["udsName"] == "/x/egress.sock"
