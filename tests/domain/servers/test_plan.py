"""The requests that a spec comes to, and what a status remembers of them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controller.domain.servers.cloud_resources import METADATA_KEY, Kind, mark_of
from controller.domain.servers.plan import ServerPlan, with_user_data
from controller.domain.servers.server_conditions import is_quota
from controller.domain.servers.server_spec import parse_server_spec, spec_digest
from controller.domain.servers.server_status import (
    Recorded,
    Resolved,
    ResolvedPort,
    ServerRecord,
    read_record,
)
from tests.api.definitions import SCHEMAS, server

UID = "6f1c2a40-0000-4000-8000-000000000001"
RESOLVED = Resolved(
    "d", "image-1", "flavor-1", (ResolvedPort("net-1", ("sub-1", ""), ("group-1",)),), "apart"
)
PORT = {"network": {"filter": {"name": "net0"}}}


def _plan(**spec: Any) -> ServerPlan:
    return ServerPlan("bastion", UID, parse_server_spec(server(**spec)))


def _body(kind: Kind, **spec: Any) -> dict[str, Any]:
    plan = _plan(**spec)
    record = ServerRecord().with_things([Recorded(Kind.PORT, "bastion-0", "port-1")])
    record = record.with_things([Recorded(Kind.VOLUME, "bastion-root", "volume-1")])
    body = plan.body(plan.of(kind)[0], RESOLVED, record)
    return dict(body["server" if kind == Kind.SERVER else next(iter(body))])


def test_a_port_is_asked_for_with_all_that_the_spec_says_of_it() -> None:
    body = _body(
        Kind.PORT,
        ports=[
            {
                **PORT,
                "fixedIPs": [{"subnet": {"id": UID}, "ipAddress": "10.0.0.5"}, {"ipAddress": "10.0.0.6"}],
                "securityGroups": [{"id": UID}],
                "allowedAddressPairs": [{"ipAddress": "10.1.0.0/16", "macAddress": "02:00:00:00:00:01"}],
                "vnicType": "direct",
                "profile": {"ovsHWOffload": True, "trustedVF": True},
                "macAddress": "02:00:00:00:00:02",
                "hostID": "cmp1",
                "propagateUplinkStatus": False,
                "adminStateUp": False,
                "valueSpecs": [{"name": "qos", "key": "qos_policy_id", "value": "gold"}],
            }
        ],
    )
    assert body == {
        "name": "bastion-0",
        "network_id": "net-1",
        "description": mark_of(UID),
        "fixed_ips": [{"subnet_id": "sub-1", "ip_address": "10.0.0.5"}, {"ip_address": "10.0.0.6"}],
        "security_groups": ["group-1"],
        "allowed_address_pairs": [{"ip_address": "10.1.0.0/16", "mac_address": "02:00:00:00:00:01"}],
        "binding:vnic_type": "direct",
        "binding:profile": {"capabilities": ["switchdev"], "trusted": "true"},
        "mac_address": "02:00:00:00:00:02",
        "binding:host_id": "cmp1",
        "propagate_uplink_status": False,
        "admin_state_up": False,
        "qos_policy_id": "gold",
    }


def test_a_port_says_nothing_of_what_the_spec_leaves_to_neutron() -> None:
    assert _body(Kind.PORT) == {"name": "bastion-0", "network_id": "net-1", "description": mark_of(UID)}


def test_a_port_without_port_security_has_no_groups() -> None:
    body = _body(Kind.PORT, ports=[{**PORT, "disablePortSecurity": True}], securityGroups=[{"id": UID}])
    assert (body["port_security_enabled"], body["security_groups"]) == (False, [])


def test_further_fields_do_not_take_the_mark_off() -> None:
    body = _body(
        Kind.PORT, ports=[{**PORT, "valueSpecs": [{"name": "a", "key": "description", "value": "x"}]}]
    )
    assert body["description"] == mark_of(UID)


def test_a_server_is_asked_for_with_its_ports_hints_and_marks() -> None:
    plan = _plan(
        sshKeyName="mine",
        availabilityZone="az1",
        tags=["ours"],
        serverMetadata=[{"key": METADATA_KEY, "value": "of-others"}],
        schedulerHints={"same_host": "x"},
        serverGroup={"id": UID},
        configDrive=True,
    )
    record = ServerRecord().with_things([Recorded(Kind.PORT, "bastion-0", "port-1")])
    body = plan.body(plan.of(Kind.SERVER)[0], RESOLVED, record)
    assert body["os:scheduler_hints"] == {"same_host": "x", "group": "apart"}
    assert body["server"] == {
        "name": "bastion",
        "imageRef": "image-1",
        "flavorRef": "flavor-1",
        "networks": [{"port": "port-1"}],
        "tags": sorted(["ours", mark_of(UID)]),
        "metadata": {METADATA_KEY: UID},
        "key_name": "mine",
        "availability_zone": "az1",
        "config_drive": True,
    }
    assert with_user_data(body, b"x")["server"]["user_data"] == "eA=="


def test_a_server_that_boots_from_a_volume_names_no_image() -> None:
    body = _body(Kind.SERVER, rootVolume={"sizeGiB": 1})
    assert "imageRef" not in body
    [disk] = body["block_device_mapping_v2"]
    assert (disk["uuid"], disk["boot_index"], disk["delete_on_termination"]) == ("volume-1", 0, False)


def test_a_local_disk_stands_beside_the_image() -> None:
    disks = [{"name": "scratch", "sizeGiB": 3, "storage": {"type": "Local"}}]
    first, second = _body(Kind.SERVER, additionalBlockDevices=disks)["block_device_mapping_v2"]
    assert (first["source_type"], first["boot_index"], first["uuid"]) == ("image", 0, "image-1")
    assert (second["source_type"], second["volume_size"], second["tag"]) == ("blank", 3, "scratch")


@pytest.mark.parametrize(
    ("zone", "expected"),
    [({"from": "Machine"}, "az1"), ({"name": "az2"}, "az2"), (None, None)],
    ids=["machine", "name", "none"],
)
def test_a_volume_lies_in_the_zone_that_is_chosen(zone: Any, expected: str | None) -> None:
    given = {"availabilityZone": zone} if zone else {}
    body = _body(Kind.VOLUME, rootVolume={"sizeGiB": 4, **given}, availabilityZone="az1:cmp1")
    assert (body.get("availability_zone"), body["size"], body["imageRef"]) == (expected, 4, "image-1")


def test_names_are_those_of_the_object_and_end_differently() -> None:
    plan = _plan(ports=[{**PORT, "nameSuffix": "mgmt"}, PORT], trunk=True)
    assert [one.name for one in plan.of(Kind.PORT)] == ["bastion-mgmt", "bastion-1"]
    long = ServerPlan("x" * 253, UID, plan.spec)
    names = [one.name for one in long.of(Kind.PORT)]
    assert len(set(names)) == 2 and max(map(len, names)) <= 255


def test_what_may_always_change_makes_no_other_server() -> None:
    before = spec_digest(server())
    same = server(enabled=False, identityRef={"name": "a"}, floatingIP={"pool": "b"}, update="Replace")
    assert spec_digest(same) == before != spec_digest(server(tags=["x"]))


def test_the_fields_of_a_port_in_the_definition_are_those_that_are_read() -> None:
    known = SCHEMAS["OpenStackServer"].root["properties"]["spec"]["properties"]
    read = server(**{name: None for name in known if name not in ("image", "flavor", "ports")})
    assert parse_server_spec(read).enabled
    assert set(known) == {
        "identityRef", "image", "flavor", "flavorID", "ports", "sshKeyName", "securityGroups", "trunk",
        "rootVolume", "additionalBlockDevices", "serverGroup", "serverMetadata", "tags", "availabilityZone",
        "userDataRef", "floatingIP", "configDrive", "schedulerHints", "onExternalDeletion", "update",
        "enabled",
    }  # fmt: skip


@pytest.mark.parametrize(
    "spec", [{}, {"image": None}, {"image": {}, "ports": [{}]}, {"image": {}, "ports": 3}]
)
def test_a_spec_that_cannot_be_read_is_a_value_error(spec: Any) -> None:
    with pytest.raises(ValueError, match="cannot be read"):
        parse_server_spec({"spec": spec})


THINGS = st.builds(
    Recorded,
    kind=st.sampled_from(list(Kind)),
    name=st.sampled_from(["a", "b"]),
    id=st.sampled_from(["", "1"]),
    requested=st.sampled_from([0.0, 1_780_000_000.0]),
)


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(st.lists(THINGS, max_size=6), st.booleans(), st.sampled_from([None, RESOLVED]))
def test_a_status_is_read_as_it_was_written(
    things: list[Recorded], provisioned: bool, resolved: Resolved | None
) -> None:
    record = ServerRecord(resolved=resolved, provisioned=provisioned).with_things(things)
    assert read_record(record.written()) == record


@pytest.mark.parametrize(
    ("code", "text", "expected"),
    [
        (403, "Quota exceeded for instances: Requested 1, but already used 10", True),
        (409, "Quota exceeded for resources: ['port'].", True),
        (413, "VolumeLimitExceeded", True),
        (403, "Policy doesn't allow it", False),
        (500, "quota", False),
    ],
)
def test_a_quota_is_distinguished_from_other_refusals(code: int, text: str, expected: bool) -> None:
    assert is_quota(code, text) is expected
