"""The state machine of one server in a maintenance: what Nova shows, and what follows."""

from __future__ import annotations

from dataclasses import replace

import pytest

from controller.domain.maintenance.maintenance_spec import MaintenanceSpec, parse_spec
from controller.domain.maintenance.move_choice import Mode, MoveKind, ServerPlan, Unmovable
from controller.domain.maintenance.outcome import MaintenanceSnapshot, progress, report_phase
from controller.domain.maintenance.server_moves import (
    QUEUED,
    RETRY_CAP,
    RETRY_FIRST,
    SETTLE,
    SETTLE_EVACUATION,
    Command,
    Phase,
    ServerMove,
    ServerMoveState,
    ServerSnapshot,
    advance,
    begin,
    conflicting,
    failed,
    may_begin,
    observe_next,
    plan_entry,
    read_entry,
    try_again,
    unknown,
)
from controller.domain.shared.cloud_facts import Migration, Server

NOW = 1_780_000_000.0
SPEC = MaintenanceSpec("cmp1", Mode.MIGRATE)
HERE = Server("id", "vm", "cmp1", "ACTIVE")
THERE = replace(HERE, host="cmp2")
ASKED = ServerMove(
    "id", "vm", MoveKind.LIVE, ServerMoveState.REQUESTED, attempts=1, requested=NOW - 5, after=7
)
COLD = replace(ASKED, way=MoveKind.COLD)


def moves(*statuses: str, kind: str = "live-migration") -> tuple[Migration, ...]:
    """An old migration, and newer ones with these statuses."""
    old = Migration(7, "id", kind, "completed")
    return (old, *(Migration(8 + i, "id", kind, status, "cmp1") for i, status in enumerate(statuses)))


def after(
    entry: ServerMove, server: Server | None, *statuses: str, later: float = 0.0, kind: str = ""
) -> tuple[str, str | None]:
    kinds = {MoveKind.COLD: "migration", MoveKind.EVACUATE: "evacuation"}
    records = moves(*statuses, kind=kind or kinds.get(entry.way, "live-migration"))
    found, command = advance(entry, ServerSnapshot(server, records), "cmp1", SPEC, NOW + later)
    return str(found.state), command


@pytest.mark.parametrize(
    ("server", "statuses", "later", "state", "command"),
    [
        (HERE, (), 0, ServerMoveState.REQUESTED, None),
        (HERE, (), SETTLE, ServerMoveState.PENDING, None),
        (replace(HERE, task="migrating", status="MIGRATING"), (), 0, ServerMoveState.MOVING, None),
        (HERE, ("running",), SETTLE, ServerMoveState.MOVING, None),
        (replace(THERE, status="MIGRATING"), ("running",), 0, ServerMoveState.MOVING, None),
        (THERE, ("running",), 0, ServerMoveState.MOVING, None),
        (THERE, ("completed",), 0, ServerMoveState.DONE, None),
        (THERE, (), 0, ServerMoveState.DONE, None),
        (None, (), 0, ServerMoveState.DONE, None),
        (HERE, ("error",), 0, ServerMoveState.PENDING, None),
        (HERE, ("cancelled",), 0, ServerMoveState.PENDING, None),
        (HERE, ("completed",), 0, ServerMoveState.REQUESTED, None),
        (HERE, ("completed",), SETTLE, ServerMoveState.PENDING, None),
        (replace(HERE, task="migrating"), ("running",), 1000, ServerMoveState.MOVING, Command.ABORT),
        (replace(HERE, task="migrating"), ("preparing",), 1000, ServerMoveState.BLOCKED, None),
        (replace(HERE, task="migrating"), ("running",), 1100, ServerMoveState.BLOCKED, None),
        (replace(THERE, task="migrating"), ("completed",), 1000, ServerMoveState.BLOCKED, None),
        (replace(THERE, status="ERROR"), ("error",), 0, ServerMoveState.BLOCKED, None),
        (THERE, ("failed",), 0, ServerMoveState.BLOCKED, None),
        (replace(HERE, host="", status="SHELVED_OFFLOADED"), (), 0, ServerMoveState.DONE, None),
        (replace(HERE, host="", status="ERROR"), ("error",), 0, ServerMoveState.BLOCKED, None),
    ],
)
def test_a_live_migration(
    server: Server | None,
    statuses: tuple[str, ...],
    later: float,
    state: ServerMoveState,
    command: Command | None,
) -> None:
    assert after(ASKED, server, *statuses, later=later) == (state, command)


def test_the_time_of_a_server_does_not_run_in_the_queue_of_nova() -> None:
    waiting = replace(HERE, task="migrating", status="MIGRATING")

    def then(entry: ServerMove, status: str, later: float) -> tuple[ServerMove, Command | None]:
        return advance(entry, ServerSnapshot(waiting, moves(status)), "cmp1", SPEC, NOW + later)

    queued, command = then(ASKED, "queued", SPEC.server_deadline + 60)
    assert (queued.state, queued.message, command) == (ServerMoveState.MOVING, QUEUED, None)
    begun, command = then(queued, "running", 2 * SPEC.server_deadline)
    assert (begun.state, begun.message, command) == (ServerMoveState.MOVING, "", None)
    assert then(begun, "running", 3 * SPEC.server_deadline)[1] is None
    assert then(begun, "running", 3 * SPEC.server_deadline + 60)[1] == Command.ABORT
    # It does not wait longer than the whole maintenance may take.
    assert then(queued, "queued", SPEC.deadline + 60)[0].state == ServerMoveState.BLOCKED


def test_a_cold_migration_is_confirmed_where_it_is_ours() -> None:
    moved = replace(THERE, status="VERIFY_RESIZE")
    assert after(COLD, moved, "finished") == (ServerMoveState.MOVING, Command.CONFIRM)
    assert after(COLD, moved, "confirming") == (ServerMoveState.MOVING, None)
    # Another's is not ours to confirm: no move since ours was asked for, or a resize.
    assert after(COLD, moved) == (ServerMoveState.BLOCKED, None)
    assert after(COLD, moved, "finished", kind="resize") == (ServerMoveState.BLOCKED, None)
    assert after(replace(COLD, way=MoveKind.LIVE), moved, "finished", kind="migration") == (
        ServerMoveState.BLOCKED,
        None,
    )
    assert after(COLD, replace(moved, task="resize_finish"), "finished") == (ServerMoveState.MOVING, None)
    assert after(COLD, THERE, "confirmed") == (ServerMoveState.DONE, None)


def test_a_move_that_is_not_confirmed_in_time_is_said_and_confirmed_as_soon_as_nova_can() -> None:
    moved = replace(THERE, status="VERIFY_RESIZE")
    assert after(COLD, moved, "finished", later=1000) == (ServerMoveState.BLOCKED, Command.CONFIRM)
    assert after(COLD, moved, "error", later=1000) == (ServerMoveState.BLOCKED, None)
    late, _ = advance(
        COLD, ServerSnapshot(replace(HERE, task="resize_migrating"), ()), "cmp1", SPEC, NOW + 1000
    )
    assert late.state == ServerMoveState.BLOCKED
    arrived = ServerSnapshot(moved, moves("finished", kind="migration"))
    again, command = observe_next(late, arrived, "cmp1")
    assert (again.state, command) == (
        ServerMoveState.BLOCKED,
        Command.CONFIRM,
    ) and "not confirmed" in again.message
    assert (
        observe_next(again, ServerSnapshot(THERE, moves("confirmed", kind="migration")), "cmp1")[0].state
        == ServerMoveState.DONE
    )


def test_a_resize_of_the_owner_is_never_confirmed_and_not_waited_for_in_silence() -> None:
    waiting = ServerMove("id", "vm", MoveKind.COLD)
    resized = ServerSnapshot(replace(THERE, status="VERIFY_RESIZE"), moves("finished", kind="resize"))
    found, command = observe_next(waiting, resized, "cmp1")
    assert command is None
    by_hand = ServerSnapshot(resized.server, moves("finished", kind="migration"))
    assert observe_next(waiting, by_hand, "cmp1")[1] is None
    assert found.state == ServerMoveState.BLOCKED and "resize waits" in found.message
    assert (
        observe_next(found, ServerSnapshot(THERE, moves("confirmed", kind="resize")), "cmp1")[0].state
        == ServerMoveState.DONE
    )


@pytest.mark.parametrize(
    ("server", "state"),
    [
        (replace(HERE, host="", status="SHELVED_OFFLOADED"), ServerMoveState.DONE),
        (replace(THERE, status="ERROR"), ServerMoveState.DONE),  # moved and broken by others
        (HERE, ServerMoveState.PENDING),
        (replace(THERE, task="migrating"), ServerMoveState.PENDING),
        (None, ServerMoveState.DONE),
    ],
)
def test_a_server_that_left_by_itself_is_waited_for_no_more(
    server: Server | None, state: ServerMoveState
) -> None:
    waiting = ServerMove("id", "vm", MoveKind.LIVE)
    once, _ = observe_next(waiting, ServerSnapshot(server, moves()), "cmp1")
    assert once.state == state and observe_next(once, ServerSnapshot(server, moves()), "cmp1") == (once, None)


def test_what_failed_on_the_way_stays_blocked_until_it_is_repaired() -> None:
    broken = ServerSnapshot(replace(THERE, status="ERROR"), moves("error"))
    found, _ = advance(ASKED, broken, "cmp1", SPEC, NOW)
    assert "cmp2" in found.message and "error" in found.message
    assert observe_next(found, broken, "cmp1") == (found, None)
    assert (
        observe_next(try_again(found), ServerSnapshot(THERE, moves("error")), "cmp1")[0].state
        == ServerMoveState.DONE
    )


def test_what_was_given_up_stays_so_while_nova_is_at_work_on_it() -> None:
    late, _ = advance(
        ASKED, ServerSnapshot(replace(HERE, task="migrating"), moves("preparing")), "cmp1", SPEC, NOW + 1000
    )
    assert "preparing" in late.message
    assert plan_entry(ServerPlan("id", "vm", MoveKind.BUSY), late, 3) == late
    assert plan_entry(ServerPlan("id", "vm", MoveKind.LIVE), late, 3).state == ServerMoveState.PENDING


def test_an_old_failure_is_not_taken_for_ours() -> None:
    sight = ServerSnapshot(HERE, (Migration(6, "id", "live-migration", "error"),))
    assert advance(ASKED, sight, "cmp1", SPEC, NOW)[0] == ASKED


def test_a_request_notes_what_was_there_before() -> None:
    pending = replace(ASKED, state=ServerMoveState.PENDING, attempts=0)
    noted, command = begin(pending, ServerSnapshot(HERE, moves("error")), NOW)
    assert (noted.after, noted.attempts, noted.requested, command) == (8, 1, NOW, Command.LIVE)


def test_attempts_grow_apart_and_end_in_blocked() -> None:
    first = failed(ASKED, "why", SPEC, NOW)
    assert not may_begin(first, NOW + RETRY_FIRST / 2 - 1) and may_begin(first, NOW + RETRY_FIRST)
    third = failed(replace(ASKED, attempts=3), "why", SPEC, NOW)
    assert 2 * RETRY_FIRST <= third.not_before - NOW <= 4 * RETRY_FIRST
    last = failed(replace(ASKED, attempts=4), "why", SPEC, NOW)
    assert last.state == ServerMoveState.BLOCKED and "4 attempts" in last.message


def test_servers_that_failed_together_do_not_come_back_together() -> None:
    again = {failed(replace(ASKED, id=f"id{n}"), "why", SPEC, NOW).not_before for n in range(20)}
    assert len(again) == 20


def test_a_request_that_nova_never_showed_is_no_attempt_of_the_server() -> None:
    asked = unknown(replace(ASKED, attempts=9, unseen=8), "compute POST: 503")
    lost, _ = advance(asked, ServerSnapshot(HERE, moves()), "cmp1", replace(SPEC, retries=0), NOW + SETTLE)
    assert (lost.state, lost.unseen, lost.failures) == (ServerMoveState.PENDING, 9, 0)
    assert "503" in lost.message
    assert RETRY_CAP / 2 <= lost.not_before - NOW - SETTLE <= RETRY_CAP


def test_a_task_that_ended_without_a_migration_is_an_attempt() -> None:
    moving, _ = advance(ASKED, ServerSnapshot(replace(HERE, task="migrating"), moves()), "cmp1", SPEC, NOW)
    ended, _ = advance(moving, ServerSnapshot(HERE, moves()), "cmp1", SPEC, NOW + SETTLE)
    assert (ended.state, ended.failures) == (ServerMoveState.PENDING, 1)


def test_a_conflict_is_an_attempt_with_its_text_where_nova_shows_nothing() -> None:
    asked = conflicting(replace(ASKED, attempts=4), "409 not for vTPM")
    assert advance(asked, ServerSnapshot(HERE, moves()), "cmp1", SPEC, NOW)[0] == asked
    blocked, _ = advance(asked, ServerSnapshot(HERE, moves()), "cmp1", SPEC, NOW + SETTLE)
    assert blocked.state == ServerMoveState.BLOCKED and "409 not for vTPM; 4 attempts" in blocked.message
    moving, _ = advance(asked, ServerSnapshot(HERE, moves("running")), "cmp1", SPEC, NOW + SETTLE)
    assert (moving.state, moving.message, moving.refused) == (ServerMoveState.MOVING, "", False)


def test_a_task_on_a_dead_host_is_no_sign_of_an_evacuation() -> None:
    asked = replace(ASKED, way=MoveKind.EVACUATE)
    caught = replace(HERE, task="rebooting_hard", status="HARD_REBOOT")
    assert after(asked, caught) == (ServerMoveState.REQUESTED, None)
    assert after(asked, caught, later=SETTLE_EVACUATION) == (ServerMoveState.PENDING, None)
    assert after(asked, caught, "accepted") == (ServerMoveState.MOVING, None)
    # Nova notes this one before there is a migration.
    assert after(asked, replace(HERE, task="rebuilding")) == (ServerMoveState.MOVING, None)
    assert after(asked, replace(THERE, task="powering-off"), "done") == (ServerMoveState.MOVING, None)


def test_an_entry_reads_as_it_was_written() -> None:
    entry = replace(ASKED, not_before=NOW + 10, target="cmp2", message="said", unseen=1, refused=True)
    assert read_entry(entry.written()) == entry


def test_a_plan_does_not_disturb_what_is_under_way_or_given_up() -> None:
    plan = ServerPlan("id", "vm", MoveKind.BLOCKED, "no")
    assert plan_entry(plan, ASKED, 3) == ASKED
    tired = replace(ASKED, state=ServerMoveState.BLOCKED, attempts=4)
    assert plan_entry(replace(plan, way=MoveKind.LIVE), tired, 3) == tired
    assert plan_entry(plan, None, 3).state == ServerMoveState.BLOCKED
    assert plan_entry(replace(plan, way=MoveKind.LEAVE), None, 3).state == ServerMoveState.LEFT


def test_attempts_that_are_spent_are_so_for_their_way_only() -> None:
    spent = replace(ASKED, state=ServerMoveState.BLOCKED, attempts=5, unseen=1)
    assert plan_entry(ServerPlan("id", "vm", MoveKind.LIVE), spent, 3) == spent
    cold = plan_entry(ServerPlan("id", "vm", MoveKind.COLD, "asked for"), spent, 3)
    assert (cold.way, cold.state, cold.attempts, cold.unseen) == (
        MoveKind.COLD,
        ServerMoveState.PENDING,
        0,
        0,
    )


def test_attempts_outlast_a_task_in_between() -> None:
    tried = replace(ASKED, state=ServerMoveState.PENDING, attempts=2, not_before=NOW)
    busy = plan_entry(ServerPlan("id", "vm", MoveKind.BUSY, "Nova is at work on it"), tried, 3)
    assert plan_entry(ServerPlan("id", "vm", MoveKind.LIVE), busy, 3).attempts == 2


def test_a_plan_says_why_from_the_first_look_on() -> None:
    assert (
        plan_entry(ServerPlan("id", "vm", MoveKind.COLD, "the server is stopped"), None, 3).message
        == "the server is stopped"
    )


def test_what_holds_servers_up_is_in_the_sentence() -> None:
    lost = replace(ASKED, state=ServerMoveState.PENDING, message="503; the request is repeated")
    assert "vm: 503" in report_phase(MaintenanceSnapshot((lost,)))[2]
    assert "vm: 503" in report_phase(MaintenanceSnapshot((lost,), over=True))[2]
    stopped = replace(lost, attempts=0, message="the server is stopped")
    assert "stopped" not in report_phase(MaintenanceSnapshot((stopped,)))[2]


def test_a_blocked_server_goes_on_when_the_plan_changes() -> None:
    blocked = ServerMove("id", "vm", MoveKind.BLOCKED, ServerMoveState.BLOCKED, message="no")
    planned = plan_entry(ServerPlan("id", "vm", MoveKind.COLD, "asked for"), blocked, 3)
    assert (planned.way, planned.state, planned.message) == (
        MoveKind.COLD,
        ServerMoveState.PENDING,
        "asked for",
    )


def test_a_server_that_came_back_is_moved_again() -> None:
    done = replace(ASKED, state=ServerMoveState.DONE, attempts=1)
    assert plan_entry(ServerPlan("id", "vm", MoveKind.LIVE), done, 3).state == ServerMoveState.PENDING


def entry(state: ServerMoveState, way: MoveKind = MoveKind.LIVE) -> ServerMove:
    return ServerMove("id", "vm", way, state, message="why")


@pytest.mark.parametrize(
    ("entries", "empty", "phase"),
    [
        ((), True, Phase.COMPLETED),
        ((), False, Phase.MOVING),
        ((entry(ServerMoveState.DONE),), True, Phase.COMPLETED),
        ((entry(ServerMoveState.DONE),), False, Phase.MOVING),
        ((entry(ServerMoveState.DONE), entry(ServerMoveState.LEFT)), True, Phase.COMPLETED),
        ((entry(ServerMoveState.BLOCKED), entry(ServerMoveState.DONE)), False, Phase.BLOCKED),
        ((entry(ServerMoveState.BLOCKED), entry(ServerMoveState.MOVING)), False, Phase.MOVING),
        ((entry(ServerMoveState.PENDING),), False, Phase.MOVING),
        ((entry(ServerMoveState.PENDING, MoveKind.BUSY),), False, Phase.MOVING),
    ],
)
def test_the_phase_follows_from_the_servers(
    entries: tuple[ServerMove, ...], empty: bool, phase: Phase
) -> None:
    assert report_phase(MaintenanceSnapshot(entries, remaining=() if empty else ("id",)))[0] == phase


def test_progress_counts_what_is_to_be_moved() -> None:
    assert (
        progress([entry(ServerMoveState.DONE), entry(ServerMoveState.MOVING), entry(ServerMoveState.LEFT)])
        == "1/2"
    )


def test_the_spec_and_its_defaults() -> None:
    assert parse_spec({"spec": {"nodeName": "cmp1"}}) == SPEC
    given = {
        "nodeName": "cmp1",
        "mode": "Evacuate",
        "onUnmovable": "Cold",
        "retries": 0,
        "deadlines": {"server": "1m", "whole": "1h"},
        "budgets": {"serversPerNode": 5},
    }
    found = parse_spec({"spec": given})
    assert (found.mode, found.retries, found.server_deadline, found.per_host) == (Mode.EVACUATE, 0, 60, 5)
    assert found.rules.on_unmovable == Unmovable.COLD
    with pytest.raises(ValueError):
        parse_spec({"spec": {"nodeName": "x", "mode": "Explode"}})
