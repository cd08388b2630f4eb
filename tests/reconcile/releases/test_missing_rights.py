"""A release that lacks a right: reported with the way to grant it, tried every minute."""

from __future__ import annotations

import pytest

from tests.adapters.helm.test_helm_texts import GRANTING
from tests.reconcile.bundles import NAMESPACE, Bench


def _denied() -> Bench:
    bench = Bench()
    bench.bundle("pages", "web")
    bench.helm.fails["web"] = GRANTING
    bench.settle()
    return bench


def test_the_message_names_the_object_the_rule_and_the_command_in_one_line() -> None:
    reported = _denied().release("pages", "web")
    assert reported["state"] == "Failed"
    assert reported["reason"] == "RightMissing"
    assert reported["message"].startswith(
        'roles "mariadb-test" would grant what ServiceAccount openstack/charts does not hold: '
        "patch of secrets keys; "
    )
    command = (
        f"kubectl -n {NAMESPACE} get osdpl -o yaml | osctl rbac - | helm -n NAMESPACE upgrade RELEASE CHART"
    )
    assert command in reported["message"]
    assert "\n" not in reported["message"]


@pytest.mark.parametrize("restarted", [False, True])
def test_it_is_tried_again_every_minute_however_often_it_failed(restarted: bool) -> None:
    bench = _denied()
    for _ in range(5):
        bench.clock.advance(61)
        bench.settle()
    if restarted:
        bench.restart()
    assert bench.release("pages", "web")["lastAttempt"]["failures"] == 6
    again = bench.reconciler.reconcile((NAMESPACE, "pages"))
    assert again is not None
    assert 50 < again <= 61


def test_once_it_is_granted_the_release_is_deployed_with_the_next_try() -> None:
    bench = _denied()
    del bench.helm.fails["web"]
    bench.clock.advance(61)
    bench.settle()
    reported = bench.release("pages", "web")
    assert reported["state"] == "Deployed"
    assert "lacksRight" not in reported["lastAttempt"]
