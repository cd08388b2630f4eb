"""Logs: one JSON object per line for machines, short lines for people, never a known secret.

Fields of an event are given by `extra`: `log.info("…", extra={OBJECT: "openstack/region-one"})`.
"""

from __future__ import annotations

import json
import logging
import sys
import threading
import traceback
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, TextIO

from controller.domain.shared.redaction import Redactor

OBJECT = "object"  # namespace/name of what is looked at
BUNDLE = "bundle"  # name of a HelmBundle
RELEASE = "release"  # name of a Helm release
ACTION = "action"  # what is done: install, upgrade, apply, delete …
REASON = "reason"  # a word of controller.domain.api.reasons
DURATION = "duration"  # seconds
FIELDS = (OBJECT, BUNDLE, RELEASE, ACTION, REASON, DURATION)

LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR")
log = logging.getLogger(__name__)
# These tell of every watch event, request and connection, some with the object itself.
_TALKATIVE = {"kopf": logging.WARNING, "asyncio": logging.WARNING, "urllib3": logging.WARNING}


class LogSecrets:
    """The secrets that no log line may show. Grows as they become known; safe from any thread."""

    def __init__(self) -> None:
        self._redactor = Redactor()
        self._lock = threading.Lock()

    def learn(self, secrets: Iterable[str]) -> None:
        """From now on these are taken out of every line."""
        with self._lock:
            self._redactor = self._redactor.including(secrets)

    def cleaned(self, value: Any) -> Any:
        """The value with secrets taken out of every text in it."""
        if isinstance(value, str):
            return self._redactor.redact(value)
        if isinstance(value, Mapping):
            return {self.cleaned(str(key)): self.cleaned(part) for key, part in value.items()}
        if isinstance(value, list | tuple | set | frozenset):
            return [self.cleaned(part) for part in value]
        if value is None or isinstance(value, bool | int | float):
            return value
        return self._redactor.redact(str(value))


def configure_logs(
    container: str, *, level: str = "INFO", stream: TextIO | None = None, human: bool | None = None
) -> LogSecrets:
    """Sends all logs of the process to `stream` (default: standard error); replaces earlier set-ups.

    `human` picks the format, by default people's on a terminal. `level` is one of LEVELS, INFO where it
    is none. Warnings of Python and errors that end a thread or the process become events, too. Returns
    the register of secrets to keep out.
    """
    target = sys.stderr if stream is None else stream
    for_people = target.isatty() if human is None else human
    secrets = LogSecrets()
    handler = logging.StreamHandler(target)
    handler.setFormatter(_Lines(secrets) if for_people else _JsonLines(container, secrets))
    root = logging.getLogger()
    for old in list(root.handlers):
        root.removeHandler(old)
    root.addHandler(handler)
    set_level(level)
    for name, least in _TALKATIVE.items():
        logging.getLogger(name).setLevel(least)
    logging.captureWarnings(True)
    sys.excepthook = lambda _, error, __: _report_end("the process", error)
    threading.excepthook = lambda given: _report_end(
        f"thread {given.thread.name if given.thread else '?'}", given.exc_value
    )
    return secrets


def set_level(level: str) -> None:
    """What is less than `level` (one of LEVELS, INFO where it is none) is not told from now on."""
    logging.getLogger().setLevel(level.upper() if level.upper() in LEVELS else "INFO")


def _report_end(who: str, error: BaseException | None) -> None:
    """Where it came from, without the error's own text, which may hold what a library was given."""
    if isinstance(error, KeyboardInterrupt | SystemExit):
        return
    stack = "".join(traceback.format_tb(error.__traceback__)) if error else ""
    log.critical("%s ends: %s\n%s", who, type(error).__name__, stack, extra={REASON: type(error).__name__})


class _JsonLines(logging.Formatter):
    def __init__(self, container: str, secrets: LogSecrets) -> None:
        super().__init__()
        self._container = container
        self._secrets = secrets

    def format(self, record: logging.LogRecord) -> str:
        event: dict[str, Any] = {
            "time": _moment(record).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
            "level": record.levelname,
            "container": self._container,
            "logger": record.name,
            "message": record.getMessage(),
            **_fields(record),
        }
        if record.exc_info:
            event["exception"] = self.formatException(record.exc_info)
        # Cleaned before it becomes JSON: a replacement in the text could break the quoting.
        return json.dumps(self._secrets.cleaned(event), ensure_ascii=False)


class _Lines(logging.Formatter):
    def __init__(self, secrets: LogSecrets) -> None:
        super().__init__()
        self._secrets = secrets

    def format(self, record: logging.LogRecord) -> str:
        fields = "".join(f"  {name}={value}" for name, value in _fields(record).items())
        text = f"{_moment(record):%H:%M:%S} {record.levelname:<7} {record.getMessage()}{fields}"
        if record.exc_info:
            text += f"\n{self.formatException(record.exc_info)}"
        return str(self._secrets.cleaned(text))


def _moment(record: logging.LogRecord) -> datetime:
    return datetime.fromtimestamp(record.created, UTC)


def _fields(record: logging.LogRecord) -> dict[str, Any]:
    return {name: getattr(record, name) for name in FIELDS if getattr(record, name, None) is not None}
