"""Logs: one JSON object per line for machines, short lines for people, never a known secret.

Fields of a line are given by `extra`: `log.info("…", extra={"action": "apply"})`. Fields of all lines of one
pass are set once: `with log_context(object="openstack/region-one")`.
"""

from __future__ import annotations

import json
import logging
import sys
import threading
import traceback
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, TextIO

from controller.domain.shared.redaction import Redactor

KIND = "kind"  # what the pass is for: region, bundle, nodes …
OBJECT = "object"  # namespace/name of the object of the pass, or of the one that the line is about
BUNDLE = "bundle"  # name of a HelmBundle
RELEASE = "release"  # name of a Helm release
ACTION = "action"  # what is done: install, upgrade, apply, delete …
RESULT = "result"  # of an action: done, failed
REASON = "reason"  # a word of controller.domain.api.reasons
DURATION = "duration"  # seconds
FIELDS = (KIND, OBJECT, BUNDLE, RELEASE, ACTION, RESULT, REASON, DURATION)

LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR")
log = logging.getLogger(__name__)
_context: ContextVar[Mapping[str, Any]] = ContextVar("log fields", default=MappingProxyType({}))
# These log every watch event, request and connection, some with the object itself.
_TALKATIVE = {"kopf": logging.WARNING, "asyncio": logging.WARNING, "urllib3": logging.WARNING}


@contextmanager
def log_context(**fields: Any) -> Iterator[None]:
    """Adds these fields (of FIELDS) to each line of this thread in the block that lacks them."""
    token = _context.set({**_context.get(), **fields})
    try:
        yield
    finally:
        _context.reset(token)


class LogSecrets:
    """The secrets that no log line may show. Grows as they become known; safe from any thread."""

    def __init__(self) -> None:
        self._redactor = Redactor()
        self._lock = threading.Lock()

    def learn(self, secrets: Iterable[str]) -> None:
        """From now on these are removed from every line."""
        with self._lock:
            self._redactor = self._redactor.including(secrets)

    def cleaned(self, value: Any) -> Any:
        """The value with secrets removed from every text in it."""
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

    `human` picks the format, by default people's on a terminal. `level` is one of LEVELS, INFO where it is
    none. Warnings of Python and errors that end a thread or the process also become events. Returns the
    register of secrets.
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
    """From now on logs only lines of `level` and above (one of LEVELS, otherwise INFO)."""
    logging.getLogger().setLevel(level.upper() if level.upper() in LEVELS else "INFO")


def _report_end(who: str, error: BaseException | None) -> None:
    """The stack, without the error's own text, which may contain arguments of a library."""
    if isinstance(error, KeyboardInterrupt | SystemExit):
        return
    stack = "".join(traceback.format_tb(error.__traceback__)) if error else ""
    reason = type(error).__name__
    log.critical("%s ends: %s\n%s", who, reason, stack, extra={OBJECT: who, REASON: reason})


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
        # Redacted before it becomes JSON, because a replacement in the text could break the quoting.
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
    given = {name: getattr(record, name, None) for name in FIELDS}
    found = {name: _context.get().get(name) if value is None else value for name, value in given.items()}
    return {name: value for name, value in found.items() if value is not None}
