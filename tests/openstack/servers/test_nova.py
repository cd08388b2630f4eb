"""What Nova does in its own way: cells that are down, servers that it keeps for a while, quotas."""

from __future__ import annotations

import pytest

from tests.openstack.servers.bed import ServersBed

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.openstack,
    pytest.mark.xdist_group("openstack"),
    pytest.mark.timeout(1500),
]


def _changes(servers: ServersBed) -> list[tuple[str, str]]:
    """Requests to make or to delete something in Nova."""
    return [one for one in servers.proxy.writes() if one[1].startswith("/nova")]


def test_a_cell_that_is_down_makes_no_second_server_and_deletes_none(servers: ServersBed) -> None:
    for name in ("held", "lost", "going"):
        servers.create(name)
    servers.wait_ready("held", "lost", "going")
    ids = {name: servers.status(name)["instanceID"] for name in ("held", "lost", "going")}
    uid = servers.uid("going")
    servers.proxy.seen.clear()
    with servers.cloud.cell_down():
        servers.wipe_status("lost")
        servers.restart()
        servers.request_deletion("going")
        for name in ("held", "lost"):
            servers.wait_reason(name, "CloudUnknown")
        told = "a cell of Nova is down"
        servers.wait("it waits", lambda: told in servers.ready("going").get("message", ""), "going")
        assert servers.of_nova(ids.values()) == dict.fromkeys(ids.values(), "UNKNOWN")
        assert _changes(servers) == []
    servers.wait_ready("held", "lost")
    assert {name: servers.status(name)["instanceID"] for name in ("held", "lost")} == {
        name: ids[name] for name in ("held", "lost")
    }
    servers.wait("gone", lambda: servers.live("going") is None, "going")
    assert servers.of(uid) == {}


def test_a_server_that_nova_only_keeps_for_a_while_is_gone_in_seconds(servers: ServersBed) -> None:
    with servers.cloud.nova_api_with(reclaim_instance_interval=86400):
        servers.create("kept")
        servers.wait_ready("kept")
        uid, id_ = servers.uid("kept"), servers.status("kept")["instanceID"]
        servers.delete("kept", timeout=60)
        assert servers.of(uid) == {}
        assert servers.sdk.compute.find_server(id_, all_projects=True) is None


def test_quotas_are_a_reason_of_their_own_and_heal(servers: ServersBed) -> None:
    sdk = servers.sdk
    project = sdk.identity.get_project(sdk.current_project_id)
    sdk.network.update_quota(project.id, port=len(list(sdk.network.ports(project_id=project.id))))
    sdk.compute.update_quota_set(project, instances=len(list(sdk.compute.servers())))
    try:
        servers.create("quota")
        assert "quota" in servers.wait_reason("quota", "QuotaExceeded")["message"].lower()
        assert servers.of(servers.uid("quota")) == {}
        sdk.network.update_quota(project.id, port=-1)
        servers.wait("its port", lambda: servers.status("quota").get("resources", {}).get("ports"), "quota")
        message = "instances"
        servers.wait("Nova's quota", lambda: message in servers.ready("quota")["message"], "quota")
        assert servers.ready("quota")["reason"] == "QuotaExceeded"
    finally:
        sdk.network.update_quota(project.id, port=-1)
        sdk.compute.update_quota_set(project, instances=-1)
    servers.wait_ready("quota")
    counts = {kind: len(found) for kind, found in servers.of(servers.uid("quota")).items()}
    assert counts == {"servers": 1, "ports": 1}
