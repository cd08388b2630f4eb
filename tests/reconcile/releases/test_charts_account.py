"""What is done as the account that charts act as, and what is said where it may not be."""

from __future__ import annotations

import pytest

from controller.errors import Forbidden
from controller.ports.kubernetes import SECRET
from tests.fakes.held_rights import CHARTS, CONTROLLER, HeldRights, rights_of
from tests.reconcile.bundles import NAMESPACE, Bench


def test_the_controller_may_not_write_what_charts_are_made_of_and_charts_nothing_of_ours() -> None:
    """What the other tests of releases rely on."""
    own, charts = (rights_of(account, NAMESPACE) for account in (CONTROLLER, CHARTS))
    assert ("apps", "deployments", "", "create") in charts - own
    assert ("osctl.dev", "helmbundles", "", "patch") in own - charts


def test_a_bundle_says_that_the_account_of_charts_cannot_be_used_and_how_to_mend_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bench = Bench()
    bench.bundle("pages", "web")
    bench.settle()
    before = bench.release("pages", "web")
    denied = 'serviceaccounts "osctl-charts" is forbidden: User "osctl" cannot'

    def observe(*_: object, **__: object) -> object:
        raise Forbidden(f"GET /api/v1/secrets: 403 {denied} impersonate resource")

    with monkeypatch.context() as patched:
        patched.setattr(bench.helm, "observe", observe)
        bench.clock.advance(120)
        assert bench.reconciler.reconcile((NAMESPACE, "pages")) == 60.0
    ready = bench.condition("pages", "Ready")
    assert (ready["status"], ready["reason"]) == ("False", "RightMissing")
    assert denied in ready["message"]
    assert "helm upgrade of the controller's chart grants the right" in ready["message"]
    assert bench.release("pages", "web") == before
    bench.clock.advance(61)
    bench.settle()
    ready = bench.condition("pages", "Ready")
    assert ready["status"] == "True"


def test_a_secret_of_another_namespace_is_out_of_reach_for_both() -> None:
    bench = Bench()
    for account in bench.accounts:
        assert isinstance(account, HeldRights)
        with pytest.raises(Forbidden):
            account.get(SECRET, "rook-ceph-mon", "rook-ceph")
