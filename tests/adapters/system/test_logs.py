"""A log line says what, about which object, in one line, and never shows a known secret."""

from __future__ import annotations

import ast
import io
import json
import logging
import sys
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from controller.adapters.system.logs import FIELDS, configure_logs, log_context
from sandbox.patience import patient

log = logging.getLogger("controller.tests")


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    """The set-up of pytest comes back after each test."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    hooks = sys.excepthook, threading.excepthook
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    sys.excepthook, threading.excepthook = hooks
    logging.captureWarnings(False)


def events(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_an_event_is_one_json_object_with_its_fields() -> None:
    stream = io.StringIO()
    configure_logs("helmbundle", stream=stream)
    log.info(
        "installed %s\nin one line", "keystone", extra={"release": "keystone", "duration": 1.5, "x": "y"}
    )
    (event,) = events(stream)
    assert event.pop("time").endswith("Z")
    assert event == {
        "level": "INFO",
        "container": "helmbundle",
        "logger": "controller.tests",
        "message": "installed keystone\nin one line",
        "release": "keystone",
        "duration": 1.5,
    }


def test_every_field_may_be_given_as_extra() -> None:
    stream = io.StringIO()
    configure_logs("core", stream=stream)
    log.info("all", extra={name: name for name in FIELDS})
    assert {name: events(stream)[0][name] for name in FIELDS} == {name: name for name in FIELDS}


def test_every_line_of_a_pass_has_what_the_pass_is_about() -> None:
    stream = io.StringIO()
    configure_logs("node", stream=stream)
    with log_context(kind="nodes", object="openstack/region-one"):
        log.info("disabled a compute service", extra={"action": "disable"})
        log.info("of something else", extra={"object": "openstack/one"})
    log.info("afterwards")
    fields = [{name: event.get(name) for name in ("kind", "object", "action")} for event in events(stream)]
    assert fields == [
        {"kind": "nodes", "object": "openstack/region-one", "action": "disable"},
        {"kind": "nodes", "object": "openstack/one", "action": None},
        {"kind": None, "object": None, "action": None},
    ]


def test_a_thread_started_within_a_pass_has_fields_of_its_own() -> None:
    stream = io.StringIO()
    configure_logs("node", stream=stream)
    with log_context(object="openstack/region-one"):
        thread = threading.Thread(target=log.info, args=("beside it",))
        thread.start()
        thread.join(patient(30))
    assert "object" not in events(stream)[0]


@pytest.mark.slow
def test_the_source_gives_only_fields_that_are_shown() -> None:
    root = Path(__file__).parents[3]
    unknown = {
        f"{path.relative_to(root)}:{call.lineno}: {key.value}"
        for folder in ("controller", "containers")
        for path in (root / folder).rglob("*.py")
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(call, ast.Call)
        for keyword in call.keywords
        if keyword.arg == "extra" and isinstance(keyword.value, ast.Dict)
        for key in keyword.value.keys
        if isinstance(key, ast.Constant) and key.value not in FIELDS
    }
    assert unknown == set()


@pytest.mark.parametrize("human", [True, False])
def test_known_secrets_are_in_no_part_of_an_event(human: bool) -> None:
    stream = io.StringIO()
    secrets = configure_logs("core", stream=stream, human=human)
    secrets.learn(['Zk3v9","LwpX'])
    secrets.learn(["another-secret"])
    try:
        raise ValueError('Zk3v9","LwpX')
    except ValueError:
        log.exception("a %s b", 'Zk3v9","LwpX', extra={"reason": "another-secret"})
    text = stream.getvalue()
    assert "LwpX" not in text
    assert "another-secret" not in text
    assert "ValueError: [redacted]" in text
    if not human:
        assert events(stream)[0]["message"] == "a [redacted] b"


def test_what_is_no_text_is_cleaned_too() -> None:
    stream = io.StringIO()
    configure_logs("core", stream=stream).learn(["hidden-value"])
    log.info("x", extra={"object": {"key": ["hidden-value", 1, None, Exception("hidden-value")]}})
    assert events(stream)[0]["object"] == {"key": ["[redacted]", 1, None, "[redacted]"]}


def test_a_secret_that_looks_like_the_format_does_not_break_it() -> None:
    stream = io.StringIO()
    configure_logs("core", stream=stream).learn(['", "level": "'])
    log.info("x")
    assert events(stream)[0]["level"] == "INFO"


def test_people_get_short_lines() -> None:
    stream = io.StringIO()
    configure_logs("core", stream=stream, human=True)
    log.warning("waiting", extra={"object": "openstack/region-one"})
    assert stream.getvalue()[8:] == " WARNING waiting  object=openstack/region-one\n"


@pytest.mark.parametrize(("level", "shown"), [("debug", 2), ("INFO", 1), ("nonsense", 1), ("ERROR", 0)])
def test_the_level_is_a_setting(level: str, shown: int) -> None:
    stream = io.StringIO()
    configure_logs("core", level=level, stream=stream)
    log.debug("one")
    log.info("two")
    assert len(events(stream)) == shown


def test_libraries_that_report_every_event_are_kept_quiet() -> None:
    stream = io.StringIO()
    configure_logs("core", level="DEBUG", stream=stream)
    logging.getLogger("kopf.objects").info("the whole object")
    logging.getLogger("urllib3.connectionpool").debug("every request")
    assert events(stream) == []


def test_a_second_set_up_replaces_the_first() -> None:
    first, second = io.StringIO(), io.StringIO()
    configure_logs("core", stream=first)
    configure_logs("core", stream=second)
    log.info("once")
    assert (len(events(first)), len(events(second))) == (0, 1)


def test_an_error_that_ends_a_thread_is_an_event_without_the_errors_words() -> None:
    stream = io.StringIO()
    configure_logs("core", stream=stream)
    words = " ".join(("what", "a", "library", "was", "given"))

    def fail() -> None:
        raise RuntimeError(words)

    thread = threading.Thread(target=fail, name="watch")
    thread.start()
    thread.join()
    # A thread that an earlier test has left behind may log something, too.
    (event,) = (one for one in events(stream) if "thread watch" in one["message"])
    assert event["message"].startswith("thread watch ends: RuntimeError\n")
    assert event["reason"] == "RuntimeError"
    assert words not in stream.getvalue()


def test_an_error_that_ends_the_process_is_an_event_too() -> None:
    stream = io.StringIO()
    configure_logs("core", stream=stream)
    sys.excepthook(ValueError, ValueError("words"), None)
    assert events(stream)[0]["message"].startswith("the process ends: ValueError")


def test_warnings_of_python_are_events() -> None:
    stream = io.StringIO()
    configure_logs("core", stream=stream)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        logging.captureWarnings(True)
        warnings.warn("something is old", DeprecationWarning, stacklevel=1)
    assert "something is old" in events(stream)[0]["message"]
