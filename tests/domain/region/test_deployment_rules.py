"""Networks of nodes, domains and registries that cannot be: each is reported where it stands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from controller.domain.region.deployment import parse_deployment
from controller.errors import SpecInvalid
from tests.api.definitions import SCHEMAS, osdpl


def problems(**spec: Any) -> dict[str, str]:
    """Path → message of every problem."""
    try:
        parse_deployment(osdpl(**spec), SCHEMAS["OpenStackDeployment"])
    except SpecInvalid as error:
        return {problem.path: problem.message for problem in error.problems}
    return {}


def networks(*given: dict[str, Any]) -> dict[str, str]:
    own = [{"name": f"net{index}", "bridge": f"br-{index}", **one} for index, one in enumerate(given)]
    return problems(features={"networking": {"externalNetworks": own}})


PATH = "spec.features.networking.externalNetworks"


def test_an_interface_is_in_one_bridge_only() -> None:
    found = networks({"interface": "bond1"}, {"interface": "bond1"})
    assert found == {f"{PATH}[1].interface": 'bond1 is already in the bridge of network "net0"'}
    assert networks({"interface": "bond1"}, {"interface": "bond2"}, {}, {}) == {}


def test_an_interface_in_a_bridge_does_not_carry_tunnels() -> None:
    own = [{"name": "net0", "bridge": "br-0", "interface": "bond0"}]
    found = problems(features={"networking": {"tunnelInterface": "bond0", "externalNetworks": own}})
    told = 'bond0 is in the bridge of network "net0", and the bridge takes over its address'
    assert found == {"spec.features.networking.tunnelInterface": told}
    for other in ("bond0.100", "br-0"):
        assert problems(features={"networking": {"tunnelInterface": other, "externalNetworks": own}}) == {}


@pytest.mark.parametrize("bridge", ["br-int", "br-tun"])
def test_bridges_that_neutron_keeps_for_itself_are_refused(bridge: str) -> None:
    found = networks({"bridge": bridge})
    assert found == {f"{PATH}[0].bridge": f"{bridge} is reserved for neutron"}


def test_ranges_of_one_network_share_no_vlan() -> None:
    found = networks({"vlanRanges": ["300:310", "100:199", "150:150"]})
    assert found == {f"{PATH}[0].vlanRanges[2]": "overlaps with 100:199"}
    assert networks({"vlanRanges": ["100:199", "200:200"]}, {"vlanRanges": ["100:199"]}) == {}


def test_domains_that_differ_in_capitals_only_are_refused() -> None:
    domains = [{"name": name, "url": "ldaps://l", "suffix": "dc=x"} for name in ("corp", "other", "Corp")]
    found = problems(features={"identity": {"ldap": {"domains": domains}}})
    assert list(found) == ["spec.features.identity.ldap.domains[2].name"]
    assert 'treats it as domain "corp"' in found["spec.features.identity.ldap.domains[2].name"]


@pytest.mark.parametrize(
    "registry",
    [
        "http://foo/bar",
        "foo//bar",
        "foo/Bar",
        "foo/bar/",
        "foo:x/bar",
        "foo/bar:5000",
        "foo:5000:1",
        "foo/a..b",
    ],
)
def test_a_registry_that_no_image_could_be_pulled_from_is_refused(registry: str) -> None:
    assert list(problems(images={"registry": registry})) == ["spec.images.registry"]


@pytest.mark.parametrize(
    "registry",
    ["mirror", "registry.example.org", "Registry.example.org:5000/a/b-c/d__e", "10.0.0.1:5000", "m/a.b/c--d"],
)
def test_a_host_with_port_and_path_is_a_registry(registry: str) -> None:
    assert problems(images={"registry": registry}) == {}


def addresses(*given: str) -> dict[str, str]:
    features = {"compute": {"libvirtTLS": {"enabled": True, "addresses": list(given)}}}
    return problems(charts={"repository": "https://charts.example.org/osh"}, features=features)


def test_a_network_of_more_hypervisors_than_a_certificate_can_name_is_refused() -> None:
    path = "spec.features.compute.libvirtTLS.addresses"
    assert list(addresses("10.1.0.7", "2001:db8::/32")) == [f"{path}[1]"]
    assert list(addresses("10.1.0.7", "2001:db8::/22")) == [f"{path}[1]"]
    assert addresses("10.1.0.0/22", "2001:db8::7") == {}


def test_networks_that_are_too_many_together_are_refused() -> None:
    many = [f"10.1.{4 * index}.0/22" for index in range(5)]
    assert addresses(*many[:4]) == {}
    [(path, message)] = addresses(*many).items()
    assert path == "spec.features.compute.libvirtTLS.addresses"
    assert "5120 addresses" in message


@pytest.mark.parametrize(
    ("features", "path"),
    [
        (
            {"blockStorage": {"backends": [{"name": "a", "type": "ceph", "ceph": {"user": "admin"}}]}},
            "blockStorage.backends[0].ceph.user",
        ),
        (
            {
                "blockStorage": {
                    "backup": {"enabled": True, "driver": "ceph", "conf": {"backup_ceph_user": "admin"}}
                }
            },
            "blockStorage.backup.conf.backup_ceph_user",
        ),
        ({"metering": {"gnocchi": {"enabled": True, "user": "admin"}}}, "metering.gnocchi.user"),
    ],
)
def test_no_service_is_cephs_administrator(features: dict[str, Any], path: str) -> None:
    exchange = {"ceph": {"source": "Rook", "namespace": "rook-ceph"}}
    found = problems(features={**features, **exchange})
    assert list(found) == [f"spec.features.{path}"]
    assert ("is Ceph's administrator, and the key of the administrator must not be") in found[
        f"spec.features.{path}"
    ]
    assert problems(features=features) == {}


def backup_of(**fields: object) -> dict[str, Any]:
    return {"blockStorage": {"backup": {"enabled": True, "driver": "ceph", **fields}}}


def store_of(**ceph: str) -> dict[str, Any]:
    return {"blockStorage": {"backends": [{"name": "a", "type": "ceph", "ceph": ceph}]}}


HOSTILE = ("images, allow *", "a]\n[client.admin", "../../configmaps/x", "images namespace=b", "größe", " a")


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize(
    ("features_of", "path"),
    [
        (lambda name: store_of(user=name), "blockStorage.backends[0].ceph.user"),
        (lambda name: store_of(pool=name), "blockStorage.backends[0].ceph.pool"),
        (
            lambda name: backup_of(conf={"backup_ceph_user": name}),
            "blockStorage.backup.conf.backup_ceph_user",
        ),
        (lambda name: backup_of(pool=name), "blockStorage.backup.pool"),
        (
            lambda name: {"image": {"backends": [{"name": "a", "type": "ceph", "pool": name}]}},
            "image.backends[0].pool",
        ),
        (
            lambda name: {"compute": {"images": {"backend": "ceph", "ceph": {"pool": name}}}},
            "compute.images.ceph.pool",
        ),
        (lambda name: {"metering": {"gnocchi": {"enabled": True, "pool": name}}}, "metering.gnocchi.pool"),
        (lambda name: {"metering": {"gnocchi": {"enabled": True, "user": name}}}, "metering.gnocchi.user"),
    ],
)
def test_no_name_is_more_than_a_name_to_ceph(
    features_of: Callable[[str], dict[str, Any]], path: str, name: str
) -> None:
    exchange = {"ceph": {"source": "Rook", "namespace": "rook-ceph"}}
    found = problems(features={**features_of(name), **exchange})
    assert f"spec.features.{path}" in found
    assert problems(features={**features_of("a_name.of-9"), **exchange}) == {}


def providers(*given: dict[str, object]) -> dict[str, str]:
    base = {
        "clientID": "cloud",
        "clientSecret": {"name": "oidc", "key": "secret"},
        "mapping": [{"local": [], "remote": [{"type": "HTTP_OIDC_EMAIL"}]}],
    }
    own = [{**base, "name": f"p{index}", **one} for index, one in enumerate(given)]
    return problems(features={"identity": {"federation": {"providers": own}}})


def test_two_providers_of_one_issuer_are_one() -> None:
    found = providers({"issuer": "https://a.example.org"}, {"issuer": "https://a.example.org/"})
    path = "spec.features.identity.federation.providers[1].issuer"
    assert found == {path: 'is also the issuer of "p0"'}


def test_metadata_of_another_issuer_are_refused() -> None:
    given = {"issuer": "https://a.example.org", "metadata": {"issuer": "https://b.example.org"}}
    path = "spec.features.identity.federation.providers[0].metadata.issuer"
    assert providers(given) == {path: "must be https://a.example.org"}
    assert (
        providers({"issuer": "https://a.example.org", "metadata": {"issuer": "https://a.example.org"}}) == {}
    )


@pytest.mark.parametrize(
    ("toleration", "field"),
    [
        ({"key": "gpu", "operator": "Exists", "value": "yes"}, "value"),
        ({"value": "yes"}, "operator"),
        ({"key": "gpu", "effect": "NoSchedule", "tolerationSeconds": 60}, "effect"),
    ],
)
def test_a_toleration_that_kubernetes_refuses_is_refused_here(toleration: dict[str, Any], field: str) -> None:
    pods = {"pods": {"tolerations": [toleration]}}
    found = problems(features={"compute": pods})
    assert list(found) == [f"spec.features.compute.pods.tolerations[0].{field}"]
    assert list(problems(features=pods)) == [f"spec.features.pods.tolerations[0].{field}"]


def test_tolerations_that_kubernetes_takes_are_taken() -> None:
    given = [
        {"operator": "Exists"},
        {"key": "gpu", "value": "yes"},
        {"key": "gpu", "effect": "NoExecute", "tolerationSeconds": 60},
    ]
    assert problems(features={"compute": {"pods": {"tolerations": given}}}) == {}
