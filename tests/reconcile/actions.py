"""The lines of the log that say what was done."""

from __future__ import annotations

import logging

import pytest

FIELDS = ("action", "object", "result")


def action_lines(caplog: pytest.LogCaptureFixture) -> list[logging.LogRecord]:
    """Those of them that were logged in this test; each must have all of the fields."""
    lines = [one for one in caplog.records if hasattr(one, "action")]
    for one in lines:
        assert all(getattr(one, field, "") for field in FIELDS), one.getMessage()
    return lines


def actions(caplog: pytest.LogCaptureFixture) -> list[tuple[str, str, str]]:
    """Action, object and result of each, in their order."""
    return [tuple(getattr(one, field) for field in FIELDS) for one in action_lines(caplog)]  # type: ignore[misc]
