"""A person's own clouds.yaml: its keys work, do no harm, or are reported by name, without values."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from controller.adapters.openstack.calls import CloudCalls
from controller.adapters.openstack.client import OpenStackCloud
from controller.adapters.openstack.clouds_yaml import parse_clouds
from controller.adapters.openstack.server_cloud import OpenStackServerCloud
from controller.adapters.system.clock import SystemClock
from controller.adapters.system.randomness import SystemRandomness
from controller.domain.servers.server_status import Project
from controller.errors import CloudRefused, CloudUnavailable
from tests.fakes.identity import FakeIdentity, served_identity

AUTH = {
    "auth_url": "http://127.0.0.1:1/v3",
    "username": "admin",
    "password": "planted-secret",
    "project_name": "admin",
    "user_domain_name": "Default",
    "project_domain_name": "Default",
}
# None of them changes which services are asked, and with what.
HARMLESS: dict[str, Any] = {
    "api_timeout": 60,
    "api-timeout": 60,
    "app_name": "mine",
    "app_version": "1",
    "rate_limit": 1,
    "validate": False,
    "options": 1,
    "load_envvars": True,
    "service_key": "compute",
    "argparse": 1,
    "metrics": {"statsd": {"host": "nowhere"}},
    "vendor_hook": "os:getcwd",
    "networks": [{}],
    "message": "{",
    "status": "shutdown",
    "compute_default_microversion": "2.1",
    "compute_status_code_retries": 5,
    "connect_retries": 5,
    "cacert": None,
}
WORKING: dict[str, Any] = {
    "auth_type": "password",
    "region_name": "RegionOne",
    "interface": "publicURL",
    "endpoint_type": "public",
    "verify": False,
    "insecure": "true",
    "force_ipv4": True,
    "identity_api_version": 3,
    "compute_api_version": "2.1",
    "regions": ["RegionOne"],
    "floating_ip_source": "neutron",
}
TOLD: dict[str, Any] = {
    "profile": "planted-secret",
    "cloud": "planted-secret",
    "regions": ["planted-secret", "another"],
    "interface": "planted-secret",
    "verify": "planted-secret",
    "insecure": "planted-secret",
    "cacert": "/planted-secret",
    "cert": "/planted-secret",
    "key": "~nobody-here/planted-secret",
}


def written(**more: Any) -> bytes:
    return yaml.safe_dump({"clouds": {"mine": {"auth": AUTH, **more}}}).encode()


@pytest.mark.parametrize("key", HARMLESS)
def test_keys_that_name_no_place_are_left_out(key: str) -> None:
    assert parse_clouds(written(**{key: HARMLESS[key]})) == {"auth": AUTH, "interface": "public"}


@pytest.mark.parametrize("key", TOLD)
def test_what_cannot_be_used_is_reported_by_its_key_and_not_by_its_value(key: str) -> None:
    with pytest.raises(CloudRefused, match="cannot be used") as error:
        parse_clouds(written(**{key: TOLD[key]}))
    reported = str(error.value)
    assert key.removesuffix("s") in reported and "planted-secret" not in reported


def test_files_that_are_there_are_used(tmp_path: Path) -> None:
    file = tmp_path / "ca.crt"
    file.touch()
    assert parse_clouds(written(cacert=str(file)))["cacert"] == str(file)


def test_an_authority_that_is_given_otherwise_or_not_asked_for_needs_no_file() -> None:
    assert parse_clouds(written(cacert="/nowhere"), trusted=True)
    assert parse_clouds(written(cacert="/nowhere", verify=False))


def test_the_settings_of_the_chosen_region_are_taken() -> None:
    regions = [{"name": "one", "values": {"auth": {"username": "eins"}, "interface": "internal"}}, "two"]
    found = parse_clouds(written(regions=regions, region_name="one"))
    assert (found["region_name"], found["interface"]) == ("one", "internal")
    assert found["auth"] == {**AUTH, "username": "eins"}
    assert parse_clouds(written(regions=regions, region_name="two"))["interface"] == "public"


def test_the_old_name_of_the_interface_is_the_interface() -> None:
    assert parse_clouds(written(endpoint_type="internalURL"))["interface"] == "internal"


@pytest.mark.parametrize("plain", [True, False], ids=["somebody else's", "our own"])
@pytest.mark.parametrize("key", ["profile", "cloud"])
def test_a_region_names_no_settings_from_elsewhere(key: str, plain: bool) -> None:
    regions = [{"name": "one", "values": {key: "http://planted-secret"}}]
    with pytest.raises(CloudRefused, match=f"{key} names settings") as error:
        parse_clouds(written(regions=regions), plain=plain)
    assert "planted-secret" not in str(error.value)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("auth_type", "v3oidcpassword"),
        ("cert", "/etc/hosts"),
        ("key", "/etc/hosts"),
        ("cacert", "/etc/hosts"),
        ("cacert", "/nowhere"),
    ],
)
def test_a_region_of_anothers_text_logs_in_as_plainly(key: str, value: str) -> None:
    with pytest.raises(CloudRefused, match=key):
        parse_clouds(written(regions=[{"name": "one", "values": {key: value}}]), plain=True)


@pytest.mark.parametrize("file", ["/etc/hosts", "/nowhere"])
def test_another_person_learns_nothing_of_our_files_or_of_where_an_authority_goes(file: str) -> None:
    with pytest.raises(CloudRefused, match=r"cacert names a file.*into the same Secret under ca\.crt"):
        parse_clouds(written(cacert=file), plain=True)


@pytest.mark.parametrize("more", [{"verify": False}, {"insecure": "True"}, {}], ids=str)
def test_a_file_that_anothers_text_does_not_need_is_left_out(more: dict[str, Any]) -> None:
    found = parse_clouds(written(cacert="/etc/hosts", **more), plain=True, trusted=not more)
    assert "cacert" not in found


def test_of_anothers_text_only_its_cloud_and_its_login_are_taken() -> None:
    told = {"auth_type": "password", "identity_api_version": 3, "compute_endpoint_override": "https://nova"}
    unknown = {"nobody_knows_it": "x", "vendor_hook": "sys:exit", "force_ipv4": True}
    regions = [{"name": "one", "values": {**unknown, "has_block_storage": False}}]
    found = parse_clouds(written(**told, **unknown, regions=regions), plain=True)
    expected = {"auth": AUTH, **told, "has_block_storage": False, "region_name": "one", "interface": "public"}
    assert found == expected


def test_a_region_with_an_unreadable_login_is_reported() -> None:
    with pytest.raises(CloudRefused, match="regions cannot be read"):
        parse_clouds(written(regions=[{"name": "one", "values": {"auth": "planted-secret"}}]))


@pytest.mark.slow
class TestWithTheLibrary:
    """It loads openstacksdk."""

    @pytest.fixture(autouse=True)
    def opened(self) -> Iterator[None]:
        self.to_close: list[CloudCalls] = []
        yield
        for calls in self.to_close:
            calls.close()

    def calls(self, server: FakeIdentity, **more: Any) -> CloudCalls:
        document = yaml.safe_load(server.clouds())
        [cloud] = document["clouds"].values()
        cloud.update(more)
        settings = parse_clouds(json.dumps(document).encode())
        made = CloudCalls(settings, SystemClock(), SystemRandomness(), sleep=lambda _: None)
        self.to_close.append(made)
        return made

    @pytest.mark.parametrize("key", [*HARMLESS, *WORKING])
    def test_a_cloud_is_asked_whatever_else_its_file_says(self, key: str) -> None:
        with served_identity() as server, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            cloud = OpenStackCloud(self.calls(server, **{key: {**HARMLESS, **WORKING}[key]}))
            assert [one.host for one in cloud.compute_services()] == ["cmp1"]

    def test_a_region_without_block_storage_has_no_volume_services(self) -> None:
        with served_identity() as server:
            assert OpenStackCloud(self.calls(server)).volume_services() == ()

    @pytest.mark.parametrize("named", [True, False], ids=["named", "the only one"])
    def test_credentials_lead_to_a_project_in_a_region(self, named: bool) -> None:
        with served_identity() as server:
            cloud = OpenStackServerCloud(self.calls(server, region_name="RegionOne" if named else None))
            assert cloud.authenticate() == Project("admin", "RegionOne")

    @pytest.mark.parametrize("auth_type", ["nobody-knows-it", "v3applicationcredential"])
    def test_a_login_that_cannot_be_made_of_the_file_is_reported(self, auth_type: str) -> None:
        with served_identity() as server:
            calls = self.calls(server, auth_type=auth_type)
            with pytest.raises(CloudUnavailable, match=r"the clouds\.yaml cannot be used"):
                calls.send("GET", "compute", "/os-services", None)
            with pytest.raises(CloudUnavailable, match=r"the clouds\.yaml cannot be used"):
                calls.status(server.url)
