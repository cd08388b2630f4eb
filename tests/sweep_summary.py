"""What a long sweep has to say is among the last words of its run, whichever process it ran in."""

from __future__ import annotations

import pytest

# `record_property(SEARCHED, LINE)`.
SEARCHED = "searched"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """The lines of each test that recorded some."""
    reports = [one for outcome in ("passed", "failed") for one in terminalreporter.getreports(outcome)]
    lines_by_test = {
        report.nodeid: [str(line) for name, line in report.user_properties if name == SEARCHED]
        for report in reports
        if report.when == "call"
    }
    for test, lines in sorted(lines_by_test.items()):
        if lines:
            terminalreporter.section(test, sep="-")
            terminalreporter.write_line("\n".join(lines))
