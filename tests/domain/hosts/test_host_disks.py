"""Where a host keeps disks, and whether that is certain."""

from __future__ import annotations

from dataclasses import replace

import pytest

from controller.domain.hosts.host_disks import (
    HostDisks,
    SeenDisks,
    judge_disks,
    observe_disks,
    parse_backend,
    read_disks,
)

CEPH, LOCAL = "rbd:vms:/etc/ceph/ceph.conf", "qcow2:/var/lib/nova/instances"
SURE = HostDisks(CEPH, 100.0, "run1", sure=True)
OTHERS = frozenset(("cmp2", "cmp3"))
KNOWN = {"cmp1": SURE, "cmp2": SURE, "cmp3": SURE}


@pytest.mark.parametrize(
    ("text", "backend"),
    [
        ("[libvirt]\nimages_type = rbd\nimages_rbd_pool = vms\n", "rbd:vms::"),
        ("[libvirt]\nimages_type=rbd\nimages_rbd_pool=vms\nimages_rbd_ceph_conf=/a", "rbd:vms:/a:"),
        ("[libvirt]\nimages_type = RBD\n", "rbd:rbd::"),
        ("[DEFAULT]\ninstances_path = /nfs\n[libvirt]\nimages_type = qcow2\n", "qcow2:/nfs"),
        ("[libvirt]\nimages_type = lvm\nimages_volume_group = vg\n", "lvm:vg"),
        ("[libvirt]\nimages_type = qcow2\nimages_type = rbd\n", "rbd:rbd::"),
        ("[DEFAULT]\nimages_type = rbd\n[libvirt]\n", "default:$state_path/instances"),
        ("[libvirt]\nimages_type=rbd\nrbd_secret_uuid = a-b\n", "rbd:rbd::d44362d6"),
        ("", "default:$state_path/instances"),
        ("[DEFAULT]\ncompute_driver = fake.FakeDriver\n[libvirt]\nimages_type = rbd\n", ""),
        ("transport_url = rabbit://nova:of-the-broker@rabbit\n", ""),
    ],
)
def test_the_backend_is_read_from_nova_conf_as_nova_reads_it(text: str, backend: str) -> None:
    assert parse_backend(text) == backend


def seen(backend: str = CEPH, run: str = "run1", fresh: bool = True) -> SeenDisks:
    return SeenDisks(backend, run, fresh)


def test_a_host_that_began_empty_is_certain_and_stays_so() -> None:
    first = observe_disks(None, seen(), 0, 100.0)
    assert first == SURE
    assert observe_disks(first, seen(fresh=False), 30, 200.0) == SURE
    assert observe_disks(first, seen(run="run2"), None, 200.0).sure


@pytest.mark.parametrize(("servers", "fresh"), [(3, True), (None, True), (0, False)])
def test_a_host_that_did_not_is_in_doubt(servers: int | None, fresh: bool) -> None:
    assert not observe_disks(None, seen(fresh=fresh), servers, 100.0).sure


def test_a_change_is_in_doubt_whatever_is_restarted_until_the_host_was_empty() -> None:
    changed = observe_disks(replace(SURE, backend=LOCAL), seen(), 3, 200.0)
    assert changed == HostDisks(CEPH, 200.0, "run1", old=True, was=LOCAL)
    restarted = observe_disks(changed, seen(run="run2"), 3, 300.0)
    assert (restarted.old, restarted.sure) == (False, False)
    empty = observe_disks(restarted, seen(run="run2"), 0, 400.0)
    assert empty.sure and empty.since == 200.0


def test_an_empty_host_whose_nova_compute_was_not_restarted_stays_in_doubt() -> None:
    changed = observe_disks(replace(SURE, backend=LOCAL), seen(), 0, 200.0)
    assert not observe_disks(changed, seen(), 0, 300.0).sure
    assert observe_disks(changed, seen(run="run2"), 0, 300.0).sure


def test_a_change_there_and_back_is_a_change() -> None:
    there = observe_disks(SURE, seen(LOCAL), 3, 200.0)
    back = observe_disks(there, seen(), 3, 300.0)
    assert not back.sure and back.since == 300.0
    before, after = judge_disks("cmp1", KNOWN, OTHERS), judge_disks("cmp1", KNOWN | {"cmp1": back}, OTHERS)
    assert before.token != after.token


def test_certain_hosts_of_one_pool_share_their_disks() -> None:
    assert judge_disks("cmp1", KNOWN, OTHERS).shared


@pytest.mark.parametrize(
    ("host", "why"),
    [
        (None, "does not know where cmp1"),
        (replace(SURE, backend=""), "does not know where cmp1"),
        (replace(SURE, backend=LOCAL), LOCAL),
        (replace(SURE, old=True), "the controller did not observe that nova-compute"),
        (replace(SURE, sure=False), "already had servers"),
        (replace(SURE, sure=False, was=LOCAL), f"for {LOCAL} before"),
    ],
)
def test_a_host_in_doubt_is_reported_why(host: HostDisks | None, why: str) -> None:
    records = {**KNOWN, **({"cmp1": host} if host else {})}
    if host is None:
        del records["cmp1"]
    verdict = judge_disks("cmp1", records, OTHERS)
    assert not verdict.shared and why in verdict.doubt
    assert judge_disks("cmp1", records, OTHERS, verdict.token).shared


@pytest.mark.parametrize(
    "other",
    [
        None,
        replace(SURE, backend=LOCAL),
        replace(SURE, backend="rbd:other:"),
        replace(SURE, old=True),
        replace(SURE, away=True),
    ],
)
def test_a_host_that_would_take_servers_and_keeps_disks_elsewhere_is_an_obstacle(
    other: HostDisks | None,
) -> None:
    records = {**KNOWN, **({"cmp3": other} if other else {})}
    if other is None:
        del records["cmp3"]
    verdict = judge_disks("cmp1", records, OTHERS)
    assert not verdict.shared and verdict.doubt.startswith("cmp3 may take its servers")
    assert judge_disks("cmp1", records, OTHERS - {"cmp3"}).shared


def test_a_confirmation_is_void_when_a_host_changes_that_would_take_servers() -> None:
    records = {name: replace(SURE, backend=LOCAL) for name in KNOWN}
    token = judge_disks("cmp1", records, OTHERS).token
    assert judge_disks("cmp1", records, OTHERS, token).shared
    records["cmp3"] = replace(SURE, backend="qcow2:/elsewhere")
    assert not judge_disks("cmp1", records, OTHERS, token).shared
    assert not judge_disks("cmp2", records, OTHERS, token).shared


def test_what_is_written_can_be_read_and_nothing_else() -> None:
    for record in (SURE, replace(SURE, old=True, was=LOCAL, sure=False, away=True)):
        assert read_disks(record.written()) == record
    for text in ("", "{}", "[]", '{"backend": "rbd::"}'):
        assert read_disks(text) is None


def test_a_restart_in_a_pod_that_began_before_proves_nothing() -> None:
    """Its files may still be the earlier ones: the kubelet brings them up to date a minute later."""
    changed = observe_disks(replace(SURE, backend=LOCAL), seen(), 3, 200.0)
    assert changed.old
    again = observe_disks(changed, seen(run="run2", fresh=False), 0, 300.0)
    assert again.old and not again.sure
    pod = observe_disks(again, seen(run="run3", fresh=True), 0, 400.0)
    assert not pod.old and pod.sure
