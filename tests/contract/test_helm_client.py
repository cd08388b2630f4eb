"""What the product asks of Helm, on a real API server."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from controller.domain.api.names import HELM_FIELD_MANAGER
from controller.errors import ChartInvalid, HelmCancelled, HelmFailed, ReleaseMissing
from controller.ports.helm import RollbackRequest, UninstallRequest
from controller.ports.kubernetes import CONFIGMAP, JOB, SECRET
from sandbox.patience import patient
from tests.contract.conftest import CHARTS, Bench, wait_until

pytestmark = pytest.mark.cluster

HANGING = {"hook": {"events": "post-install,post-upgrade", "outcome": "job-hangs"}}
FAILING = {"hook": {"events": "post-install,post-upgrade", "outcome": "job-fails"}}
RUNNING_WELL = {"hook": {"events": "post-install,post-upgrade", "outcome": "succeeds"}}


def test_install_puts_the_objects_there_and_makes_revision_1(bench: Bench) -> None:
    made = bench.helm.install(bench.request("web", {"data": {"colour": "red"}}))

    assert (made.version, made.status) == (1, "deployed")
    assert bench.config("web") == {"revision": "1", "colour": "red"}


def test_upgrade_replaces_all_values(bench: Bench) -> None:
    bench.helm.install(bench.request("web", {"data": {"colour": "red", "size": "big"}}))
    made = bench.helm.upgrade(bench.request("web", {"data": {"colour": "blue"}}))

    assert made.version == 2
    assert bench.config("web") == {"revision": "2", "colour": "blue"}


def test_upgrade_without_values_falls_back_to_the_charts_own(bench: Bench) -> None:
    bench.helm.install(bench.request("web", {"data": {"colour": "red"}}))
    bench.helm.upgrade(bench.request("web", {}))

    assert bench.config("web") == {"revision": "2"}


def test_labels_of_the_request_come_back_with_the_history(bench: Bench) -> None:
    made = bench.helm.install(bench.request("web", labels=bench.labelled(1, "a" * 40)))
    bench.helm.upgrade(bench.request("web", labels=bench.labelled(2, "b" * 40)))

    history = bench.helm.history("web", bench.namespace)
    assert [(one.version, one.digest, one.bundle, one.ours) for one in history] == [
        (1, "a" * 40, "identity", True),
        (2, "b" * 40, "identity", True),
    ]
    assert (made.digest, made.bundle, made.ours) == ("a" * 40, "identity", True)


def test_history_shows_when_a_revision_was_made(bench: Bench) -> None:
    bench.helm.install(bench.request("web"))

    recorded = bench.records.observe(bench.namespace)["web"][0].modified
    assert abs(bench.helm.history("web", bench.namespace)[0].modified - recorded) < 300


def test_history_is_bounded(bench: Bench) -> None:
    bench.helm.install(bench.request("web"))
    for number in range(4):
        bench.helm.upgrade(bench.request("web", {"data": {"n": str(number)}}, max_history=3))

    assert [one.version for one in bench.helm.history("web", bench.namespace)] == [3, 4, 5]


def test_history_of_an_unknown_release_is_empty(bench: Bench) -> None:
    assert bench.helm.history("nobody", bench.namespace) == ()
    assert bench.helm.hooks("nobody", bench.namespace) == ()


def test_upgrade_of_an_unknown_release_says_so(bench: Bench) -> None:
    with pytest.raises(ReleaseMissing):
        bench.helm.upgrade(bench.request("nobody"))


def test_hooks_run_before_the_call_returns_and_are_reported(bench: Bench) -> None:
    bench.helm.install(bench.request("web", RUNNING_WELL))

    (hook,) = bench.helm.hooks("web", bench.namespace)
    assert (hook.name, hook.kind, hook.weight, hook.phase) == ("web-hook", "Job", -4, "Succeeded")
    assert hook.events == ("post-install", "post-upgrade")
    job = bench.object("job", "web-hook")
    assert job is not None and job["status"]["succeeded"] == 1


def test_a_failed_hook_fails_the_revision(bench: Bench) -> None:
    with pytest.raises(HelmFailed) as caught:
        bench.helm.install(bench.request("web", FAILING))

    assert "web-hook" in str(caught.value)
    assert not isinstance(caught.value, HelmCancelled)
    assert bench.statuses("web") == ["failed"]
    assert [hook.phase for hook in bench.helm.hooks("web", bench.namespace)] == ["Failed"]


def test_after_a_failed_install_an_upgrade_runs_the_hooks_again(bench: Bench) -> None:
    with pytest.raises(HelmFailed):
        bench.helm.install(bench.request("web", FAILING))
    bench.helm.upgrade(bench.request("web", RUNNING_WELL))

    assert bench.statuses("web")[-1] == "deployed"
    assert [hook.phase for hook in bench.helm.hooks("web", bench.namespace)] == ["Succeeded"]


def test_after_a_failed_install_an_install_is_possible_again(bench: Bench) -> None:
    with pytest.raises(HelmFailed):
        bench.helm.install(bench.request("web", FAILING))
    made = bench.helm.install(bench.request("web", {"hook": {"events": "post-install"}}))

    assert (made.version, made.status) == (2, "deployed")
    assert [hook.phase for hook in bench.helm.hooks("web", bench.namespace)] == ["Succeeded"]


@pytest.mark.parametrize("event", ["pre-install", "post-install"])
def test_a_hanging_hook_of_an_install_ends_when_cancelled(bench: Bench, event: str) -> None:
    cancellation = bench.helm.new_cancellation()
    request = bench.request("web", {"hook": {"events": event, "outcome": "job-hangs"}}, timeout=300)
    with ThreadPoolExecutor(1) as pool:
        acting = pool.submit(bench.helm.install, request, cancellation)
        wait_until(lambda: _running(bench, "web-hook"), "the hook runs")
        cancellation.cancel()
        with pytest.raises(HelmCancelled):
            acting.result(timeout=patient(200))

    assert bench.statuses("web") == ["failed"]


def test_after_a_cancelled_upgrade_the_next_one_is_not_disturbed(bench: Bench) -> None:
    """Nothing stays behind that waits for the same Job and would go on with the old manifest."""
    bench.helm.install(bench.request("web"))
    cancellation = bench.helm.new_cancellation()
    hanging = {"hook": {"events": "pre-upgrade", "outcome": "job-hangs"}, "data": {"colour": "old"}}
    with ThreadPoolExecutor(1) as pool:
        acting = pool.submit(bench.helm.upgrade, bench.request("web", hanging, timeout=300), cancellation)
        wait_until(lambda: _running(bench, "web-hook"), "the hook runs")
        cancellation.cancel()
        with pytest.raises(HelmCancelled):
            acting.result(timeout=patient(200))
    good = {"hook": {"events": "pre-upgrade", "outcome": "succeeds"}, "data": {"colour": "new"}}
    bench.helm.upgrade(bench.request("web", good))

    assert bench.statuses("web")[1:] == ["failed", "deployed"]
    assert bench.config("web")["colour"] == "new"


def test_a_hanging_hook_of_an_uninstall_ends_when_cancelled(bench: Bench) -> None:
    bench.helm.install(bench.request("web", {"hook": {"events": "pre-delete", "outcome": "job-hangs"}}))
    cancellation = bench.helm.new_cancellation()

    def act() -> None:
        bench.helm.uninstall(UninstallRequest("web", bench.namespace, timeout=300), cancellation)

    with ThreadPoolExecutor(1) as pool:
        acting = pool.submit(act)
        wait_until(lambda: _running(bench, "web-hook"), "the hook runs")
        cancellation.cancel()
        with pytest.raises(HelmCancelled):
            acting.result(timeout=patient(200))
    assert bench.config("web")  # nothing was deleted yet: the hook comes before


def test_a_hook_that_hangs_ends_the_action_at_its_timeout(bench: Bench) -> None:
    # On a busy machine Helm may not have come as far as its hook when the first of these is over.
    for seconds in (3, 15, 75):
        with pytest.raises(HelmCancelled):
            bench.helm.install(bench.request("web", HANGING, timeout=seconds))
        if bench.object("job", "web-hook") is not None:
            break

    wait_until(lambda: set(bench.statuses("web")) == {"failed"}, "the record says failed")


def test_a_cancelled_token_starts_nothing(bench: Bench) -> None:
    cancellation = bench.helm.new_cancellation()
    cancellation.cancel()
    with pytest.raises(HelmCancelled):
        bench.helm.install(bench.request("web"), cancellation)

    assert bench.statuses("web") == []


def test_upgrade_takes_back_a_field_that_was_edited_by_hand(bench: Bench) -> None:
    bench.helm.install(bench.request("web", {"data": {"colour": "red"}}))
    bench.sandbox.kubectl(
        "patch", "configmap", "web", "-n", bench.namespace, "--type=merge", "-p", '{"data":{"colour":"grey"}}'
    )
    bench.helm.upgrade(bench.request("web", {"data": {"colour": "blue"}}))

    assert bench.config("web")["colour"] == "blue"


def test_upgrade_brings_back_a_deleted_object(bench: Bench) -> None:
    bench.helm.install(bench.request("web", {"data": {"colour": "red"}}))
    bench.kube.delete(CONFIGMAP, "web", bench.namespace)
    bench.helm.upgrade(bench.request("web", {"data": {"colour": "red"}}))

    assert bench.config("web")["colour"] == "red"


def test_objects_are_applied_under_helms_own_field_manager(bench: Bench) -> None:
    bench.helm.install(bench.request("web", {"data": {"colour": "red"}}))

    found = bench.object("configmap", "web")
    assert found is not None
    managers = {(one["manager"], one["operation"]) for one in found["metadata"]["managedFields"]}
    assert managers == {(HELM_FIELD_MANAGER, "Apply")}


def test_a_field_dropped_from_the_chart_goes_from_the_object(bench: Bench) -> None:
    bench.helm.install(bench.request("web", {"data": {"colour": "red", "size": "big"}}))
    bench.helm.upgrade(bench.request("web", {"data": {"size": "big"}}))

    assert "colour" not in bench.config("web")


def test_uninstall_removes_objects_and_history_and_may_be_repeated(bench: Bench) -> None:
    bench.helm.install(bench.request("web"))
    bench.helm.uninstall(UninstallRequest("web", bench.namespace))
    bench.helm.uninstall(UninstallRequest("web", bench.namespace))

    wait_until(lambda: bench.object("configmap", "web") is None, "the object is gone")
    assert bench.helm.history("web", bench.namespace) == ()


def test_uninstall_keeps_its_records_where_asked_until_it_is_not(bench: Bench) -> None:
    bench.helm.install(bench.request("web", {"data": {"colour": "red"}}))
    bench.helm.uninstall(UninstallRequest("web", bench.namespace, keep_history=True))
    assert bench.statuses("web") == ["uninstalled"]
    assert bench.records.removal("web", bench.namespace).status == "uninstalled"
    bench.helm.uninstall(UninstallRequest("web", bench.namespace))
    assert bench.statuses("web") == []


def test_uninstall_leaves_what_is_marked_to_be_kept(bench: Bench) -> None:
    bench.helm.install(bench.request("web", {"claim": True, "keptClaim": True}))
    bench.helm.uninstall(UninstallRequest("web", bench.namespace))

    wait_until(lambda: _gone(bench, "web-data"), "the unmarked claim goes")
    assert not _gone(bench, "web-kept")


def test_a_kept_object_is_taken_up_by_the_next_install(bench: Bench) -> None:
    bench.helm.install(bench.request("web", {"keptClaim": True}))
    before = bench.object("claim", "web-kept")
    bench.helm.uninstall(UninstallRequest("web", bench.namespace))
    made = bench.helm.install(bench.request("web", {"keptClaim": True}))

    after = bench.object("claim", "web-kept")
    assert made.status == "deployed"
    assert before is not None and after is not None and before["metadata"]["uid"] == after["metadata"]["uid"]


def test_rollback_makes_a_new_revision_of_an_old_manifest(bench: Bench) -> None:
    bench.helm.install(bench.request("web", {"data": {"colour": "red"}}))
    bench.helm.upgrade(bench.request("web", {"data": {"colour": "blue"}}))
    bench.sandbox.kubectl(
        "patch", "configmap", "web", "-n", bench.namespace, "--type=merge", "-p", '{"data":{"colour":"grey"}}'
    )
    bench.helm.rollback(RollbackRequest("web", bench.namespace, 1))

    assert bench.config("web")["colour"] == "red"
    assert bench.statuses("web") == ["superseded", "superseded", "deployed"]


@pytest.mark.parametrize(
    ("chart", "values"),
    [("nowhere", {}), ("", {}), ("small", {"broken": "yes"}), ("schema", {"size": "huge"})],
    ids=["missing", "no Chart.yaml", "does not render", "against its schema"],
)
def test_a_chart_that_cannot_be_used_changes_nothing(
    bench: Bench, chart: str, values: dict[str, str]
) -> None:
    with pytest.raises(ChartInvalid) as caught:
        bench.helm.install(bench.request("web", values, chart=chart))

    assert str(CHARTS / chart) in str(caught.value)
    assert bench.helm.history("web", bench.namespace) == ()


def test_an_object_that_the_api_server_refuses_fails_the_action(bench: Bench) -> None:
    with pytest.raises(HelmFailed):
        bench.helm.install(bench.request("web", {"data": {"not a key!": "x"}}))


def test_a_field_that_the_api_does_not_know_fails_the_action(bench: Bench) -> None:
    with pytest.raises(HelmFailed, match="colours"):
        bench.helm.install(bench.request("web", {"unknownField": "colours"}))
    bench.helm.install(bench.request("web"))
    with pytest.raises(HelmFailed, match="colours"):
        bench.helm.upgrade(bench.request("web", {"unknownField": "colours"}))


def test_values_that_are_not_json_are_refused(bench: Bench) -> None:
    with pytest.raises(HelmFailed, match="JSON"):
        bench.helm.install(bench.request("web", {"data": {"colour": {1, 2}}}))


def test_a_secret_value_stays_out_of_the_error(bench: Bench) -> None:
    values = {"secret": {"password": "sw0rdfish-planted"}, **FAILING}
    with pytest.raises(HelmFailed) as caught:
        bench.helm.install(bench.request("web", values))

    assert "sw0rdfish" not in str(caught.value)
    stored = bench.object("secret", "web")
    assert stored is not None


def test_releases_in_parallel_do_not_disturb_each_other(bench: Bench) -> None:
    names = [f"web{number}" for number in range(8)]
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda name: bench.helm.install(bench.request(name, RUNNING_WELL)), names))

    assert [one.status for one in made] == ["deployed"] * 8
    history = bench.records.observe(bench.namespace)
    assert {name: [one.status for one in found] for name, found in history.items()} == {
        name: ["deployed"] for name in names
    }


def test_one_stuck_release_does_not_hold_up_another(bench: Bench) -> None:
    cancellation = bench.helm.new_cancellation()
    stuck = threading.Thread(target=_swallow, args=(bench, cancellation))
    stuck.start()
    try:
        wait_until(lambda: _running(bench, "stuck-hook"), "the hook runs")
        assert bench.helm.install(bench.request("web")).status == "deployed"
    finally:
        cancellation.cancel()
        stuck.join(timeout=patient(200))
    assert not stuck.is_alive()


@pytest.mark.parametrize("server", [False, True])
def test_render_shows_objects_and_hooks_apart(bench: Bench, server: bool) -> None:
    request = bench.request("web", {**RUNNING_WELL, "data": {"colour": "red"}})
    rendered = bench.helm.render(request, server=server)

    assert [(obj["kind"], obj["metadata"]["name"]) for obj in rendered.manifest] == [("ConfigMap", "web")]
    assert rendered.manifest[0]["data"]["colour"] == "red"
    assert [(obj["kind"], obj["metadata"]["name"]) for obj in rendered.hooks] == [("Job", "web-hook")]
    assert bench.helm.history("web", bench.namespace) == ()
    assert bench.kube.list(JOB, bench.namespace) == []
    assert bench.kube.list_metadata(SECRET, bench.namespace, labels="owner=helm") == []


def _running(bench: Bench, job: str) -> bool:
    found = bench.object("job", job)
    return found is not None and bool(found.get("status", {}).get("active"))


def _gone(bench: Bench, claim: str) -> bool:
    found = bench.object("claim", claim)
    return found is None or "deletionTimestamp" in found["metadata"]


def _swallow(bench: Bench, cancellation: object) -> None:
    with pytest.raises(HelmCancelled):
        bench.helm.install(bench.request("stuck", HANGING, timeout=300), cancellation)  # type: ignore[arg-type]
