"""TLS between hypervisors, and to their consoles, with certificates that the secrets container makes."""

from __future__ import annotations

from typing import Any

import pytest

from controller.domain.region.required_certificates import secrets_made
from controller.domain.values.ceph_needs import CONSUMERS_SECRET
from controller.domain.values.chart_values import Values
from controller.errors import SpecInvalid
from controller.render.region import Region
from tests.render.region import core_spec, render


def region(**compute: Any) -> Region:
    features = {"compute": {"libvirtTLS": {"enabled": True}, **compute}}
    return render(core_spec(preset="core", features=features))


def values(made: Region, name: str) -> Values:
    release = made.release(name)
    assert release is not None
    return release.spec.values


@pytest.mark.slow
def test_libvirt_mounts_what_is_made_and_is_restarted_with_it() -> None:
    made = region()
    given = values(made, "libvirt")
    assert given["secrets"]["tls"] == {"server": "libvirt-tls", "client": "libvirt-tls"}
    assert given["release_uuid"]["$secretRef"] == {"name": "libvirt-tls", "key": "digest"}
    keys = secrets_made(made.certificates)["libvirt-tls"]
    # helm-toolkit's names of files in the chart's volumes, and QEMU's in the hook.
    assert keys >= {"cacert.pem", "servercert.pem", "serverkey.pem", "clientcert.pem", "clientkey.pem"}
    hook = given["conf"]["hooks"]["scripts"]["daemon"]
    assert all(f"{name}.pem" in keys and name in hook for name in ("ca-cert", "server-key", "client-key"))


def test_libvirt_listens_by_tls_only_where_nova_gives_that_to_other_hosts() -> None:
    given = values(region(), "libvirt")["conf"]
    assert (given["libvirt"]["listen_tcp"], given["libvirt"]["listen_tls"]) == ("0", "1")
    assert "route list 0/0" in given["dynamic_options"]["libvirt"]["listen_address"]
    nova = values(region(), "nova")["conf"]["nova"]["libvirt"]
    assert nova["live_migration_scheme"] == "tls"
    assert nova["live_migration_with_native_tls"] is True


def test_only_who_has_the_certificate_of_the_hypervisors_may_connect() -> None:
    made = region()
    [secret] = [one.name for one in made.certificates if one.hypervisors]
    # A certificate is named after its Secret (`OwnCertificates`).
    assert values(made, "libvirt")["conf"]["libvirt"]["tls_allowed_dn_list"] == [f"CN={secret}"]


def test_consoles_and_migrations_demand_certificates_of_both_sides() -> None:
    qemu = values(region(), "libvirt")["conf"]["qemu"]
    assert (
        int(qemu["vnc_tls"]) == int(qemu["vnc_tls_x509_verify"]) == int(qemu["migrate_tls_x509_verify"]) == 1
    )
    nova = values(region(), "nova")
    assert "vencrypt" in nova["extraObjects"]["novncproxy_vencrypt"]["data"]["vencrypt.conf"]
    [volume] = nova["pod"]["mounts"]["nova_novncproxy"]["nova_novncproxy"]["volumes"]
    assert volume["secret"]["secretName"] in secrets_made(region().certificates)


def test_without_such_consoles_their_proxy_has_no_certificate() -> None:
    made = region(console={"type": "none"})
    assert "nova-novncproxy-vencrypt" not in secrets_made(made.certificates)
    assert "extraObjects" not in values(made, "nova")


@pytest.mark.slow
def test_on_another_interface_the_certificate_stands_for_the_networks_that_are_named() -> None:
    migration = {"liveMigration": {"interface": "bond2"}}
    with pytest.raises(SpecInvalid) as refused:
        region(**migration)
    assert [one.path for one in refused.value.problems] == ["spec.features.compute.libvirtTLS.addresses"]
    made = region(**migration, libvirtTLS={"enabled": True, "addresses": ["10.1.0.0/30", "2001:db8::7"]})
    hypervisors = next(one for one in made.certificates if one.hypervisors)
    assert hypervisors.addresses == ("10.1.0.1", "10.1.0.2", "2001:db8::7")


def test_what_is_no_address_is_refused_with_its_place() -> None:
    with pytest.raises(SpecInvalid) as refused:
        region(libvirtTLS={"enabled": True, "addresses": ["10.1.0.7", "10.1.0.777"]})
    assert [one.path for one in refused.value.problems] == ["spec.features.compute.libvirtTLS.addresses[1]"]


def test_hypervisors_encrypt_unless_the_region_says_otherwise() -> None:
    made = render(core_spec(preset="core"))
    assert values(made, "libvirt")["conf"]["libvirt"]["listen_tls"] == "1"
    assert values(made, "nova")["conf"]["nova"]["libvirt"]["live_migration_scheme"] == "tls"
    assert {"libvirt-tls", "nova-novncproxy-vencrypt"} <= secrets_made(made.certificates).keys()
    refused = render(core_spec(preset="core", features={"compute": {"libvirtTLS": {"enabled": False}}}))
    assert "listen_tls" not in values(refused, "libvirt")["conf"]["libvirt"]
    assert refused.certificates == ()


@pytest.mark.slow
def test_an_interface_without_named_addresses_stays_in_clear_with_a_warning() -> None:
    compute = {"liveMigration": {"interface": "bond2"}}
    made = render(core_spec(preset="core", features={"compute": compute}))
    assert "listen_tls" not in str(values(made, "libvirt"))
    [warning] = [one for one in made.warnings if "libvirtTLS" in one.path]
    assert "hypervisors accept anyone" in warning.message


@pytest.mark.slow
def test_a_key_of_ceph_and_a_certificate_both_restart_libvirt() -> None:
    features = {
        "compute": {"images": {"backend": "ceph"}},
        "ceph": {"source": "Rook", "namespace": "rook-ceph"},
    }
    made = values(render(core_spec(preset="core", features=features)), "libvirt")
    assert made["release_uuid"]["$secretRef"]["name"] == "libvirt-tls"
    followed = made["conf"]["hooks"]["scripts"]["ceph"]["$secretRef"]
    assert (followed["name"], followed["key"]) == (CONSUMERS_SECRET, "libvirt")
