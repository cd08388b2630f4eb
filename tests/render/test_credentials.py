"""Secrets of a region: each is generated, or named by the operator; none is in clear, none is idle."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from controller.domain.credentials.generate import KINDS
from controller.domain.region.required_certificates import secrets_made
from controller.domain.values.plain_text_secrets import literal_secrets
from controller.errors import SpecInvalid
from controller.render.region import Region
from tests.render.region import core_spec, library, render
from tests.render.specs import FEATURES, brought

OPTIONAL = ("dns", "load-balancer", "shared-file-system", "object-storage", "instance-ha")
EVERYTHING = {
    "preset": "compute-baremetal",
    "features": {"services": {"enabled": list(OPTIONAL)}},
    **brought(*OPTIONAL),
}
# Credentials that only some features use, with one of those.
BY_FEATURE = {
    ("identity", "oidc-passphrase"): "identity-oidc",
    ("compute", "ceph-secret-uuid"): "compute-images-ceph",
}


def references(value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        if "$secretRef" in value and "prefix" in value["$secretRef"]:
            return  # the name of an account, which no Secret need have
        if "$secretRef" in value:
            yield value["$secretRef"]["name"], value["$secretRef"]["key"]
        else:
            for item in value.values():
                yield from references(item)
    elif isinstance(value, list):
        for item in value:
            yield from references(item)


def used(region: Region) -> set[tuple[str, str]]:
    releases = [release for bundle in region.bundles for release in bundle.releases]
    return {ref for release in releases for ref in references(release.spec.values)}


def generated(region: Region) -> set[tuple[str, str]]:
    return {(secret.name, key) for secret in region.credentials for key in secret.credentials}


@pytest.mark.parametrize("spec", [EVERYTHING, {"preset": "compute"}, {}, {"charts": {}}], ids=str)
def test_every_secret_that_a_release_refers_to_is_generated(spec: dict[str, Any]) -> None:
    region = render(core_spec(**spec))
    certificates = {(name, key) for name, keys in secrets_made(region.certificates).items() for key in keys}
    assert used(region) - generated(region) - certificates == set()


@pytest.mark.slow
def test_every_secret_that_is_generated_is_used() -> None:
    region = render(core_spec(**EVERYTHING))
    by_feature = {(f"{service}-credentials", key) for service, key in BY_FEATURE}
    assert generated(region) - used(region) == by_feature
    for (service, key), feature in BY_FEATURE.items():
        values = [r.spec.values for b in render(core_spec(**FEATURES[feature])).bundles for r in b.releases]
        assert f"{service}-credentials" in str(values)
        assert key in str(values)


def test_every_kind_of_the_catalogue_is_one_that_can_be_made() -> None:
    kinds = {kind for entry in library().catalogue.services.values() for kind in entry.credentials.values()}
    assert kinds <= set(KINDS)


def test_no_secret_in_clear_reaches_a_release() -> None:
    for spec in (EVERYTHING, {"charts": {}}):
        for bundle in render(core_spec(**spec)).bundles:
            for release in bundle.releases:
                assert list(literal_secrets(release.merged.values)) == []
                assert "password" not in str(list(_texts(release.merged.values)))


def _texts(value: Any) -> Iterator[str]:
    """Every text that is a whole value."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            if key not in ("auth_type", "$secretRef"):
                yield from _texts(item)
    elif isinstance(value, str) and value == "password":
        yield value


def test_an_operators_own_secret_is_referred_to_and_not_generated() -> None:
    own = {"identity": {"admin-password": {"name": "vaulted", "key": "admin"}}}
    region = render(core_spec(features={"credentials": own}))
    assert ("vaulted", "admin") in used(region)
    assert ("identity-credentials", "admin-password") not in used(region) | generated(region)
    assert ("identity-credentials", "database-password") in generated(region)


def password(region: Region, release: str, *path: str) -> Any:
    found = region.release(release)
    assert found is not None
    value: Any = found.merged.values["endpoints"]
    for key in (*path, "password"):
        value = value[key]
    return value


def test_accounts_that_charts_share_have_one_password() -> None:
    region = render(core_spec(**EVERYTHING))
    glance = password(region, "glance", "identity", "auth", "glance")
    admin = password(region, "keystone", "identity", "auth", "admin")
    root = password(region, "mariadb", "oslo_db", "auth", "admin")
    broker = password(region, "rabbitmq", "oslo_messaging", "auth", "user")
    for release in ("cinder", "ironic"):
        assert password(region, release, "identity", "auth", "glance") == glance
    for release in ("nova", "neutron", "cinder", "heat", "horizon", "mariadb"):
        assert password(region, release, "identity", "auth", "admin") == admin
    for release in ("keystone", "nova", "horizon", "octavia"):
        assert password(region, release, "oslo_db", "auth", "admin") == root
    for release in ("keystone", "nova", "octavia"):
        assert password(region, release, "oslo_messaging", "auth", "admin") == broker


def test_each_service_has_passwords_of_its_own() -> None:
    region = render(core_spec(**EVERYTHING))
    for path in (("oslo_db", "auth"), ("oslo_messaging", "auth"), ("identity", "auth")):
        own = [
            str(password(region, name, *path, name))
            for name in ("nova", "neutron", "cinder", "heat", "octavia")
        ]
        assert len(set(own)) == len(own)


def test_nova_and_neutron_share_the_secret_of_the_metadata_proxy() -> None:
    region = render(core_spec())
    nova, neutron = region.release("nova"), region.release("neutron")
    assert nova is not None
    assert neutron is not None
    shared = nova.spec.values["conf"]["nova"]["neutron"]["metadata_proxy_shared_secret"]
    assert neutron.spec.values["conf"]["metadata_agent"]["DEFAULT"]["metadata_proxy_shared_secret"] == shared


def test_a_shipped_password_that_is_not_replaced_is_refused() -> None:
    content = {"endpoints": {"oslo_db": {"auth": {"audit": {"password": {"$patch": "delete"}}}}}}
    fine = core_spec(services={"database": {"mariadb": {"values": content}}})
    assert render(fine).release("mariadb") is not None
    in_clear = {"conf": {"extra": {"admin_password": "hunter2"}}}
    with pytest.raises(SpecInvalid) as refusal:
        render(core_spec(common={"charts": {"values": in_clear}}))
    paths = {p.path for p in refusal.value.problems if "not checked" not in p.message}
    assert paths == {"spec.common.charts.values.conf.extra.admin_password"}
    assert "hunter2" not in str(refusal.value)
