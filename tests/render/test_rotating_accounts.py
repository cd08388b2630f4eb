"""Which accounts of a region move when credentials are rotated, as its releases are rendered."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pytest

from controller.domain.credentials.rotation.accounts import Release, Server, use_of
from controller.domain.credentials.rotation.not_rotated import not_rotated
from controller.domain.credentials.rotation.servers import server_of
from tests.render.region import core_spec, render
from tests.render.test_credentials import EVERYTHING

pytestmark = pytest.mark.slow


def releases_of(spec: dict[str, Any]) -> list[Release]:
    region = render(core_spec(**spec))
    return [
        Release(one.spec.name, one.spec.chart.name, one.spec.values)
        for bundle in region.bundles
        for one in bundle.releases
    ]


def test_nova_rotates_its_accounts_and_nothing_else() -> None:
    use = use_of("compute-credentials", releases_of({"charts": {}}))
    assert {(one.account.server, one.prefix) for one in use.accounts} == {
        (Server.DATABASE, "nova"),
        (Server.BROKER, "nova"),
        (Server.KEYSTONE, "nova"),
        (Server.KEYSTONE, "nova_service_user"),
        (Server.KEYSTONE, "nova_neutron"),
        (Server.KEYSTONE, "nova_placement"),
        (Server.KEYSTONE, "nova_cinder"),
        (Server.KEYSTONE, "nova_ironic"),
    }
    assert "test-password" not in use.keys
    assert {"database-password", "messaging-password", "nova-password"} <= use.keys


def test_no_account_moves_with_two_secrets() -> None:
    """Its removal would cut off whoever has it by the other one."""
    spec: dict[str, Any] = {"charts": {}}
    releases = releases_of(spec)
    secrets = defaultdict(set)
    for service in {f"{one.service}-credentials" for one in render(core_spec(**spec)).credentials}:
        for moving in use_of(service, releases).accounts:
            secrets[moving.account.server, moving.prefix, moving.account.domain].add(service)
    assert secrets
    assert {one: these for one, these in secrets.items() if len(these) > 1} == {}


@pytest.mark.parametrize("spec", [EVERYTHING, {"charts": {}}], ids=str)
def test_the_server_of_each_account_is_known(spec: dict[str, Any]) -> None:
    releases = {one.name: one for one in releases_of(spec)}
    for secret in render(core_spec(**spec)).credentials:
        for moving in use_of(secret.name, releases.values()).accounts:
            assert server_of(moving.account, releases[moving.account.release], "openstack")


def test_of_what_stays_there_is_a_reason() -> None:
    releases = releases_of(EVERYTHING)
    kept = {}
    for secret in render(core_spec(**EVERYTHING)).credentials:
        use = use_of(secret.name, releases)
        for key in secret.credentials:
            kept[secret.service, key] = not_rotated(secret.service, key, use)
    for place in [
        ("compute", "nova-password"),
        ("image", "glance-password"),
        ("key-manager", "simple-crypto-key"),
        ("networking", "metadata-secret"),
        ("database", "root-password"),
        ("identity", "admin-password"),
        ("messaging", "admin-password"),
        ("load-balancer", "octavia-password"),
        ("orchestration", "heat-trustee-password"),
        ("orchestration", "heat-stack-user-password"),
    ]:
        assert kept[place] == "", place
    for place in [
        ("database", "sst-password"),
        ("messaging", "erlang-cookie"),
        ("load-balancer", "heartbeat-key"),
        ("load-balancer", "certs-passphrase"),
        ("orchestration", "auth-encryption-key"),
        ("object-storage", "swift-password"),
    ]:
        assert kept[place], place
