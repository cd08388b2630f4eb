"""What a program says before an upgrade holds it only where it is about the region."""

from __future__ import annotations

import pytest

from controller.domain.region.upgrade.check_outcome import judge_output
from controller.domain.region.upgrade.upgrade_state import CheckState


def report(*rows: tuple[str, str, str]) -> str:
    """A report as oslo.upgradecheck prints it."""
    line = "+------------------------------------------+"
    lines = [line, "| Upgrade Check Results                    |", line]
    for check, result, details in rows:
        lines += [f"| Check: {check} |", f"| Result: {result} |", f"| Details: {details} |", line]
    return "\n".join(lines)


# The row that every service prints for a policy file without rules, seen with the charts in real pods.
POLICY = ("Policy File JSON to YAML Migration", "Failure", "Your policy file is JSON-formatted")
OVN = ("OVN support", "Warning", "Failed to connect to OVN")
OLD = ("Older than N-1 computes", "Failure", "the minimum compute service level is 60")


@pytest.mark.parametrize(
    ("code", "rows", "state"),
    [
        (2, (POLICY,), CheckState.PASSED),
        (2, (POLICY, OVN), CheckState.WARNING),
        (1, (OVN,), CheckState.WARNING),
        (2, (POLICY, OLD), CheckState.FAILED),
        (2, (OLD,), CheckState.FAILED),
        (255, (OVN,), CheckState.FAILED),
    ],
)
def test_a_report_decides_by_its_rows_about_the_region(
    code: int, rows: tuple[tuple[str, str, str], ...], state: CheckState
) -> None:
    found, text = judge_output(code, report(*rows), "")
    assert found == state
    assert "JSON-formatted" not in text


def test_a_program_that_ends_without_a_report_has_failed() -> None:
    assert judge_output(1, "Traceback\nKeyError: 'x'", "") == (
        CheckState.FAILED,
        "exit code 1: Traceback KeyError: 'x'",
    )
