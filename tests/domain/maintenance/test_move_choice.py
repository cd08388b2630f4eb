"""What becomes of each server, and whose turn it is."""

from __future__ import annotations

from dataclasses import replace

import pytest

from controller.domain.maintenance.budgets import (
    Availability,
    BudgetRequest,
    QueuedMaintenance,
    decide_queue,
    share_slots,
    waits_for_slots,
)
from controller.domain.maintenance.move_choice import Mode, MoveKind, Rules, Unmovable, plan_server
from controller.domain.shared.cloud_facts import Aggregate, Migration, Server

SERVER = Server("id", "vm", "cmp1", "ACTIVE", state="active", memory=1024, disk=20, local_disk=True)
PINNED = replace(SERVER, extra_specs={"hw:cpu_policy": "dedicated"})
VGPU = replace(SERVER, extra_specs={"resources:VGPU": "1"})
PCI = replace(SERVER, extra_specs={"pci_passthrough:alias": "nic:1"})


def way(server: Server, mode: Mode = Mode.MIGRATE, rules: Rules | None = None) -> tuple[MoveKind, str]:
    plan = plan_server(server, mode, rules or Rules())
    return plan.way, plan.why


@pytest.mark.parametrize(
    ("server", "expected"),
    [
        (SERVER, MoveKind.LIVE),
        (replace(SERVER, status="PAUSED"), MoveKind.LIVE),
        (replace(SERVER, status="SHUTOFF"), MoveKind.COLD),
        (replace(SERVER, task="powering-off"), MoveKind.BUSY),
        (replace(SERVER, status="BUILD"), MoveKind.BUSY),
        (replace(SERVER, status="SUSPENDED"), MoveKind.BLOCKED),
        (replace(SERVER, status="ERROR"), MoveKind.BLOCKED),
        (replace(SERVER, status="RESCUE"), MoveKind.BLOCKED),
        (replace(SERVER, status="VERIFY_RESIZE"), MoveKind.BLOCKED),
        (replace(SERVER, status="SHELVED"), MoveKind.BLOCKED),
        (replace(SERVER, status="SOMETHING_NEW"), MoveKind.BLOCKED),
        (replace(SERVER, status="SOFT_DELETED"), MoveKind.LEAVE),
        (PINNED, MoveKind.LIVE),
        (VGPU, MoveKind.BLOCKED),
        (PCI, MoveKind.BLOCKED),
        (replace(SERVER, extra_specs={"hw:cpu_policy": "mixed"}), MoveKind.LIVE),
        (replace(SERVER, extra_specs={"hw:numa_nodes": "2", "hw:mem_page_size": "1GB"}), MoveKind.LIVE),
        (replace(SERVER, extra_specs={"hw:tpm_version": "2.0"}), MoveKind.BLOCKED),
        (
            replace(SERVER, extra_specs={"hw:tpm_version": "2.0", "hw:tpm_secret_security": "host"}),
            MoveKind.LIVE,
        ),
        (replace(SERVER, image={"hw_tpm_version": "2.0"}), MoveKind.BLOCKED),
        (replace(SERVER, extra_specs={"hw:mem_encryption": "True"}), MoveKind.BLOCKED),
        (replace(SERVER, image={"hw_mem_encryption": True}), MoveKind.BLOCKED),
        (replace(SERVER, extra_specs={"hw:mem_encryption": "false"}), MoveKind.LIVE),
        (replace(SERVER, extra_specs={"accel:device_profile": "fpga"}), MoveKind.BLOCKED),
        (replace(SERVER, image={"hw_cpu_policy": "dedicated"}), MoveKind.LIVE),
        (replace(SERVER, image={"hw_numa_nodes": "2"}), MoveKind.LIVE),
        (replace(SERVER, image={"hw_cpu_policy": "shared"}), MoveKind.LIVE),
    ],
)
def test_a_migration_by_the_state_of_the_server(server: Server, expected: MoveKind) -> None:
    found, why = way(server)
    assert found == expected
    assert why or expected == MoveKind.LIVE


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("live", MoveKind.LIVE),
        ("cold", MoveKind.COLD),
        ("leave", MoveKind.LEAVE),
        ("skip", MoveKind.LEAVE),
        ("hm", MoveKind.BLOCKED),
    ],
)
def test_the_owner_has_the_last_word(word: str, expected: MoveKind) -> None:
    assert way(replace(VGPU, metadata={"maintenance": word}))[0] == expected


def test_the_flavor_speaks_where_the_server_does_not() -> None:
    cold = replace(SERVER, extra_specs={"maintenance": "cold"})
    assert way(cold)[0] == MoveKind.COLD
    assert way(replace(cold, metadata={"maintenance": "live"}))[0] == MoveKind.LIVE


@pytest.mark.parametrize(
    ("choice", "expected"),
    [(Unmovable.BLOCK, MoveKind.BLOCKED), (Unmovable.LEAVE, MoveKind.LEAVE), (Unmovable.COLD, MoveKind.COLD)],
)
def test_what_cannot_move_live_goes_as_the_spec_says(choice: Unmovable, expected: MoveKind) -> None:
    assert way(VGPU, rules=Rules(choice))[0] == expected


def test_what_is_too_big_is_not_migrated_live() -> None:
    assert "local disk" in way(SERVER, rules=Rules(most_local_disk=10))[1]
    assert way(SERVER, rules=Rules(most_local_disk=10, shared_disks=True))[0] == MoveKind.LIVE
    assert way(SERVER, rules=Rules(most_local_disk=20))[0] == MoveKind.LIVE
    assert "memory" in way(SERVER, rules=Rules(most_memory=512))[1]


def test_cordon_leaves_everything() -> None:
    assert way(SERVER, Mode.CORDON)[0] == MoveKind.LEAVE


@pytest.mark.parametrize(
    ("server", "rules", "expected"),
    [
        (replace(SERVER, local_disk=False), Rules(), MoveKind.EVACUATE),
        (replace(SERVER, local_disk=False, image={"hw_tpm_version": "2.0"}), Rules(), MoveKind.BLOCKED),
        (replace(PINNED, local_disk=False), Rules(), MoveKind.EVACUATE),
        (SERVER, Rules(), MoveKind.BLOCKED),
        (SERVER, Rules(rebuild_local=True), MoveKind.EVACUATE),
        (SERVER, Rules(shared_disks=True), MoveKind.EVACUATE),
        (replace(SERVER, state="stopped"), Rules(shared_disks=True), MoveKind.EVACUATE),
        (replace(SERVER, state="error"), Rules(shared_disks=True), MoveKind.EVACUATE),
        (replace(SERVER, state="paused"), Rules(shared_disks=True), MoveKind.BLOCKED),
        (replace(SERVER, state="building", status="BUILD", task="spawning"), Rules(), MoveKind.BLOCKED),
        (replace(SERVER, state="", status="UNKNOWN"), Rules(shared_disks=True), MoveKind.BLOCKED),
        (replace(SERVER, status="REBUILD", task="rebuilding"), Rules(shared_disks=True), MoveKind.EVACUATE),
        (
            replace(SERVER, status="REBOOT", task="reboot_started"),
            Rules(shared_disks=True),
            MoveKind.EVACUATE,
        ),
        (replace(SERVER, task="deleting"), Rules(shared_disks=True), MoveKind.LEAVE),
        (replace(SERVER, task="soft-deleting"), Rules(shared_disks=True), MoveKind.LEAVE),
        (replace(SERVER, metadata={"maintenance": "leave"}), Rules(shared_disks=True), MoveKind.LEAVE),
    ],
)
def test_an_evacuation_loses_no_disk_unasked(server: Server, rules: Rules, expected: MoveKind) -> None:
    assert way(server, Mode.EVACUATE, rules)[0] == expected


@pytest.mark.parametrize(
    ("kind", "status", "source", "task", "expected"),
    [
        ("evacuation", "accepted", "cmp1", "rebuilding", MoveKind.BUSY),
        ("evacuation", "error", "cmp1", "rebuilding", MoveKind.EVACUATE),
        ("evacuation", "accepted", "cmp0", "rebuild_spawning", MoveKind.EVACUATE),
        ("live-migration", "running", "cmp1", "migrating", MoveKind.EVACUATE),
        # Someone reset the state of a server whose evacuation is stuck.
        ("evacuation", "accepted", "cmp1", "", MoveKind.EVACUATE),
    ],
)
def test_an_evacuation_waits_only_for_one_from_the_same_host(
    kind: str, status: str, source: str, task: str, expected: MoveKind
) -> None:
    moves = [Migration(3, "id", "evacuation", "accepted", "cmp1"), Migration(4, "id", kind, status, source)]
    found = plan_server(replace(SERVER, task=task), Mode.EVACUATE, Rules(shared_disks=True), moves)
    assert found.way == expected


def claim(
    name: str, created: float, waiting: int, moving: int = 0, host: int = 2, region: int = 8
) -> BudgetRequest:
    return BudgetRequest(name, created, waiting, moving, host, region)


def test_slots_go_round_from_the_oldest_on() -> None:
    assert share_slots([claim("b", 2, 9), claim("a", 1, 9)]) == {"a": 2, "b": 2}
    assert share_slots([claim("b", 2, 9, region=3), claim("a", 1, 9)]) == {"a": 2, "b": 1}
    assert share_slots([claim("a", 1, 9, region=1), claim("b", 2, 9)]) == {"a": 1, "b": 0}


def test_no_release_waits_for_the_end_of_another() -> None:
    first, second = claim("a", 1, 9, moving=3, host=8, region=4), claim("b", 2, 9, host=8, region=4)
    assert share_slots([first, second]) == {"a": 0, "b": 1}


def test_what_is_under_way_counts() -> None:
    assert share_slots([claim("a", 1, 9, moving=2)]) == {"a": 0}
    assert share_slots([claim("a", 1, 9, moving=1)]) == {"a": 1}
    assert share_slots([claim("a", 1, 1)]) == {"a": 1}
    assert share_slots([claim("a", 1, 0)]) == {"a": 0}
    assert share_slots([]) == {}


def test_never_more_than_the_budgets_whatever_the_claims() -> None:
    for count in range(1, 6):
        for region in range(1, 9):
            for moving in range(3):
                claims = [claim(f"n{i}", i, 5, moving=moving, host=3, region=region) for i in range(count)]
                given = share_slots(claims)
                assert sum(given.values()) + count * moving <= max(region, count * moving)
                assert all(moving + slots <= max(3, moving) for slots in given.values())
                assert max(given.values()) - min(given.values()) <= 1


def waits(*claims: BudgetRequest) -> dict[str, str]:
    return waits_for_slots(claims, share_slots(claims))


def test_a_maintenance_without_a_slot_names_those_that_have_one() -> None:
    first, second = claim("a", 1, 9, moving=2, region=2), claim("b", 2, 9, region=2)
    assert waits(first, second) == {
        "b": "waits for a slot: 2 servers of the region may move at once; the slots belong to a (2)"
    }
    assert waits(first, claim("b", 2, 9, moving=1, region=2)) == {}, "it goes on with what it has"


def test_a_maintenance_without_a_slot_of_its_own_budget_waits_for_no_other() -> None:
    assert waits(claim("a", 1, 9, moving=2, host=2), claim("b", 2, 9)) == {}
    assert waits(claim("a", 1, 0), claim("b", 2, 0)) == {} == waits()


def turn(name: str, host: str, created: float, *, begun: bool = False, most: int = 1) -> QueuedMaintenance:
    return QueuedMaintenance(name, host, created, begun, most)


RACKS = (Aggregate(1, "rack1", frozenset(("h1", "h2"))), Aggregate(2, "rack2", frozenset(("h3",))))


def test_the_oldest_begins_and_others_of_its_aggregate_wait() -> None:
    turns = [turn("c", "h3", 3), turn("b", "h2", 2), turn("a", "h1", 1)]
    found = decide_queue(turns, Availability(aggregates=RACKS))
    assert (found["a"], found["c"]) == ("", "")
    assert "h1 of aggregate rack1" in found["b"]


def test_what_has_begun_goes_on_and_holds_its_place() -> None:
    turns = [turn("old", "h1", 1), turn("young", "h2", 2, begun=True)]
    found = decide_queue(turns, Availability(aggregates=RACKS))
    assert found["young"] == ""
    assert "h2" in found["old"]


def test_a_dead_host_counts_as_out_of_service_but_not_against_itself() -> None:
    away = Availability(frozenset(("h1",)), RACKS)
    assert "h1" in decide_queue([turn("a", "h2", 1)], away)["a"]
    assert decide_queue([turn("a", "h1", 1)], away)["a"] == ""
    assert decide_queue([turn("a", "h2", 1, most=2)], away)["a"] == ""


def test_hosts_without_an_aggregate_stand_for_each_other() -> None:
    found = decide_queue(
        [turn("a", "x1", 1), turn("b", "x2", 2), turn("c", "h3", 3)], Availability((), RACKS)
    )  # type: ignore[arg-type]
    assert (found["a"], found["c"]) == ("", "")
    assert "x1" in found["b"]


def test_one_that_waits_is_not_overtaken_within_its_aggregate() -> None:
    turns = [turn("a", "h1", 1, begun=True), turn("b", "h2", 2), turn("c", "h2", 3)]
    found = decide_queue(turns, Availability(aggregates=RACKS))
    assert found["b"] and found["c"]


def test_of_two_for_one_host_the_second_waits_for_the_first() -> None:
    turns = [QueuedMaintenance("old", "cmp1", 1, False, 5), QueuedMaintenance("young", "cmp1", 2, False, 5)]
    answers = decide_queue(turns, Availability())
    assert answers["old"] == "" and "old" in answers["young"]
    begun = [turns[0], replace(turns[1], begun=True)]
    answers = decide_queue(begun, Availability())
    assert answers["young"] == "" and "young" in answers["old"]
