"""What a release that is being worked on waits for."""

from __future__ import annotations

from typing import Any

from controller.cli.views.hook_jobs import JOB_NAME, lasting, pod_error, running_jobs, with_jobs
from controller.cli.views.release_rows import ReleaseRow, RowState

NOW = 1_772_357_400.0  # 2026-03-01T09:30:00Z


def job(name: str, started: str = "2026-03-01T09:29:00Z", **more: Any) -> dict[str, Any]:
    labels = {"release_group": more.pop("release")} if "release" in more else {}
    return {"metadata": {"name": name, "labels": labels}, "status": {"startTime": started, **more}}


def pod(job_name: str, **status: Any) -> dict[str, Any]:
    return {"metadata": {"name": "p", "labels": {JOB_NAME: job_name}}, "status": status}


def waiting(reason: str, image: str = "quay.io/nova:1") -> dict[str, Any]:
    return {"name": "sync", "image": image, "state": {"waiting": {"reason": reason}}}


def row(release: str, phase: RowState = RowState.INSTALLING) -> ReleaseRow:
    return ReleaseRow("compute", release, phase)


def test_ended_jobs_are_left_out_and_the_longest_comes_first():
    ended = [{"type": "Failed", "status": "True"}]
    jobs = running_jobs(
        [job("a-young", "2026-03-01T09:29:55Z"), job("a-old"), job("a-over", conditions=ended)], NOW
    )
    assert [(one.name, one.seconds) for one in jobs] == [("a-old", 60.0), ("a-young", 5.0)]


def test_a_clock_that_is_ahead_makes_no_negative_time():
    (one,) = running_jobs([job("a", "2026-03-01T09:31:00Z")], NOW)
    assert one.seconds == 0.0


def test_only_jobs_that_last_are_looked_at_closer():
    assert lasting(running_jobs([job("young", "2026-03-01T09:29:55Z"), job("old")], NOW)) == ("old",)


def test_a_release_being_worked_on_names_its_job():
    (found,) = with_jobs([row("nova")], running_jobs([job("nova-db-sync", release="nova")], NOW), {})
    assert found.message == "Job nova-db-sync runs for 1 m"


def test_a_job_without_a_label_belongs_to_the_longest_release_name_it_begins_with():
    rows = with_jobs([row("nova"), row("nova-extra")], running_jobs([job("nova-extra-sync")], NOW), {})
    assert [one.message for one in rows] == ["", "Job nova-extra-sync runs for 1 m"]


def test_a_release_at_rest_is_not_concerned():
    (found,) = with_jobs(
        [row("nova", RowState.INSTALLED)], running_jobs([job("nova-cron", release="nova")], NOW), {}
    )
    assert found.message == ""


def test_an_image_that_cannot_be_pulled_is_the_trouble_of_its_job():
    troubles = pod_error([pod("nova-db-sync", containerStatuses=[waiting("ImagePullBackOff")])])
    jobs = running_jobs([job("nova-db-sync", release="nova")], NOW)
    (found,) = with_jobs([row("nova")], jobs, troubles)
    assert found.error == "nova-db-sync: ImagePullBackOff quay.io/nova:1"


def test_a_crash_names_the_container():
    assert pod_error([pod("j", initContainerStatuses=[waiting("CrashLoopBackOff")])]) == {
        "j": "CrashLoopBackOff container sync"
    }


def test_a_pod_that_no_node_takes_says_so():
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/3 nodes"}
    assert pod_error([pod("j", conditions=[condition])]) == {"j": "the pod cannot be scheduled: 0/3 nodes"}


def test_a_pod_that_is_being_created_is_no_trouble():
    assert pod_error([pod("j", containerStatuses=[waiting("ContainerCreating")])]) == {}
