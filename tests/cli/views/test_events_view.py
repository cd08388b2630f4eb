"""What `osctl events` makes of Events: order, and what repeats."""

from __future__ import annotations

from typing import Any

from controller.cli.views.events import event_data, event_lines, event_rows
from controller.domain.shared.times import seconds_of

NOW = seconds_of("2026-03-01T09:30:00Z")


def event(minute: int, reason: str = "BackOff", name: str = "nova-api-0", **more: Any) -> dict[str, Any]:
    about = {"kind": "Pod", "namespace": "openstack", "name": name, **more.pop("about", {})}
    return {
        "metadata": {"name": f"{name}.{minute}", "creationTimestamp": f"2026-03-01T09:{minute:02}:00Z"},
        "involvedObject": about,
        "reason": reason,
        "type": "Warning",
        "message": "Back-off restarting failed container",
        "lastTimestamp": f"2026-03-01T09:{minute:02}:00Z",
        **more,
    }


def test_the_newest_is_last_whatever_the_order_of_the_list():
    lines = event_lines([event(20, "B"), event(5, "A"), event(25, "C")])
    assert [one.reason for one in lines] == ["A", "B", "C"]


def test_the_same_of_pods_of_one_workload_is_one_line():
    names = ("nova-api-6c5d8f7b9d-x2v4z", "nova-api-6c5d8f7b9d-bq7wt", "nova-api-6c5d8f7b9d-bq7wt")
    (line,) = event_lines(event(minute, name=name) for minute, name in zip((5, 9, 7), names, strict=True))
    assert (line.count, line.objects, line.name) == (3, 2, names[1])
    (row,) = event_rows([line], NOW)
    assert row[0] == "21 m ago"
    assert row[4] == "Pod/nova-api-6c5d8f7b9d-bq7wt and 1 more"


def test_figures_in_a_message_do_not_make_it_another():
    lines = event_lines([event(5, message="attempt 3 of 9"), event(6, message="attempt 4 of 9")])
    assert [(one.message, one.count) for one in lines] == [("attempt 4 of 9", 2)]


def test_other_objects_reasons_and_namespaces_stay_apart():
    others = [
        event(1),
        event(1, name="keystone-api-0"),
        event(1, "Killing"),
        event(1, about={"namespace": "x"}),
    ]
    assert len(event_lines(others)) == 4


def test_a_series_counts_as_often_as_it_says():
    series = {"count": 7, "lastObservedTime": "2026-03-01T09:28:00.000000Z"}
    (line,) = event_lines([event(1, lastTimestamp=None, eventTime="2026-03-01T09:01:00.5Z", series=series)])
    assert (line.count, line.last) == (7, seconds_of("2026-03-01T09:28:00Z"))


def test_an_event_without_a_time_uses_that_of_its_object():
    (line,) = event_lines([event(4, lastTimestamp=None)])
    assert line.last == seconds_of("2026-03-01T09:04:00Z")


def test_only_those_after_a_moment():
    lines = event_lines([event(5, "A"), event(25, "B")], since=NOW - 600)
    assert [one.reason for one in lines] == ["B"]


def test_the_data_of_a_line():
    (data,) = event_data(event_lines([event(5, count=3, source={"component": "kubelet"})]))
    assert data == {
        "first": "2026-03-01T09:05:00Z",
        "last": "2026-03-01T09:05:00Z",
        "count": 3,
        "type": "Warning",
        "reason": "BackOff",
        "object": {"kind": "Pod", "namespace": "openstack", "name": "nova-api-0"},
        "objects": 1,
        "message": "Back-off restarting failed container",
        "source": "kubelet",
    }
