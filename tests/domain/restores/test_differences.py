"""What the Job that loads a backup prints, and what is read of it."""

from __future__ import annotations

from controller.domain.restores.differences import MOST, LoadReport, read_report


def test_of_very_many_differences_the_first_ones_are_kept_and_all_are_counted() -> None:
    lines = ["count\tNotInBackup\tport\t5000"]
    lines += [f"differs\tNotInBackup\tport\tid-{number}\t\t{'n' * 400}" for number in range(5000)]
    report = read_report("\n".join(lines))
    assert len(report.differences) == MOST
    assert max(len(one.name) for one in report.differences) <= 255
    assert report.text == "5000 ports not in the backup"


def test_what_no_job_prints_is_left_out() -> None:
    text = "keystone is loaded\ndiffers\tUnheard\tserver\tid\t\t\ncount\tNotInBackup\ndiffers\nthe server"
    assert read_report(text) == LoadReport()
    assert read_report("", "loaded\n") == LoadReport()
    assert read_report("", "first\nno schema\n").text.startswith(
        "OVN's northbound database was not loaded (no schema)"
    )
