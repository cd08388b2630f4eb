"""Whose cloud it is: credentials that are missing or wrong, and namespaces that have their own."""

from __future__ import annotations

import pytest

from tests.openstack.servers.bed import ServersBed

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.openstack,
    pytest.mark.xdist_group("openstack"),
    pytest.mark.timeout(1500),
]


def test_wrong_credentials_and_what_is_missing_heal_without_an_edit(servers: ServersBed) -> None:
    servers.give_credentials(password="wrong")
    servers.create("heal", userDataRef={"name": "later"}, image={"filter": {"name": "absent"}})
    servers.wait_reason("heal", "CredentialsDenied")
    servers.give_credentials()
    message = servers.wait_reason("heal", "DependencyFailed")["message"]
    assert '{"name": "absent"}' in message
    tiny = servers.sdk.image.find_image("tiny")
    servers.sdk.image.update_image(tiny, name="absent")
    try:
        servers.wait_reason("heal", "UserDataMissing")
        servers.give_secret("later", value=b"#cloud-config\n")
        servers.wait_ready("heal")
    finally:
        servers.sdk.image.update_image(tiny, name="tiny")


def test_a_namespace_brings_credentials_of_its_own_and_each_lack_has_a_reason(team: ServersBed) -> None:
    team.create("mine")
    message = team.wait_condition("mine", "OpenStackAuthenticationSucceeded", "CredentialsMissing")["message"]
    assert "identityRef is required" in message
    team.create("machine", identityRef={"name": "team-clouds", "cloudName": "team"})
    team.wait_reason("machine", "CredentialsMissing")
    team.give_secret("team-clouds", clouds_yaml=team.clouds())
    team.wait_reason("machine", "CloudNotFound")
    team.give_secret("team-clouds", clouds_yaml=team.clouds().replace(b"default:", b"team:"))
    team.wait_ready("machine")


def test_two_objects_of_one_name_in_two_namespaces_have_a_server_each(
    servers: ServersBed, team: ServersBed
) -> None:
    team.give_secret("team-clouds", clouds_yaml=team.clouds())
    servers.create("same")
    team.create("same", identityRef={"name": "team-clouds"})
    servers.wait_ready("same")
    team.wait_ready("same")
    here, there = (bed.of(bed.uid("same")) for bed in (servers, team))
    assert [len(here[kind]) for kind in ("servers", "ports")] == [1, 1]
    assert here["servers"][0].id != there["servers"][0].id
    team.delete("same")
    servers.wipe_status("same")
    servers.wait_ready("same")
    assert [one.id for one in servers.of(servers.uid("same"))["servers"]] == [here["servers"][0].id]
