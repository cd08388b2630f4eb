"""What a region's policies admitted is what its pods connect to, also from the network of their node."""

from __future__ import annotations

import copy
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.render import policies
from tests.upstream.regions import objects, region, releases

pytestmark = [pytest.mark.upstream, pytest.mark.timeout(600)]

NODE = "10.0.7.7"
BACKENDS = ("ml2/ovs", "ml2/ovn")


@cache
def made(charts: Path, backend: str) -> tuple[Any, ...]:
    features = {
        "networkPolicies": {"enabled": True, "nodeNetworks": ["10.0.0.0/16"]},
        "networking": {"backend": backend},
    }
    found = region(charts, {"preset": "compute-baremetal", "size": "small", "features": features})
    return tuple(obj for release in releases(found) for obj in objects(release, namespace="openstack"))


@pytest.mark.parametrize("backend", BACKENDS)
def test_no_connection_that_a_file_names_is_turned_away(charts: Path, backend: str) -> None:
    assert policies.turned_away(made(charts, backend), NODE) == []


def test_connections_are_found_at_all(charts: Path) -> None:
    closed = copy.deepcopy([obj for obj in made(charts, "ml2/ovs") if obj["kind"] == "NetworkPolicy"])
    for policy in closed:
        policy["spec"]["ingress"] = []
    others = [obj for obj in made(charts, "ml2/ovs") if obj["kind"] != "NetworkPolicy"]
    found = policies.turned_away([*others, *closed], NODE)
    assert {"DaemonSet nova-compute-default → rabbitmq-rabbitmq:5672"} <= set(found)
    assert len({one.partition(" → ")[2] for one in found}) > 8


def test_a_node_whose_network_is_not_named_is_turned_away(charts: Path) -> None:
    found = policies.turned_away(made(charts, "ml2/ovs"), "192.0.2.1")
    assert "DaemonSet nova-compute-default → rabbitmq-rabbitmq:5672" in found


@pytest.mark.parametrize(("database", "port"), [("nb", 6641), ("sb", 6642), ("nb", 6643), ("sb", 6644)])
def test_databases_of_ovn_which_ask_for_no_password_let_in_who_needs_them_only(
    charts: Path, database: str, port: int
) -> None:
    server = {"application": "ovn", "component": f"ovn-ovsdb-{database}"}
    there = made(charts, "ml2/ovn")
    let_in = {
        name
        for name in ("neutron", "octavia", "ovn", "horizon", "nova", "")
        if policies.admits(there, server, port, policies.Client(name, {"application": name}, False, ()))
    }
    assert let_in == {"neutron", "octavia", "ovn"}
