"""Schedules of CronJobs: what Kubernetes takes, and what it does not."""

from __future__ import annotations

import pytest

from controller.domain.shared.cron_schedule import schedule_problem


@pytest.mark.parametrize(
    "text",
    ["0 1 * * *", "*/5 0-23/2 1,15 jan-MAR ?", "59 23 31 12 6", "0  1\t* * sun", "1/2 * * * *"],
)
def test_what_kubernetes_takes_is_right(text: str):
    assert schedule_problem(text) == ""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("61 * * * *", "minute 61 is not between 0 and 59"),
        ("* 24 * * *", "hour 24 is not between 0 and 23"),
        ("* * 0 * *", "day of the month 0 is not between 1 and 31"),
        ("* * * 13 *", "month 13 is not between 1 and 12"),
        ("* * * * 7", "day of the week 7 is not between 0 and 6"),
        ("* * * * someday", 'day of the week "someday" is not a number, range or *'),
        ("5-1 * * * *", 'minute "5-1" ends before it begins'),
        ("*/0 * * * *", 'minute "*/0" has no step after the slash'),
        ("1,,2 * * * *", 'minute "" is not a number, range or *'),
        ("-1 * * * *", 'minute "-1" is not a number, range or *'),
        ("1 * * *", "has 4 fields instead of five"),
    ],
)
def test_what_kubernetes_refuses_is_reported(text: str, said: str):
    assert schedule_problem(text) == said


@pytest.mark.parametrize(
    "text",
    ["0 0 31 2 *", "0 0 30 feb ?", "0 0 31 4,6,9,nov *", "0 0 30/1 2 *", "0 0 31 2/12 *", "0 0 31 4-6/2 *"],
)
def test_a_day_that_never_comes_is_reported(text: str):
    assert schedule_problem(text) == "never occurs, because its months do not have that day"


@pytest.mark.parametrize(
    "text",
    [
        "0 0 29 2 *",
        "0 0 31 2,3 *",
        "0 0 31 2 1",
        "0 0 31 2-3 *",
        "0 0 1,31 2 *",
        "0 0 31 */2 *",
        "0 0 31 2/1 *",
    ],
)
def test_a_day_that_comes_in_some_year_or_by_the_week_is_right(text: str):
    assert schedule_problem(text) == ""
