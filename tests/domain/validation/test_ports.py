"""A number that becomes a port and is none is refused, wherever it is."""

from __future__ import annotations

from typing import Any

import pytest

from controller.domain.validation.spec.ports import address_problems, node_port_warnings, port_problems
from controller.domain.values.layer import Layer


def told(values: dict[str, Any]) -> list[str]:
    return [one.path for one in port_problems(Layer("services", values, root=("spec", "v")))]


@pytest.mark.parametrize(
    ("values", "path"),
    [
        ({"endpoints": {"image": {"port": {"api": {"default": 70000}}}}}, "endpoints.image.port.api.default"),
        ({"endpoints": {"image": {"port": {"api": {"public": 0}}}}}, "endpoints.image.port.api.public"),
        ({"endpoints": {"image": {"port": {"api": {"public": "99999"}}}}}, "endpoints.image.port.api.public"),
        ({"network": {"api": {"port": -1}}}, "network.api.port"),
        ({"network": {"api": {"node_port": {"port": 300300}}}}, "network.api.node_port.port"),
        ({"manifests": {"x": {"containerPort": 65536}}}, "manifests.x.containerPort"),
        ({"conf": {"x": {"DEFAULT": {"url": "https://s3.example.org:99999/a"}}}}, "conf.x.DEFAULT.url"),
    ],
)
def test_a_number_that_is_no_port_is_refused_with_its_path(values: dict[str, Any], path: str) -> None:
    assert told(values) == [f"spec.v.{path}"]


def test_ports_and_what_only_looks_like_one_are_not_refused() -> None:
    ports = {"endpoints": {"image": {"port": {"api": {"default": 9292, "public": "443", "internal": None}}}}}
    assert told(ports) == []
    assert (
        told({"conf": {"x": {"DEFAULT": {"port": 99999}}}, "support": 99999, "network": {"port": True}}) == []
    )


@pytest.mark.parametrize(
    ("spec", "path"),
    [
        ({"images": {"registry": "registry.example.org:70000/openstack"}}, "images.registry"),
        (
            {"images": {"overrides": {"nova_api": "registry.example.org:99999/nova:1"}}},
            "images.overrides.nova_api",
        ),
        ({"proxy": {"http": "http://proxy.example.org:0"}}, "proxy.http"),
        (
            {"features": {"keyManager": {"vault": {"url": "https://[::1]:65536/v1"}}}},
            "features.keyManager.vault.url",
        ),
    ],
)
def test_an_address_with_a_port_that_is_none_is_refused(spec: dict[str, Any], path: str) -> None:
    assert [one.path for one in address_problems(spec)] == [f"spec.{path}"]


def test_addresses_with_ports_and_images_with_tags_are_not_refused() -> None:
    images = {"registry": "registry.example.org:5000/a", "overrides": {"a": "docker.io/a/b:99999"}}
    vault = {"vault": {"url": "https://vault.example.org:8200/v1"}}
    assert list(address_problems({"images": images, "features": {"keyManager": vault}})) == []


def test_a_port_of_nodes_outside_of_the_range_of_clusters_is_reported_where_it_is_on() -> None:
    values = {"network": {"api": {"node_port": {"enabled": True, "port": 9292}}}}
    layer = Layer("services", values, root=("spec",))
    assert [one.path for one in node_port_warnings(layer, values)] == ["spec.network.api.node_port.port"]
    assert list(node_port_warnings(layer, {})) == []
