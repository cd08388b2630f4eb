"""What contract tests ask of real Helm, asked of the one in memory that the simulated region uses.

The tests are the same, by import: here they run against `StoredHelm` on an API server in memory, there
against both adapters and a real one. Charts are rendered by Helm's own engine, which without a cluster knows
no revision but the first: what a chart makes of its revision is not asked.
"""

from __future__ import annotations

import functools
import json

import pytest

from controller.adapters.helm.cancellation import CancellationToken
from controller.adapters.helm.manifests import HOOK_ANNOTATION, annotations_of, parse_manifests
from controller.adapters.helm.records.release_records import SecretRecords
from controller.ports.helm import HelmRequest, RenderedRelease
from controller.ports.kubernetes import JOB, KubeObject
from tests.contract.conftest import Bench
from tests.contract.test_helm_client import (
    test_a_failed_hook_fails_the_revision,
    test_a_field_dropped_from_the_chart_goes_from_the_object,
    test_a_kept_object_is_taken_up_by_the_next_install,
    test_after_a_failed_install_an_install_is_possible_again,
    test_after_a_failed_install_an_upgrade_runs_the_hooks_again,
    test_history_is_bounded,
    test_history_of_an_unknown_release_is_empty,
    test_install_puts_the_objects_there_and_makes_revision_1,
    test_labels_of_the_request_come_back_with_the_history,
    test_uninstall_keeps_its_records_where_asked_until_it_is_not,
    test_uninstall_leaves_what_is_marked_to_be_kept,
    test_uninstall_removes_objects_and_history_and_may_be_repeated,
    test_upgrade_brings_back_a_deleted_object,
    test_upgrade_of_an_unknown_release_says_so,
)
from tests.contract.test_helm_rollback import (
    test_a_rollback_has_the_labels_of_the_revision_it_goes_back_to_until_they_are_set,
    test_a_rollback_to_a_revision_that_is_not_there_says_so,
)
from tests.contract.test_hook_policies import (
    test_a_hook_of_the_deletion_that_failed_runs_again_at_the_next_try,
    test_a_hook_that_failed_runs_again_and_succeeds,
    test_a_hook_that_fails_once_all_is_gone_keeps_the_record_and_runs_again,
    test_helm_alone_takes_the_failed_job_for_the_new_one_and_fails_at_once,
)
from tests.contract.test_jobs_first import (
    test_a_job_that_fails_leaves_the_pods_as_they_are_and_its_mending_goes_on,
    test_a_release_goes_whole_after_the_first_half_of_an_upgrade,
    test_the_jobs_of_new_pods_succeed_before_the_pods_are_sent,
)
from tests.contract.test_kept_volumes import (
    test_a_claim_of_the_last_deployed_revision_is_kept_after_an_upgrade_that_failed,
    test_a_claim_stays_whatever_another_does_to_the_release_during_the_uninstall,
    test_a_claim_that_a_rollback_drops_is_kept,
    test_a_claim_that_an_upgrade_drops_is_kept_and_taken_up_again,
    test_an_earlier_kept_claim_outlives_the_release,
    test_helm_alone_deletes_a_claim_that_the_chart_drops,
    test_helm_can_still_upgrade_a_release_whose_claims_are_retained,
    test_retained_claims_outlive_the_release_and_are_taken_up_again,
    test_the_record_says_so_before_helm_is_called,
)
from tests.contract.test_objects_of_others import (
    test_a_hook_meets_what_it_has_made_itself,
    test_a_hook_that_would_replace_anothers_job_is_refused,
    test_an_equal_object_without_owner_is_taken,
    test_an_object_of_another_release_is_refused_and_outlives_ours,
    test_helm_alone_takes_no_object_without_its_marks,
    test_what_another_release_has_taken_is_not_deleted_by_an_upgrade_that_drops_it,
    test_what_another_release_has_taken_meanwhile_is_not_deleted_with_ours,
    test_what_is_handed_over_is_taken_once,
    test_what_is_left_of_a_release_whose_records_are_gone_is_its_own,
)
from tests.contract.test_release_records import (
    test_hook_jobs_are_gone_with_the_release,
    test_observed_histories_equal_helms_own,
    test_the_recorded_manifest_is_what_was_put_there,
)
from tests.fakes.kube import FakeKube
from tests.fakes.stored_helm import StoredHelm
from tests.fakes.world import FakeClock
from tests.helm_program import Chart

OF_REAL_HELM = (
    test_a_claim_stays_whatever_another_does_to_the_release_during_the_uninstall,
    test_a_claim_of_the_last_deployed_revision_is_kept_after_an_upgrade_that_failed,
    test_a_claim_that_a_rollback_drops_is_kept,
    test_a_claim_that_an_upgrade_drops_is_kept_and_taken_up_again,
    test_a_failed_hook_fails_the_revision,
    test_a_field_dropped_from_the_chart_goes_from_the_object,
    test_a_hook_meets_what_it_has_made_itself,
    test_a_hook_of_the_deletion_that_failed_runs_again_at_the_next_try,
    test_a_hook_that_failed_runs_again_and_succeeds,
    test_a_hook_that_fails_once_all_is_gone_keeps_the_record_and_runs_again,
    test_a_hook_that_would_replace_anothers_job_is_refused,
    test_a_job_that_fails_leaves_the_pods_as_they_are_and_its_mending_goes_on,
    test_a_release_goes_whole_after_the_first_half_of_an_upgrade,
    test_the_jobs_of_new_pods_succeed_before_the_pods_are_sent,
    test_a_kept_object_is_taken_up_by_the_next_install,
    test_a_rollback_has_the_labels_of_the_revision_it_goes_back_to_until_they_are_set,
    test_a_rollback_to_a_revision_that_is_not_there_says_so,
    test_after_a_failed_install_an_install_is_possible_again,
    test_after_a_failed_install_an_upgrade_runs_the_hooks_again,
    test_an_earlier_kept_claim_outlives_the_release,
    test_an_object_of_another_release_is_refused_and_outlives_ours,
    test_an_equal_object_without_owner_is_taken,
    test_helm_alone_deletes_a_claim_that_the_chart_drops,
    test_helm_alone_takes_no_object_without_its_marks,
    test_helm_alone_takes_the_failed_job_for_the_new_one_and_fails_at_once,
    test_helm_can_still_upgrade_a_release_whose_claims_are_retained,
    test_history_is_bounded,
    test_history_of_an_unknown_release_is_empty,
    test_hook_jobs_are_gone_with_the_release,
    test_install_puts_the_objects_there_and_makes_revision_1,
    test_labels_of_the_request_come_back_with_the_history,
    test_observed_histories_equal_helms_own,
    test_retained_claims_outlive_the_release_and_are_taken_up_again,
    test_the_record_says_so_before_helm_is_called,
    test_the_recorded_manifest_is_what_was_put_there,
    test_uninstall_keeps_its_records_where_asked_until_it_is_not,
    test_uninstall_leaves_what_is_marked_to_be_kept,
    test_uninstall_removes_objects_and_history_and_may_be_repeated,
    test_upgrade_brings_back_a_deleted_object,
    test_upgrade_of_an_unknown_release_says_so,
    test_what_another_release_has_taken_is_not_deleted_by_an_upgrade_that_drops_it,
    test_what_another_release_has_taken_meanwhile_is_not_deleted_with_ours,
    test_what_is_handed_over_is_taken_once,
    test_what_is_left_of_a_release_whose_records_are_gone_is_its_own,
)


@functools.cache
def _files(chart: str, values: str, release: str, namespace: str) -> dict[str, str]:
    return Chart.load(chart).render(json.loads(values), name=release, namespace=namespace)


def render(request: HelmRequest) -> RenderedRelease:
    """By Helm's engine, without a cluster."""
    files = _files(request.chart_path, json.dumps(request.values), request.release, request.namespace)
    texts = [text for path, text in files.items() if path.endswith(".yaml")]
    objects = [obj for text in texts for obj in parse_manifests(text)]
    hooks = tuple(obj for obj in objects if HOOK_ANNOTATION in annotations_of(obj))
    return RenderedRelease(tuple(obj for obj in objects if HOOK_ANNOTATION not in annotations_of(obj)), hooks)


@pytest.fixture
def bench() -> Bench:
    """Jobs end as their pods' label says, and once they have, they have."""
    kube = FakeKube()

    def await_hook(hook: KubeObject, namespace: str, timeout: float, token: CancellationToken) -> str:
        name = str(hook["metadata"]["name"])
        live = kube.get(JOB, name, namespace)
        assert live is not None
        labels = live["spec"]["template"]["metadata"]["labels"]
        failed = labels["sandbox.osctl.dev/fail"] in ("job-fails", "fails") or bool(live.get("status"))
        if failed:
            entry = {"type": "Failed", "status": "True"}
            kube.replace({**live, "status": {"conditions": [entry]}}, subresource="status")
        return "Failed" if failed else "Succeeded"

    helm = StoredHelm(kube, FakeClock(), render, await_hook)
    return Bench(helm, kube, SecretRecords(kube), "contract", None)  # type: ignore[arg-type]


@pytest.fixture
def kube(bench: Bench) -> object:
    return bench.kube
