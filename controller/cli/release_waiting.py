"""Waits until releases have carried out a request."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from controller.cli.cluster import Cluster
from controller.cli.exit_codes import ExitCode
from controller.cli.output import soft_wrapped, stderr, stdout
from controller.cli.targets import Target
from controller.cli.waiting import POLL_SECONDS
from controller.domain.api.conditions import timestamp
from controller.domain.api.reasons import Reason
from controller.domain.releases.reported_state import ReportedState
from controller.errors import ApiUnavailable
from controller.ports.kubernetes import HELMBUNDLE
from controller.ports.system import Clock


@dataclass(frozen=True)
class Request:
    """A request: the field of `lastAttempt` that answers it (rollback, force …) and its text."""

    field: str
    text: str


def wait_for_releases(
    cluster: Cluster,
    targets: Sequence[Target],
    request: Request,
    *,
    timeout: float,
    clock: Clock,
    sleep: Callable[[float], None],
) -> ExitCode:
    """Waits until every release has answered the request, or until the timeout (seconds).

    A failed release is reported, and the wait continues, because the controller retries.
    """
    started, open_ = clock.monotonic(), dict.fromkeys(targets_of(targets))
    reported: dict[tuple[str, str, str], str] = {}
    code = ExitCode.OK
    try:
        while True:
            for key in list(open_):
                entry = _entry(cluster, key)
                ended = _judge(entry, request) if entry is not None else None
                line = f"{key[2]}: {_entry_text(entry)}" if entry else ""
                if line and reported.get(key) != line:
                    reported[key] = line
                    stderr().print(f"{timestamp(clock.now())} {soft_wrapped(line)}")
                if ended is not None:
                    code = max(code, ended)
                    del open_[key]
            remaining = started + timeout - clock.monotonic()
            if not open_ or remaining <= 0:
                break
            sleep(min(POLL_SECONDS, remaining))
    except KeyboardInterrupt:
        stderr().print("stopped waiting; the controller continues")
        return ExitCode.INTERRUPTED
    if open_:
        names = ", ".join(name for *_, name in open_)
        stdout().print(f"not done after {timeout:.0f} s: {names}; the controller continues", style="bold red")
        return max(code, ExitCode.NOT_READY)
    return code


def targets_of(targets: Sequence[Target]) -> list[tuple[str, str, str]]:
    """Namespace, bundle and release of each."""
    return [(target.namespace, target.name, target.release) for target in targets]


def _entry(cluster: Cluster, key: tuple[str, str, str]) -> Mapping[str, Any] | None:
    """The release in the status; None while it is unknown."""
    namespace, bundle, release = key
    try:
        found = cluster.kube.get(HELMBUNDLE, bundle, namespace)
    except ApiUnavailable:
        return None
    return Target(found, release).entry() if found else {}


def _judge(entry: Mapping[str, Any], request: Request) -> ExitCode | None:
    """Its result, or None while it runs."""
    attempt = entry.get("lastAttempt") or {}
    answered = attempt.get(request.field) == request.text
    deployed = entry.get("state") == ReportedState.DEPLOYED
    reason = entry.get("reason")
    if request.field == "rollback":
        if reason == Reason.ROLLBACK_IMPOSSIBLE:
            return ExitCode.NEEDS_EDIT
        return ExitCode.OK if answered and reason == Reason.ROLLED_BACK else None
    if reason == Reason.SUSPENDED:
        return ExitCode.NEEDS_EDIT
    if request.field == "force":
        return ExitCode.OK if answered and deployed else None
    return ExitCode.OK if deployed else None


def _entry_text(entry: Mapping[str, Any]) -> str:
    message = str(entry.get("message") or "")
    return f"{entry.get('state') or 'unknown'} {entry.get('reason') or ''}".strip() + (
        f": {message}" if message else ""
    )
