"""Octavia's pods mount what the secrets container makes for them, or what an operator brings."""

from __future__ import annotations

from typing import Any

import pytest

from controller.domain.region.required_certificates import secrets_made
from controller.domain.values.catalogue import AMPHORA_FILES
from controller.domain.values.chart_values import Values
from controller.domain.values.secret_refs import find_references
from controller.render.region import Region
from tests.render.region import core_spec, render
from tests.render.specs import brought

PODS = ("octavia_worker", "octavia_health_manager", "octavia_housekeeping")
MADE = "octavia-amphora-certs"


def region(*, networking: dict[str, Any] | None = None, **balancer: Any) -> Region:
    features: dict[str, Any] = {"services": {"enabled": ["load-balancer"]}, "loadBalancer": balancer}
    whole = {**features, "networking": networking or {}}
    return render(core_spec(preset="core", features=whole, **brought("load-balancer")))


def values(made: Region) -> Values:
    release = made.release("octavia")
    assert release
    return release.spec.values


def mounted(made: Region, pods: str) -> tuple[str, set[str]]:
    """The Secret and its keys."""
    given = values(made)["pod"]["mounts"][pods][pods]
    [volume], [mount] = given["volumes"], given["volumeMounts"]
    assert volume["name"] == mount["name"]
    assert "subPath" not in mount  # what is mounted by it is never brought up to date
    return volume["secret"]["secretName"], {one["key"] for one in volume["secret"]["items"]}


@pytest.mark.parametrize("pods", PODS)
def test_who_speaks_to_amphorae_mounts_what_is_made(pods: str) -> None:
    made = region()
    assert mounted(made, pods) == (MADE, set(AMPHORA_FILES))
    [source] = values(made)["pod"]["etcSources"][pods]
    keys = {one["key"] for one in source["secret"]["items"]} | set(AMPHORA_FILES)
    assert source["secret"]["name"] == MADE
    assert keys <= secrets_made(made.certificates)[MADE]


def test_no_other_container_does() -> None:
    text = {name: str(part) for name, part in values(region())["pod"]["mounts"].items() if MADE in str(part)}
    assert text.keys() == set(PODS)
    for bundle in region().bundles:
        for release in bundle.releases:
            if release.spec.name != "octavia":
                assert MADE not in str(release.spec.values)


def test_no_value_refers_to_it() -> None:
    for bundle in region().bundles:
        for release in bundle.releases:
            assert MADE not in {one.name for one in find_references(release.spec.values)}


def test_no_bundle_of_the_region_is_made_for_it() -> None:
    features = {"services": {"enabled": ["load-balancer"]}, "compute": {"libvirtTLS": {"enabled": False}}}
    made = render(core_spec(preset="core", features=features, **brought("load-balancer")))
    assert secrets_made(made.certificates).keys() == {MADE}


@pytest.mark.parametrize("pods", PODS)
def test_an_operators_secret_takes_its_place(pods: str) -> None:
    made = region(certificatesSecret="octavia-certs")
    assert mounted(made, pods) == ("octavia-certs", set(AMPHORA_FILES))
    assert "etcSources" not in values(made)["pod"]
    assert MADE not in secrets_made(made.certificates)
    passphrase = values(made)["conf"]["octavia"]["certificates"]["ca_private_key_passphrase"]
    assert passphrase["$secretRef"] == {"name": "load-balancer-credentials", "key": "ca-passphrase"}


def test_flows_need_none() -> None:
    made = region(provider="ovn", networking={"backend": "ml2/ovn"})
    assert MADE not in secrets_made(made.certificates)
    assert "mounts" not in values(made)["pod"]
