"""What became of a check that is a Job: its state, and what it has found. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from controller.domain.api.conditions import find, is_true
from controller.domain.health.pods import CauseKind, PodFacts, parse_pod
from controller.domain.region.upgrade.upgrade_checks import CHECK_WITHIN
from controller.domain.region.upgrade.upgrade_state import CheckState
from controller.domain.shared.plurals import count

# With these a pod does not start until its cause is corrected.
_STUCK = (CauseKind.IMAGE, CauseKind.CONFIG)
_TAIL_LINES = 3
_ROW = re.compile(r"^\| (.*?)\s*\|$")
# The words of oslo.upgradecheck for what an operator should know.
_FAILURE = "Failure"
_NOTABLE = ("Warning", _FAILURE)
# Charts write policy files as YAML. The check takes one without rules, `{}`, for JSON (oslo_upgradecheck:
# common_checks.check_policy_json).
_SAYS_NOTHING = ("Policy File JSON to YAML Migration",)


@dataclass(frozen=True)
class _Row:
    """A row of oslo.upgradecheck's table."""

    check: str
    result: str
    details: str


@dataclass(frozen=True)
class CheckEnd:
    """How a check ended. `code` is the exit code of its program, None if it did not run to its end, and then
    `why` says what kept it."""

    code: int | None
    why: str = ""


def has_succeeded(job: Mapping[str, Any]) -> bool:
    """Whether the Job's pod ended with exit code 0."""
    return is_true((job.get("status") or {}).get("conditions") or [], "Complete")


def has_failed(job: Mapping[str, Any]) -> bool:
    """Whether the Job has ended without success."""
    return is_true((job.get("status") or {}).get("conditions") or [], "Failed")


def is_pod_of(pod: Mapping[str, Any], job: str) -> bool:
    """Whether the Job of this name has made the pod."""
    owners = pod["metadata"].get("ownerReferences") or ()
    return any(one.get("kind") == "Job" and one.get("name") == job for one in owners)


def check_end(
    job: Mapping[str, Any], pod: Mapping[str, Any] | None, before: str, within: int = CHECK_WITHIN
) -> CheckEnd:
    """How a Job ended that has failed. `before`: what was known of it while it ran. `within`: its seconds."""
    failed = find((job.get("status") or {}).get("conditions") or [], "Failed")
    if failed.get("reason") == "DeadlineExceeded":
        text = f"it did not end within {count(within // 60, 'minute')}"
        return CheckEnd(None, f"{text}: {before}" if before else text)
    if pod is None:
        return CheckEnd(None, f"its pod is gone ({failed.get('reason') or 'no reason is given'})")
    for one in (pod.get("status") or {}).get("containerStatuses") or ():
        end = (one.get("state") or {}).get("terminated")
        if end is not None and end.get("reason") not in ("StartError", "ContainerCannotRun", "OOMKilled"):
            return CheckEnd(int(end.get("exitCode") or 0))
        if end is not None:
            return CheckEnd(None, f"{end.get('reason')}: {end.get('message') or 'no message is given'}")
    facts = parse_pod(pod)
    return CheckEnd(None, facts.cause.text if facts and facts.cause else "its pod failed")


def while_it_runs(pod: Mapping[str, Any] | None) -> tuple[CheckState, str]:
    """The state of a check whose Job has not ended, and what keeps it."""
    facts: PodFacts | None = parse_pod(pod) if pod is not None else None
    if facts is None or facts.cause is None:
        return CheckState.RUNNING, ""
    state = CheckState.FAILED if facts.cause.kind in _STUCK else CheckState.RUNNING
    known = facts.cause.kind in (*_STUCK, CauseKind.UNSCHEDULABLE)
    return state, facts.cause.text if known else ""


def judge_output(code: int, log: str, findings: str) -> tuple[CheckState, str]:
    """The state of a check whose program ended with this exit code, and what it says.

    Exit code 1 is a warning only with a report: an interpreter that fails ends with the same code. With exit
    code 2, a report decides by its rows, without those that say nothing about a region of charts.
    """
    if findings:
        found = list(_lines_after(log, findings))
        if code == 1 and found:
            return CheckState.WARNING, "; ".join(found)
        return CheckState.FAILED, _said(code, found, log)
    rows = list(_rows(log))
    counted = [row for row in rows if row.check not in _SAYS_NOTHING]
    texts = [f"{row.check}: {row.details or 'no details'}" for row in counted]
    if code in (1, 2) and rows and not any(row.result == _FAILURE for row in counted):
        return (CheckState.WARNING if counted else CheckState.PASSED), "; ".join(texts)
    return CheckState.FAILED, _said(code, texts, log)


def _said(code: int, found: Sequence[str], log: str) -> str:
    said = "; ".join(found) or " ".join(_last_lines(log))
    return f"exit code {code}: {said}" if said else f"exit code {code}"


def _lines_after(log: str, beginning: str) -> Iterator[str]:
    for line in log.splitlines():
        if line.startswith(beginning):
            yield line.removeprefix(beginning).strip()


def _rows(log: str) -> Iterator[_Row]:
    """The rows of oslo.upgradecheck's table that are no success."""
    row: dict[str, str] = {}
    key = ""
    for line in log.splitlines():
        match = _ROW.match(line.strip())
        if match is None:
            if row.get("Result") in _NOTABLE:
                yield _Row(row.get("Check", ""), row["Result"], row.get("Details", ""))
            row, key = {}, ""
            continue
        name, colon, text = match[1].partition(": ")
        if colon and name in ("Check", "Result", "Details") and name not in row:
            key, row[name] = name, text.strip()
        elif key:
            row[key] = f"{row[key]} {match[1].strip()}"


def _last_lines(log: str) -> Sequence[str]:
    return [line.strip() for line in log.splitlines() if line.strip()][-_TAIL_LINES:]
