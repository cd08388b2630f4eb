"""A server from its object to OpenStack and back, as a person sees it."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from controller.domain.api.conditions import timestamp
from controller.domain.servers.cloud_resources import METADATA_KEY, Kind, mark_of
from controller.domain.servers.server_conditions import Aspect
from controller.domain.servers.server_status import Project
from controller.errors import CloudRefused, CloudUnavailable, CredentialsDenied
from controller.ports.kubernetes import SECRET, SERVER
from controller.ports.servers import Catalog
from tests.fakes.servers import FakeServerCloud
from tests.reconcile.servers.server_world import NAMESPACE, RESYNC, ServerWorld, ready

pytestmark = pytest.mark.slow

AUTHENTICATION = str(Aspect.AUTHENTICATION)
EVERY = {"Ready", "Paused", "Deleting", *map(str, Aspect)}
DATA = {"name": "data", "sizeGiB": 2, "storage": {"type": "Volume"}}
_SECRET = (SECRET, "openstack-clouds", NAMESPACE)
SCRATCH = {"name": "scratch", "sizeGiB": 3, "storage": {"type": "Local"}}


def _fail(error: Exception, on: str, times: int = 1) -> Any:
    left = [times]

    def fail(write: str) -> None:
        if write == on and left[0]:
            left[0] -= 1
            raise error

    return fail


def test_finalizer_and_what_was_resolved_are_there_before_anything_is_made() -> None:
    world = ServerWorld()
    world.create()
    seen = []

    def look(_: str) -> None:
        live = world.live()
        resolved = live["status"]["resolved"]
        seen.append((live["metadata"]["finalizers"], resolved["imageID"], len(live["status"]["conditions"])))

    world.cloud.before = look
    world.settle()
    assert seen[0] == (["servers.osctl.dev/finalizer"], "image-1", len(EVERY))


def test_every_condition_is_there_before_the_first_write_in_the_cloud() -> None:
    world = ServerWorld()
    world.create()
    world.step()
    assert world.cloud.writes == []
    assert {entry["type"] for entry in world.status()["conditions"]} == EVERY


def test_the_ids_in_the_status_are_those_of_the_cloud() -> None:
    world = ready()
    status, server, port = world.status(), world.only(Kind.SERVER), world.only(Kind.PORT)
    assert status["instanceID"] == server.id
    assert status["providerID"] == f"openstack:///{server.id}"
    assert [one["id"] for one in status["resources"]["ports"]] == [port.id]
    assert status["addresses"] == [{"type": "InternalIP", "address": "10.10.0.7"}]
    assert status["initialization"] == {"provisioned": True}
    assert world.cloud.writes == ["create port", "tag port", "create server"]


def test_a_ready_server_is_not_written_to_again() -> None:
    world = ready()
    version = world.kube.version
    world.cloud.writes.clear()
    assert world.step() == RESYNC
    assert (world.cloud.writes, world.kube.version) == ([], version)


def test_a_ready_server_costs_one_read_for_each_thing_that_it_has() -> None:
    world = ready(rootVolume={"sizeGiB": 5}, floatingIP={"pool": "public"})
    world.cloud.calls.clear()
    assert world.step() == RESYNC
    assert world.cloud.calls == {"read": len(world.cloud.things)}


def test_everything_carries_the_mark_of_its_object() -> None:
    world = ready(rootVolume={"sizeGiB": 5}, trunk=True, floatingIP={"pool": "public"})
    mark = mark_of(world.live()["metadata"]["uid"])
    assert {one.kind for one in world.cloud.things.values() if one.is_of(mark)} == set(Kind)


def test_two_objects_of_one_name_have_a_server_each() -> None:
    world = ready()
    world.give_credentials(namespace="team")
    world.create(namespace="team", identityRef={"name": "openstack-clouds"})
    world.settle(namespace="team")
    first, second = world.status(), world.status(namespace="team")
    assert first["instanceID"] != second["instanceID"]
    world.delete(namespace="team")
    world.settle(namespace="team")
    assert world.only(Kind.SERVER).id == first["instanceID"]


def test_volumes_are_there_before_the_server_boots_from_them() -> None:
    world = ready(rootVolume={"sizeGiB": 5}, additionalBlockDevices=[DATA, SCRATCH])
    disks = world.cloud.bodies[world.status()["instanceID"]]["server"]["block_device_mapping_v2"]
    ids = {one["name"]: one["id"] for one in world.status()["resources"]["volumes"]}
    assert [(disk["boot_index"], disk["destination_type"], disk.get("uuid")) for disk in disks] == [
        (0, "volume", ids["bastion-root"]),
        (-1, "volume", ids["bastion-data"]),
        (-1, "local", None),
    ]
    assert world.cloud.bodies[ids["bastion-root"]]["volume"]["imageRef"] == "image-1"


def test_a_volume_that_cinder_cannot_make_is_made_again() -> None:
    world = ServerWorld()
    world.create(rootVolume={"sizeGiB": 5})
    while not world.cloud.of(Kind.VOLUME):
        world.step()
    world.cloud.change(world.only(Kind.VOLUME).id, status="error")
    world.step()
    assert world.reason("VolumesReady") == "VolumeError"
    world.settle()
    assert world.reason() == "ServerReady"
    assert len(world.cloud.of(Kind.VOLUME)) == 1


@pytest.mark.parametrize("status", ["error_extending", "error_restoring", "error"])
@pytest.mark.parametrize("at", ["first sight", "server refused", "ready"])
def test_a_volume_that_was_there_once_is_never_deleted_for_an_error(status: str, at: str) -> None:
    world = ServerWorld()
    if at == "server refused":
        world.cloud.before = _fail(CloudRefused("403 policy", 403), "create server", times=99)
    world.create(rootVolume={"sizeGiB": 5})
    while not world.cloud.of(Kind.VOLUME):
        world.step()
    if at != "first sight":
        for _ in range(8):
            world.cloud.pass_time()
            world.step()
    before = world.only(Kind.VOLUME)
    world.cloud.change(before.id, status=status, used_by="")
    world.step()
    assert world.reason() == world.reason("VolumesReady") == "VolumeError"
    lost = (at, status) == ("first sight", "error")
    assert (world.cloud.of(Kind.VOLUME) == []) == lost
    assert ("kept" in world.condition()["message"]) != lost


def test_a_server_in_error_is_reported_in_novas_words_and_keeps_its_ports() -> None:
    world = ServerWorld()
    world.cloud.error_next = "No valid host was found."
    world.create()
    world.settle()
    assert world.reason() == "InstanceError"
    assert "No valid host was found." in world.condition()["message"]
    assert len(world.cloud.of(Kind.PORT)) == 1
    world.delete()
    world.settle()
    assert world.cloud.things == {}


def test_a_server_deleted_by_others_is_reported_and_not_made_again() -> None:
    world = ready()
    world.cloud.lose(world.only(Kind.SERVER).id)
    assert world.step() == RESYNC
    assert (world.reason(), world.status()["instanceState"]) == ("InstanceDeleted", "DELETED")
    world.step()
    assert world.cloud.of(Kind.SERVER) == []
    assert world.status()["initialization"] == {"provisioned": True}


def test_a_server_deleted_by_others_is_made_again_where_the_spec_wants_that() -> None:
    world = ready(onExternalDeletion="Recreate")
    port, lost = world.only(Kind.PORT), world.only(Kind.SERVER)
    world.cloud.lose(lost.id)
    world.settle()
    assert world.reason() == "ServerReady"
    assert world.status()["instanceID"] == world.only(Kind.SERVER).id != lost.id
    assert world.only(Kind.PORT).id == port.id


def test_a_port_deleted_by_others_is_replaced_once_and_put_to_the_server() -> None:
    world = ready()
    world.cloud.lose(world.only(Kind.PORT).id)
    world.settle()
    port = world.only(Kind.PORT)
    assert port.used_by == world.status()["instanceID"]
    assert [one["id"] for one in world.status()["resources"]["ports"]] == [port.id]


def test_a_cell_that_is_down_makes_nothing_and_deletes_nothing() -> None:
    world = ready()
    world.cloud.hidden = {world.status()["instanceID"]}
    world.cloud.writes.clear()
    world.step()
    assert world.reason() == "CloudUnknown"
    world.wipe_status()
    for _ in range(5):
        world.step()
    assert len(world.cloud.of(Kind.SERVER)) == 1
    world.delete()
    world.step()
    assert world.live() is not None
    assert [write for write in world.cloud.writes if "create" in write] == []


def test_what_is_suspended_is_not_written_to() -> None:
    world = ready()
    world.annotate("true")
    world.cloud.lose(world.only(Kind.PORT).id)
    world.cloud.writes.clear()
    world.step()
    world.delete()
    world.step()
    assert world.cloud.writes == []
    assert world.condition("Paused")["status"] == "True"
    world.annotate(None)
    world.settle()
    assert world.cloud.things == {}


@pytest.mark.parametrize(
    ("before", "change"),
    [
        ({"update": "Replace"}, {"sshKeyName": "other"}),
        ({}, {"enabled": False}),
        ({"enabled": False}, {"enabled": True}),
        ({"update": "Replace"}, {"floatingIP": {"pool": "public"}}),
        ({"update": "Replace", "floatingIP": {"pool": "public"}}, {"floatingIP": None}),
    ],
    ids=["edited", "disabled", "enabled", "with a floating IP", "without one"],
)
def test_an_edit_of_what_is_suspended_is_reported_as_put_off(before: Any, change: Any) -> None:
    world = ServerWorld()
    world.create(**before)
    world.settle()
    world.annotate("true")
    world.step()
    assert world.condition()["status"] == ("True" if before.get("enabled", True) else "False")
    world.edit(**change)
    for _ in range(2):
        world.step()
        assert (world.condition()["status"], world.reason()) == ("False", "Suspended")
    world.annotate(None)
    world.settle()
    assert world.reason() == ("Disabled" if change == {"enabled": False} else "ServerReady")


def test_a_floating_ip_that_is_asked_for_later_is_waited_for_from_the_first_look_on() -> None:
    world = ready(update="Replace")
    world.edit(floatingIP={"pool": "public"})
    seen = []
    while not world.cloud.of(Kind.FLOATING_IP):
        world.step()
        seen.append(world.condition()["status"])
    assert set(seen) == {"False"}
    world.settle()
    assert world.reason() == "ServerReady"


@pytest.mark.parametrize(
    "edits", [[{"enabled": False}, {"enabled": True}], [{"sshKeyName": "other"}]], ids=str
)
def test_what_was_removed_is_not_reported_what_is_made_again(edits: Any) -> None:
    world = ready(update="Replace", floatingIP={"pool": "public"})
    for edit in edits[:-1]:
        world.edit(**edit)
        world.settle()
    resolved = world.status().get("resolved")
    world.edit(**edits[-1])
    while world.status().get("resolved") in (None, resolved):
        world.step()
        world.cloud.pass_time()
    told = {world.reason(str(aspect)) for aspect in (Aspect.PORTS, Aspect.INSTANCE, Aspect.FLOATING_IP)}
    assert told == {"StepAwaited"}
    assert world.reason() == "Creating"


def test_a_server_that_is_suspended_from_the_beginning_is_reported() -> None:
    world = ServerWorld()
    world.create()
    world.annotate("true")
    world.step()
    assert (world.condition()["status"], world.reason()) == ("False", "Suspended")


def test_a_server_that_is_deleted_while_it_is_suspended_is_not_ready() -> None:
    world = ready()
    world.annotate("true")
    world.delete()
    world.step()
    assert (world.condition()["status"], world.reason()) == ("False", "Deleting")
    assert "suspended" in world.condition()["message"]


@pytest.mark.parametrize("edit", [{"enabled": False}, {"sshKeyName": "other"}, None], ids=str)
def test_ready_says_what_of_a_server_that_goes_is_still_there(edit: Any) -> None:
    world = ready(update="Replace", rootVolume={"sizeGiB": 5}, trunk=True)
    world.edit(**edit) if edit else world.delete()
    said = []
    while world.cloud.of(Kind.VOLUME) and len(said) < 20:
        world.step()
        said.append(world.condition()["message"])
        world.cloud.pass_time()
    for kind in ("server bastion", "trunk bastion-0", "port bastion-0", "volume bastion-root"):
        assert any(f"{kind}: being deleted" in message for message in said), said


def test_a_server_is_removed_although_its_status_was_lost() -> None:
    world = ready(rootVolume={"sizeGiB": 5}, trunk=True, floatingIP={"pool": "public"})
    world.wipe_status()
    world.delete()
    world.settle()
    assert world.cloud.things == {}
    assert world.kube.get(SERVER, "bastion", NAMESPACE) is None


def test_a_status_that_was_lost_is_found_again() -> None:
    world = ready(rootVolume={"sizeGiB": 5}, floatingIP={"pool": "public"})
    before = world.status()
    world.wipe_status()
    world.settle()
    assert world.status()["resources"] == before["resources"]


def test_nothing_is_removed_that_bears_no_mark_of_the_object() -> None:
    world = ready()
    foreign = world.only(Kind.PORT)
    world.cloud.change(foreign.id, marks=frozenset(), tags=frozenset())
    world.delete()
    world.settle()
    assert [one.id for one in world.cloud.things.values()] == [foreign.id]


def test_a_server_that_nova_keeps_for_a_while_is_removed_in_seconds() -> None:
    world = ready()
    world.cloud.soft_delete = True
    world.delete()
    began = world.clock.now()
    world.settle()
    assert world.cloud.things == {}
    assert world.clock.now() - began < 30


def test_an_edited_bastion_is_replaced_and_keeps_its_floating_ip() -> None:
    world = ready(update="Replace", floatingIP={"pool": "public"})
    floating, server = world.only(Kind.FLOATING_IP), world.only(Kind.SERVER)
    world.edit(sshKeyName="mine")
    world.settle()
    assert world.reason() == "ServerReady"
    assert world.only(Kind.FLOATING_IP).id == floating.id
    assert world.only(Kind.FLOATING_IP).used_by == world.only(Kind.PORT).id
    after = world.only(Kind.SERVER)
    assert after.id != server.id
    assert world.cloud.bodies[after.id]["server"]["key_name"] == "mine"


def test_a_disabled_server_has_nothing_and_comes_back() -> None:
    world = ready(floatingIP={"pool": "public"})
    world.edit(enabled=False)
    world.settle()
    assert (world.cloud.things, world.reason()) == ({}, "Disabled")
    world.edit(enabled=True)
    world.settle()
    assert world.reason() == "ServerReady"


@pytest.mark.parametrize("passes", range(1, 7))
def test_a_server_that_is_enabled_again_while_it_goes_comes_back(passes: int) -> None:
    world = ready(rootVolume={"sizeGiB": 5}, floatingIP={"pool": "public"})
    world.edit(enabled=False)
    for _ in range(passes):
        world.step()
        world.cloud.pass_time()
    world.edit(enabled=True)
    world.settle()
    assert world.reason() == "ServerReady"
    assert {kind: len(found) for kind, found in world.things().items()} == {
        Kind.PORT: 1,
        Kind.VOLUME: 1,
        Kind.SERVER: 1,
        Kind.FLOATING_IP: 1,
    }


@pytest.mark.parametrize("passes", range(1, 5))
def test_an_edit_that_is_taken_back_while_the_server_goes_leaves_one_server(passes: int) -> None:
    world = ready(update="Replace")
    world.edit(sshKeyName="mine")
    for _ in range(passes):
        world.step()
        world.cloud.pass_time()
    world.edit(sshKeyName=None)
    world.settle()
    assert world.reason() == "ServerReady"
    assert {kind: len(found) for kind, found in world.things().items()} == {Kind.PORT: 1, Kind.SERVER: 1}
    assert "removing" not in world.status()


def test_a_server_that_is_disabled_has_nothing_although_its_status_was_lost() -> None:
    world = ready(floatingIP={"pool": "public"})
    world.wipe_status()
    world.edit(enabled=False)
    world.settle()
    assert (world.cloud.things, world.reason()) == ({}, "Disabled")


def test_a_floating_ip_may_be_kept_when_the_object_goes() -> None:
    world = ready(floatingIP={"pool": "public", "reclaim": "Retain"})
    world.delete()
    world.settle()
    assert [one.kind for one in world.cloud.things.values()] == [Kind.FLOATING_IP]


def test_a_floating_ip_that_cannot_be_put_to_its_port_is_not_lost() -> None:
    world = ServerWorld()
    refused = CloudRefused("network PUT /floatingips: 404 not reachable", 404)
    world.cloud.before = _fail(refused, "point floating IP", times=99)
    world.create(floatingIP={"pool": "public"})
    for _ in range(15):
        world.step()
        world.cloud.pass_time()
    assert world.reason() == world.reason("FloatingIPReady") == "CloudRefused"
    assert len(world.cloud.of(Kind.FLOATING_IP)) == 1
    world.delete()
    world.settle()
    assert world.cloud.things == {}


def test_user_data_reaches_nova_and_its_absence_has_a_reason_of_its_own() -> None:
    world = ServerWorld()
    world.create(userDataRef={"name": "init"})
    for _ in range(5):
        world.step()
    assert world.reason("DependenciesResolved") == world.reason() == "UserDataMissing"
    world.give_secret("init", value=b"#cloud-config")
    world.settle()
    body = world.cloud.bodies[world.status()["instanceID"]]
    assert base64.b64decode(body["server"]["user_data"]) == b"#cloud-config"
    assert "#cloud-config" not in str(world.live())


@pytest.mark.parametrize(
    ("spec", "break_", "reason"),
    [
        ({}, lambda world: world.kube.delete(*_SECRET), "CredentialsMissing"),
        ({}, lambda world: world.give_credentials(b"wrong"), "CredentialsUnusable"),
        (
            {"identityRef": {"name": "openstack-clouds", "cloudName": "other"}},
            lambda world: None,
            "CloudNotFound",
        ),
    ],
    ids=["missing", "unusable", "unknown cloud"],
)
def test_credentials_that_cannot_be_used_have_a_reason_each(spec: Any, break_: Any, reason: str) -> None:
    world = ServerWorld()
    break_(world)
    world.create(**spec)
    world.step()
    assert world.reason() == world.reason("OpenStackAuthenticationSucceeded") == reason
    world.delete()
    world.step()
    assert world.kube.get(SERVER, "bastion", NAMESPACE) is None


def test_missing_and_denied_credentials_heal_without_an_edit() -> None:
    world = ServerWorld()
    world.kube.delete(*_SECRET)
    world.create()
    world.step()

    def deny() -> None:
        raise CredentialsDenied("the login: the credentials are not accepted")

    world.give_credentials()
    world.cloud.login = deny
    world.step()
    assert world.reason() == "CredentialsDenied"
    world.cloud.login = lambda: None
    world.settle()
    assert world.reason() == "ServerReady"


@pytest.mark.parametrize("policy", ["Report", "Recreate"])
def test_credentials_of_another_project_lose_nothing_and_make_nothing(policy: str) -> None:
    world = ready(onExternalDeletion=policy, rootVolume={"sizeGiB": 5})
    before = world.status()["resources"]
    other = FakeServerCloud(project=Project("project-2", "RegionOne"))
    world.turn_to(other)
    world.step()
    assert world.reason() == world.reason(AUTHENTICATION) == "CredentialsOfAnotherProject"
    assert "project-1" in world.condition()["message"]
    world.delete()
    for _ in range(3):
        world.step()
    assert world.live()["metadata"]["finalizers"]
    assert (other.things, other.writes, world.status()["resources"]) == ({}, [], before)
    world.turn_to(world.cloud)
    world.settle()
    assert world.cloud.things == {}
    assert world.kube.get(SERVER, "bastion", NAMESPACE) is None


def test_what_has_nothing_anywhere_follows_its_credentials() -> None:
    world = ready()
    world.edit(enabled=False)
    world.settle()
    other = FakeServerCloud(project=Project("project-2", "RegionOne"))
    world.turn_to(other)
    world.edit(enabled=True)
    world.cloud = other
    world.settle()
    assert world.reason() == "ServerReady"
    assert world.status()["project"] == {"id": "project-2", "region": "RegionOne"}


def test_credentials_that_name_the_region_that_was_meant_are_of_the_same_project() -> None:
    world = ready()
    world.cloud.project = Project("project-1")
    world.settle()
    assert world.reason() == "ServerReady"
    world.cloud.project = Project("project-1", "RegionTwo")
    world.step()
    assert world.reason() == "CredentialsOfAnotherProject"


def test_credentials_are_required_outside_the_namespace_of_the_region() -> None:
    world = ServerWorld()
    world.give_credentials(namespace="team")
    world.create(namespace="team")
    world.step(namespace="team")
    assert world.clouds.opened == []
    conditions = world.status(namespace="team")["conditions"]
    assert {"CredentialsMissing"} <= {entry["reason"] for entry in conditions}


@pytest.mark.parametrize("found", [[], [("image-1", "tiny"), ("image-2", "tiny")]], ids=["none", "two"])
def test_what_is_referred_to_has_to_be_there_once_and_heals(found: list[tuple[str, str]]) -> None:
    world = ServerWorld()
    world.cloud.catalog[Catalog.IMAGE] = found
    world.create()
    world.step()
    assert world.reason() == "DependencyFailed"
    assert '{"name": "tiny"}' in world.condition()["message"]
    world.cloud.catalog[Catalog.IMAGE] = [("image-1", "tiny")]
    world.settle()
    assert world.reason() == "ServerReady"


def test_a_port_without_a_network_is_on_that_of_its_subnet() -> None:
    world = ServerWorld()
    world.create(ports=[{"fixedIPs": [{"subnet": {"filter": {"name": "sub0"}}}]}])
    world.settle()
    body = world.cloud.bodies[world.only(Kind.PORT).id]["port"]
    assert (body["network_id"], body["fixed_ips"]) == ("network-1", [{"subnet_id": "subnet-1"}])


@pytest.mark.parametrize(
    ("write", "error", "reason"),
    [
        ("create server", CloudRefused("403 Quota exceeded for instances", 403), "QuotaExceeded"),
        ("create port", CloudRefused("409 Quota exceeded for resources: ['port'].", 409), "QuotaExceeded"),
        ("create server", CloudUnavailable("compute: 429", 20.0, untouched=True), "CloudBusy"),
        ("create port", CloudUnavailable("network: 503", 20.0), "CloudBusy"),
        ("create server", CloudUnavailable("compute: 504"), "CloudUnknown"),
        ("create server", CloudRefused("403 policy", 403), "CloudRefused"),
    ],
)
def test_a_refused_or_failed_request_is_reported_tried_again_and_leaks_nothing(
    write: str, error: Exception, reason: str
) -> None:
    world = ServerWorld()
    world.cloud.before = _fail(error, write)
    world.create()
    pauses = []
    while world.reason() != reason:
        pauses.append(world.step())
    if isinstance(error, CloudUnavailable) and error.retry_after:
        assert (pauses[-1] or 0) >= 20.0
    world.settle()
    assert world.reason() == "ServerReady"
    assert {kind: len(found) for kind, found in world.things().items()} == {Kind.PORT: 1, Kind.SERVER: 1}


def test_a_request_is_noted_with_its_own_time_and_not_that_of_its_pass() -> None:
    world = ServerWorld()
    find = world.cloud.marked

    def slow(*given: Any) -> Any:
        world.clock.advance(25.0)
        return find(*given)

    noted: list[tuple[str, str]] = []

    def look(write: str) -> None:
        if write == "create server":
            [server] = world.status()["resources"]["servers"]
            noted.append((server["requestedAt"], timestamp(world.clock.now())))

    world.cloud.marked = slow  # type: ignore[method-assign]
    world.cloud.before = look
    world.create()
    world.settle()
    [(requested, sent)] = noted
    assert requested == sent


def test_an_answer_that_did_not_come_is_looked_for_before_another_request() -> None:
    world = ServerWorld()
    world.cloud.after = _fail(CloudUnavailable("compute: ReadTimeout"), "create server")
    world.create()
    world.settle()
    assert world.reason() == "ServerReady"
    assert world.cloud.writes.count("create server") == 1


def test_tags_of_people_reach_the_cloud_and_theirs_on_it_stay() -> None:
    port = {"network": {"filter": {"name": "net0"}}, "tags": ["mine"]}
    world = ready(ports=[port], tags=["ours"], serverMetadata=[{"key": "a", "value": "b"}])
    found, server = world.only(Kind.PORT), world.only(Kind.SERVER)
    assert "mine" in found.tags and "ours" in server.tags
    assert world.cloud.bodies[server.id]["server"]["metadata"]["a"] == "b"
    assert METADATA_KEY in world.cloud.bodies[server.id]["server"]["metadata"]
    world.cloud.change(found.id, tags=frozenset({"theirs"}))
    world.settle()
    assert {"mine", "theirs"} <= world.only(Kind.PORT).tags
