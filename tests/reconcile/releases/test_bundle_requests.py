"""What an operator asks of a bundle by annotation is done once, whatever restarts in between."""

from __future__ import annotations

from typing import Any

import pytest

from controller.domain.api.names import (
    FORCE_ANNOTATION,
    FORCE_RELEASE_PREFIX,
    RECONCILE_ANNOTATION,
    RECONCILE_RELEASE_PREFIX,
    ROLLBACK_RELEASE_PREFIX,
    SUSPEND_RELEASE_PREFIX,
)
from controller.ports.helm import RollbackRequest
from tests.reconcile.bundles import NAMESPACE, Bench

ROLLBACK = f"{ROLLBACK_RELEASE_PREFIX}/nova"


@pytest.fixture
def bench() -> Bench:
    return Bench()


def deployed(bench: Bench, *values: int) -> None:
    """A release with one revision for each of the values."""
    for value in values:
        bench.bundle("compute", {"name": "nova", "values": {"a": value}})
        bench.settle()
    bench.helm.calls.clear()


def test_a_failing_release_is_tried_again_at_once_when_asked_and_then_backs_off_again(bench: Bench) -> None:
    bench.helm.fails["nova"] = "it is broken"
    bench.bundle("compute", "nova")
    bench.settle()
    calls = len(bench.helm.calls)
    bench.annotate("compute", {RECONCILE_ANNOTATION: "one"})
    bench.settle()
    assert len(bench.helm.calls) == calls + 1
    bench.restart()
    bench.settle()
    assert len(bench.helm.calls) == calls + 1
    bench.annotate("compute", {f"{RECONCILE_RELEASE_PREFIX}/nova": "two"})
    bench.settle()
    assert len(bench.helm.calls) == calls + 2


def test_a_request_for_one_release_does_not_concern_the_others(bench: Bench) -> None:
    bench.bundle("compute", "nova", "libvirt")
    bench.settle()
    bench.helm.calls.clear()
    bench.annotate("compute", {f"{FORCE_RELEASE_PREFIX}/libvirt": "now"})
    bench.settle()
    assert bench.helm.calls == [("Upgrade", "libvirt")]


def test_a_forced_upgrade_is_made_once_even_if_its_news_is_lost_in_a_kill(bench: Bench) -> None:
    deployed(bench, 1)
    bench.annotate("compute", {FORCE_ANNOTATION: "now"})
    bench.reconcile()
    bench.wait(lambda: not bench.slots.busy(), "it is upgraded")
    bench.restart()  # before the status was reported
    bench.settle()
    assert bench.helm.calls == [("Upgrade", "nova")]


def test_a_rollback_is_made_once_and_holds_the_release_there(bench: Bench) -> None:
    deployed(bench, 1, 2)
    bench.annotate("compute", {ROLLBACK: "1 2026-03-01"})
    bench.settle()
    assert bench.helm.calls == [("Rollback", "nova")]
    entry = bench.release("compute", "nova")
    assert (entry["revision"], entry["state"], entry["reason"]) == (3, "Suspended", "RolledBack")
    assert bench.condition("compute", "Ready")["status"] == "False"
    assert bench.helm.values("nova") == {"a": 1}
    bench.restart()
    bench.settle()
    assert bench.helm.calls == [("Rollback", "nova")]


def test_an_edit_ends_a_rollback_and_the_old_request_is_not_taken_for_a_new_one(bench: Bench) -> None:
    deployed(bench, 1, 2)
    bench.annotate("compute", {ROLLBACK: "1 2026-03-01"})
    bench.settle()
    bench.bundle("compute", {"name": "nova", "values": {"a": 3}})
    bench.settle()
    assert bench.helm.calls == [("Rollback", "nova"), ("Upgrade", "nova")]
    bench.restart()
    bench.settle()
    assert bench.helm.values("nova") == {"a": 3}
    assert bench.release("compute", "nova")["reason"] == "InSync"
    bench.annotate("compute", {ROLLBACK: "1 2026-03-02"})
    bench.settle()
    assert bench.release("compute", "nova")["reason"] == "RollbackImpossible" or (
        bench.helm.values("nova") == {"a": 1}
    )


def test_taking_the_request_back_ends_a_rollback(bench: Bench) -> None:
    deployed(bench, 1, 2)
    bench.annotate("compute", {ROLLBACK: "1"})
    bench.settle()
    bench.annotate("compute", {ROLLBACK: None})
    bench.settle()
    assert bench.helm.values("nova") == {"a": 2}


def test_a_rollback_that_was_made_and_not_noted_is_noted_and_not_made_again(bench: Bench) -> None:
    deployed(bench, 1, 2)
    bench.annotate("compute", {ROLLBACK: "1"})
    bench.helm.rollback(RollbackRequest("nova", NAMESPACE, 1))  # and killed
    bench.settle()
    assert bench.helm.calls == [("Rollback", "nova")]
    assert bench.release("compute", "nova")["reason"] == "RolledBack"


def test_a_rollback_that_was_cut_off_is_unlocked_and_made_again(bench: Bench) -> None:
    deployed(bench, 1, 2)
    bench.annotate("compute", {ROLLBACK: "1"})
    first = bench.helm._records["nova"][0]
    bench.helm.record("nova", 3, "pending-rollback", **first.labels)
    bench.settle()
    assert bench.helm.calls == [("Rollback", "nova")]
    assert bench.release("compute", "nova")["reason"] == "RolledBack"
    assert [one.status for one in bench.helm.history("nova", NAMESPACE)][2] == "failed"


def test_an_old_request_is_not_served_again_when_someone_goes_back_behind_it(bench: Bench) -> None:
    deployed(bench, 1, 2)
    bench.annotate("compute", {ROLLBACK: "1"})
    bench.settle()
    bench.bundle("compute", {"name": "nova", "values": {"a": 3}})
    bench.settle()
    # By hand, to a revision that was made before the request.
    bench.helm.rollback(RollbackRequest("nova", NAMESPACE, 2))
    bench.helm.calls.clear()
    bench.settle()
    assert bench.helm.calls == [("Upgrade", "nova")]
    assert bench.helm.values("nova") == {"a": 3}


def test_a_rollback_that_fails_backs_off_and_is_given_up_when_it_is_taken_back(bench: Bench) -> None:
    deployed(bench, 1, 2)
    bench.helm.fails["nova"] = "failed post-rollback: it is broken"
    bench.annotate("compute", {ROLLBACK: "1"})
    bench.settle()
    entry = bench.release("compute", "nova")
    assert (entry["state"], entry["reason"]) == ("Failed", "BackingOff")
    assert "it is broken" in entry["lastAttempt"]["error"]
    bench.restart()
    bench.settle()
    assert bench.helm.calls == [("Rollback", "nova")]
    bench.clock.advance(10)
    bench.settle()
    assert bench.helm.calls == [("Rollback", "nova")] * 2
    del bench.helm.fails["nova"]
    bench.annotate("compute", {ROLLBACK: None})
    bench.clock.advance(30)
    bench.settle()
    assert bench.helm.values("nova") == {"a": 2}
    assert bench.release("compute", "nova")["state"] == "Deployed"


def test_a_second_rollback_goes_further_back(bench: Bench) -> None:
    deployed(bench, 1, 2, 3)
    bench.annotate("compute", {ROLLBACK: "2"})
    bench.settle()
    bench.annotate("compute", {ROLLBACK: "1"})
    bench.settle()
    assert bench.helm.values("nova") == {"a": 1}
    bench.annotate("compute", {ROLLBACK: "4 the revision that a rollback made"})
    bench.settle()
    assert bench.helm.values("nova") == {"a": 2}
    assert bench.helm.calls == [("Rollback", "nova")] * 3


def test_a_rollback_to_nowhere_is_reported_and_an_edit_still_served(bench: Bench) -> None:
    deployed(bench, 1)
    bench.annotate("compute", {ROLLBACK: "9"})
    bench.settle()
    entry = bench.release("compute", "nova")
    assert entry["reason"] == "RollbackImpossible"
    assert entry["message"] == "there is no revision 9; there is: 1"
    bench.bundle("compute", {"name": "nova", "values": {"a": 2}})
    bench.settle()
    assert bench.helm.values("nova") == {"a": 2}


def with_account(bench: Bench, name: str, **more: Any) -> None:
    values = {"endpoints": {"oslo_db": {"auth": {"nova": {"username": name, **more}}}}}
    bench.bundle("compute", {"name": "nova", "values": values})
    bench.settle()


@pytest.mark.parametrize("failing", [False, True])
def test_accounts_that_others_have_replaced_do_not_come_back(bench: Bench, failing: bool) -> None:
    """They are deleted once a rotation is complete, and no rollback runs the Jobs that make accounts."""
    with_account(bench, "nova")
    bench.helm.fails |= {"nova": "it is broken"} if failing else {}
    with_account(bench, "nova-2")
    bench.annotate("compute", {ROLLBACK: "1"})
    bench.settle()
    assert ("Rollback", "nova") not in bench.helm.calls
    if not failing:
        entry = bench.release("compute", "nova")
        assert (entry["state"], entry["reason"]) == ("Deployed", "RollbackImpossible")
        assert entry["message"] == (
            "revision 1 logs in as nova (oslo_db), which other accounts have replaced"
        )


def test_the_spec_alone_does_not_bring_back_another_account(bench: Bench) -> None:
    with_account(bench, "nova", password="one")
    with_account(bench, "nova", password="two")
    bench.annotate("compute", {f"{SUSPEND_RELEASE_PREFIX}/nova": "true"})
    with_account(bench, "nova-2")
    bench.annotate("compute", {ROLLBACK: "1", f"{SUSPEND_RELEASE_PREFIX}/nova": None})
    bench.settle()
    assert ("Rollback", "nova") not in bench.helm.calls
    assert bench.helm.values("nova")["endpoints"]["oslo_db"]["auth"]["nova"]["username"] == "nova-2"


def account(name: str) -> dict[str, Any]:
    return {"endpoints": {"oslo_db": {"auth": {"nova": {"username": name}}}}}


def test_an_account_that_only_the_chart_named_does_not_come_back(bench: Bench) -> None:
    """An earlier controller left names of accounts to the chart."""
    bench.helm.defaults_of["nova"] = account("nova")
    bench.bundle("compute", {"name": "nova", "values": {"a": 1}})
    bench.settle()
    with_account(bench, "nova-2")
    bench.annotate("compute", {ROLLBACK: "1"})
    bench.settle()
    assert ("Rollback", "nova") not in bench.helm.calls
    entry = bench.release("compute", "nova")
    assert (entry["reason"], entry["message"]) == (
        "RollbackImpossible",
        "revision 1 logs in as nova (oslo_db), which other accounts have replaced",
    )


def test_an_account_that_the_next_chart_names_otherwise_has_been_replaced(bench: Bench) -> None:
    deployed(bench, 1)
    with_account(bench, "nova")
    with_account(bench, "nova", password="two")
    bench.annotate("compute", {f"{SUSPEND_RELEASE_PREFIX}/nova": "true"})
    bench.charts.defaults = lambda chart: account("nova-2")  # type: ignore[method-assign]
    bench.bundle("compute", {"name": "nova", "values": {"a": 2}})
    bench.annotate("compute", {ROLLBACK: "2", f"{SUSPEND_RELEASE_PREFIX}/nova": None})
    bench.settle()
    assert ("Rollback", "nova") not in bench.helm.calls


def test_who_the_chart_named_and_the_spec_names_now_is_one_account(bench: Bench) -> None:
    bench.helm.defaults_of["nova"] = account("nova")
    bench.bundle("compute", {"name": "nova", "values": {"a": 1}})
    bench.settle()
    with_account(bench, "nova")
    bench.annotate("compute", {ROLLBACK: "1"})
    bench.settle()
    assert bench.release("compute", "nova")["reason"] == "RolledBack"


def test_a_rollback_between_revisions_with_the_same_accounts_is_made(bench: Bench) -> None:
    with_account(bench, "nova", password="one")
    with_account(bench, "nova", password="two")
    bench.annotate("compute", {ROLLBACK: "1"})
    bench.settle()
    assert bench.release("compute", "nova")["reason"] == "RolledBack"


def test_one_release_of_a_bundle_is_suspended_by_annotation(bench: Bench) -> None:
    bench.bundle("compute", "nova", "libvirt")
    bench.annotate("compute", {f"{SUSPEND_RELEASE_PREFIX}/nova": "true"})
    bench.settle()
    assert bench.helm.calls == [("Install", "libvirt")]
    assert bench.condition("compute", "Paused")["message"] == "suspended individually: nova"
